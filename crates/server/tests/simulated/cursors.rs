//! Cursors of a client: in a transaction, held beyond it, and held without one. The rows of a cursor are those that
//! were there when it was declared, whatever becomes of them while they are fetched.

use crate::model::{self, Rows, Step};
use crate::player::{Player, Stop, lock};
use crate::wire::Reply;

/// A cursor that is open.
struct Cursor {
    name: String,
    /// The rows that it goes over, in order.
    rows: Vec<(i64, i64)>,
    /// Rows that have been passed.
    position: usize,
}

/// A statement about a cursor, and what comes of it.
struct Fetch {
    sql: String,
    rows: Vec<Vec<String>>,
    tag: String,
}

/// What a block has come to.
struct Block {
    /// Its rows now, and before it.
    rows: Rows,
    before: Rows,
    /// All its statements, to be shown.
    text: String,
}

impl Cursor {
    /// Some rows from here on, given or passed over.
    fn fetch(&mut self, player: &mut Player) -> Fetch {
        let prng = &mut player.prng;
        let (count, is_move) = (1 + prng.below(8) as usize, prng.chance(0.3));
        let left = self.rows.len() - self.position;
        // What stands in the statement, how many rows are passed, and how many of these are given.
        let (which, passed, given) = match prng.below(6) {
            0 => ("next".to_owned(), 1, 1),
            1 => ("all".to_owned(), left, left),
            2 => (format!("relative {count}"), count, 1),
            3 => (format!("absolute {}", self.position + count), count, 1),
            4 => (format!("forward {count}"), count, count),
            _ => (count.to_string(), count, count),
        };
        let given = match passed <= left {
            true => given,
            // One that lies beyond the end is none.
            false => left.saturating_sub(passed - given),
        };
        self.position += passed.min(left);
        let rows = &self.rows[self.position - given..self.position];
        let texts = |(k, v): &(i64, i64)| vec![k.to_string(), v.to_string()];
        let (verb, tag) = if is_move { ("move", "MOVE") } else { ("fetch", "FETCH") };
        Fetch {
            sql: format!("{verb} {which} from {}", self.name),
            rows: if is_move { vec![] } else { rows.iter().map(texts).collect() },
            tag: format!("{tag} {given}"),
        }
    }
}

impl Player {
    /// A cursor from its declaration to its end.
    pub async fn cursor(&mut self) -> Result<(), Stop> {
        match self.prng.below(3) {
            0 => self.cursor_alone().await,
            held => self.cursor_in_block(held == 1).await,
        }
    }

    /// A cursor that is held, outside of transactions, while its rows change.
    async fn cursor_alone(&mut self) -> Result<(), Stop> {
        let rows = lock(&self.notes).certain.clone();
        let Some(mut cursor) = self.declare(&rows, true).await? else { return Ok(()) };
        self.use_held(&mut cursor).await
    }

    async fn use_held(&mut self, cursor: &mut Cursor) -> Result<(), Stop> {
        for _ in 0..self.prng.below(6) {
            match self.prng.below(8) {
                0..3 => self.change().await?,
                3 => {
                    let back = format!("fetch prior from {}", cursor.name);
                    self.refusal(&back, "55000").await?;
                }
                _ if !self.fetch(cursor).await? => return self.check_gone(cursor).await,
                _ => {}
            }
            if self.wire.is_none() {
                return Ok(());
            }
        }
        let is_closed = match self.prng.below(3) {
            0 => self.said(&format!("close {}", cursor.name)).await?.is_some(),
            1 => self.closed_by_message(cursor).await,
            // It is left to the end of the connection.
            _ => false,
        };
        if is_closed { self.check_gone(cursor).await } else { Ok(()) }
    }

    /// Whether the extended protocol has closed a cursor.
    async fn closed_by_message(&mut self, cursor: &Cursor) -> bool {
        let asked = match &mut self.wire {
            Some(wire) => wire.ask_to_close(&cursor.name).await,
            None => Ok(()),
        };
        let heard = self.listen(asked).await;
        !heard.is_lost && heard.reply.refusal.is_none()
    }

    /// A cursor in a transaction that changes its rows; one that is held goes on when that has committed.
    async fn cursor_in_block(&mut self, is_held: bool) -> Result<(), Stop> {
        let before = lock(&self.notes).certain.clone();
        let mut block = Block { rows: before.clone(), before, text: "begin".to_owned() };
        let Some(mut cursor) = self.fetched_in_block(&mut block, is_held).await? else {
            if self.wire.is_some() {
                // The block is still there, and has failed.
                drop(self.heard("rollback").await);
            }
            return Ok(());
        };
        let commits = self.prng.chance(0.7);
        let (end, next) = if commits { ("commit", block.rows) } else { ("rollback", block.before) };
        lock(&self.notes).possible = Some(next.clone());
        let heard = self.heard(end).await;
        let is_committed = commits && heard.reply.refusal.is_none() && !heard.is_lost;
        let step = Step { sql: format!("{}; {end}", block.text), next: Some(next) };
        self.judge_block(&step, heard, end).await?;
        match is_held && is_committed {
            true => self.use_held(&mut cursor).await,
            false if self.wire.is_some() => {
                self.refusal(&format!("fetch next from {}", cursor.name), "34000").await
            }
            false => Ok(()),
        }
    }

    /// Begins a block with a cursor, fetches and changes; `None`: it goes no further.
    async fn fetched_in_block(
        &mut self,
        block: &mut Block,
        is_held: bool,
    ) -> Result<Option<Cursor>, Stop> {
        if self.said("begin").await?.is_none() || !self.changed_in_block(block).await? {
            return Ok(None);
        }
        let Some(mut cursor) = self.declare(&block.rows, is_held).await? else { return Ok(None) };
        for _ in 0..self.prng.below(6) {
            let goes_on = match self.prng.below(6) {
                0 => self.changed_in_block(block).await?,
                1 => self.undone_in_block(block).await?,
                _ => self.fetch(&mut cursor).await?,
            };
            if !goes_on {
                return Ok(None);
            }
        }
        Ok(Some(cursor))
    }

    /// A statement that changes rows, within the block; whether that goes on.
    async fn changed_in_block(&mut self, block: &mut Block) -> Result<bool, Stop> {
        let step = model::change(&mut self.prng, self.number, &block.rows);
        let Some(next) = step.next else { return Ok(true) };
        block.text += &format!("; {}", step.sql);
        block.rows = next;
        Ok(self.said(&step.sql).await?.is_some())
    }

    /// The same, and back.
    async fn undone_in_block(&mut self, block: &mut Block) -> Result<bool, Stop> {
        let rows = block.rows.clone();
        let goes_on = self.said("savepoint s").await?.is_some()
            && self.changed_in_block(block).await?
            && self.said("rollback to savepoint s").await?.is_some();
        block.rows = rows;
        Ok(goes_on)
    }

    async fn declare(&mut self, rows: &Rows, is_held: bool) -> Result<Option<Cursor>, Stop> {
        self.cursors += 1;
        let name = format!("c{}", self.cursors);
        let hold = if is_held { " with hold" } else { "" };
        let all = model::all_rows(self.number);
        let mut rows: Vec<(i64, i64)> = rows.iter().map(|(k, v)| (*k, *v)).collect();
        let order = if self.prng.chance(0.5) { "" } else { " desc" };
        if !order.is_empty() {
            rows.reverse();
        }
        let sql = format!("declare {name} cursor{hold} for {all}{order}");
        let declared = self.said(&sql).await?;
        Ok(declared.map(|_| Cursor { name, rows, position: 0 }))
    }

    /// Some rows of a cursor, which are compared; whether there are more to be had from it.
    async fn fetch(&mut self, cursor: &mut Cursor) -> Result<bool, Stop> {
        let fetch = cursor.fetch(self);
        let Some(reply) = self.said(&fetch.sql).await? else { return Ok(false) };
        self.report.fetches += 1;
        if (&reply.rows, reply.tags.last()) == (&fetch.rows, Some(&fetch.tag)) {
            return Ok(true);
        }
        let found = (reply.rows, reply.tags);
        let expected = (fetch.rows, fetch.tag);
        let what = format!("client {}: {}: {found:?}, not {expected:?}", self.number, fetch.sql);
        Err(Stop::Defect(what))
    }

    /// A cursor that was closed, or whose rows a cancel has kept from coming, is gone, also from the list of those that
    /// are open.
    async fn check_gone(&mut self, cursor: &Cursor) -> Result<(), Stop> {
        let Some(rows) = self.rows("select name from pg_cursors").await? else { return Ok(()) };
        if rows.iter().any(|row| row[0] == cursor.name) {
            return Err(Stop::Defect(format!("{} is listed and not there", cursor.name)));
        }
        self.refusal(&format!("fetch next from {}", cursor.name), "34000").await
    }

    /// What comes of a statement that has to be done; `None`: a cancel has ended it, or the connection is gone.
    async fn said(&mut self, sql: &str) -> Result<Option<Reply>, Stop> {
        let heard = self.heard(sql).await;
        match heard.reply.refusal {
            Some(refusal) if ["57014", "40P01"].contains(&refusal.state.as_str()) => {
                self.report.cancels += 1;
                Ok(None)
            }
            Some(refusal) => self.refused(sql, &refusal).map(|()| None),
            None if heard.is_lost => {
                self.report.unknown += 1;
                Ok(None)
            }
            None => Ok(Some(heard.reply)),
        }
    }

    /// A statement that has to be refused, as far as anything is heard of it.
    async fn refusal(&mut self, sql: &str, state: &str) -> Result<(), Stop> {
        let heard = self.heard(sql).await;
        match heard.reply.refusal {
            Some(refusal) if refusal.state == state => {
                self.report.refusals += 1;
                Ok(())
            }
            // A cancel request that comes late finds another statement.
            Some(refusal) if refusal.state == "57014" => Ok(()),
            Some(refusal) => self.refused(sql, &refusal),
            None if heard.is_lost => Ok(()),
            None => Err(Stop::Defect(format!("{sql}: not refused with {state}"))),
        }
    }
}
