//! A client that appends to lists and reads them, in transactions.

use arrow_array::Array;
use arrow_array::cast::AsArray;
use arrow_array::types::Int32Type;
use stdx::Prng;
use types::{SqlResult, SqlState};

use super::{Access, GROUPS, History, KEYS, Moments, Transaction};
use crate::database::Database;
use crate::isolation::Isolation;
use crate::result::StatementResult;
use crate::session::Session;

/// Lists as texts; a secondary index finds those of a group.
pub(super) const SETUP: &str = "
    create table h (k int primary key, g int not null, v text not null);
    create index h_g on h (g);
    set enable_seqscan = off";

/// Numbers that one client may append.
const NUMBERS: u32 = 1_000_000;

pub(super) struct Client {
    session: Session,
    prng: Prng,
    level: Isolation,
    /// The next number to be appended.
    next: u32,
    /// Whether its commits wait until they are durable.
    waits: bool,
    moments: Moments,
    history: History,
}

/// How a transaction ended that was not committed.
enum Ended {
    Conflict,
    /// The disk takes no more.
    Machine,
    Defect(String),
}

impl Client {
    pub(super) fn new(
        db: &Database,
        number: usize,
        seed: u64,
        level: Isolation,
        moments: &Moments,
    ) -> Client {
        let (session, prng) = (db.session(), Prng::new(seed));
        let (next, moments) = (number as u32 * NUMBERS + 1, moments.clone());
        Client { session, prng, level, next, waits: true, moments, history: History::default() }
    }

    /// The same with `synchronous_commit` on or off.
    pub(super) fn waiting(self, waits: bool) -> Client {
        Client { waits, ..self }
    }

    /// Runs transactions one after another, as long as the disk takes them.
    pub(super) async fn play(mut self, transactions: usize) -> Result<History, String> {
        let on_off = if self.waits { "on" } else { "off" };
        let set = format!("set enable_seqscan = off; set synchronous_commit = {on_off}");
        self.session.run_all(&set).await.map_err(|e| e.to_string())?;
        for _ in 0..transactions {
            let first = self.next;
            let (began, is_durable) = (self.moments.next(), self.waits);
            let mut done = Transaction { began, is_durable, ..Transaction::default() };
            match self.transaction(&mut done).await {
                Ok(true) => {
                    done.acknowledged = self.moments.next();
                    self.history.committed.push(done);
                }
                Ok(false) => self.history.aborted.extend(first..self.next),
                Err(Ended::Machine) => {
                    done.acknowledged = u64::MAX;
                    self.history.unknown.push(done);
                    return Ok(self.history);
                }
                Err(Ended::Conflict) => {
                    self.history.conflicts += 1;
                    self.history.aborted.extend(first..self.next);
                    self.session.run_all("rollback").await.map_err(|e| e.to_string())?;
                }
                Err(Ended::Defect(what)) => return Err(what),
            }
        }
        Ok(self.history)
    }

    /// One transaction; whether it was committed.
    async fn transaction(&mut self, done: &mut Transaction) -> Result<bool, Ended> {
        self.run(&format!("begin isolation level {}", self.level.name())).await?;
        for _ in 0..1 + self.prng.below(4) {
            self.step(done).await?;
        }
        let commits = !self.prng.chance(0.1);
        self.run(if commits { "commit" } else { "rollback" }).await?;
        Ok(commits)
    }

    async fn step(&mut self, done: &mut Transaction) -> Result<(), Ended> {
        let key = self.prng.below(KEYS as u64) as usize;
        match self.prng.below(10) {
            0..2 => self.read(done, &format!("k = {key}"), |k| k == key).await,
            2..4 => {
                let group = key % GROUPS;
                self.read(done, &format!("g = {group}"), |k| k % GROUPS == group).await
            }
            4 => self.read(done, "k >= 0", |_| true).await,
            5 => {
                let end = key + 3;
                let range = format!("k >= {key} and k < {end}");
                self.read(done, &range, |k| (key..end).contains(&k)).await
            }
            _ => self.append(done, key).await,
        }
    }

    async fn read(
        &mut self,
        done: &mut Transaction,
        condition: &str,
        covers: impl Fn(usize) -> bool,
    ) -> Result<(), Ended> {
        let results = self.run(&format!("select k, v from h where {condition}")).await?;
        let found = rows(&results);
        for key in (0..KEYS).filter(|key| covers(*key)) {
            let list = found.iter().find(|(k, _)| *k == key).map(|(_, list)| list.clone());
            done.accesses.push(Access::Read { key, list: list.unwrap_or_default() });
        }
        Ok(())
    }

    async fn append(&mut self, done: &mut Transaction, key: usize) -> Result<(), Ended> {
        let number = self.next;
        self.next += 1;
        let change = format!("update h set v = v || ',{number}' where k = {key}");
        let tag = match self.run(&change).await?.pop() {
            Some(StatementResult::Command { tag }) => tag,
            _ => return Err(Ended::Defect("an update without a tag".to_owned())),
        };
        if tag == "UPDATE 0" {
            let group = key % GROUPS;
            self.run(&format!("insert into h values ({key}, {group}, '{number}')")).await?;
        }
        done.accesses.push(Access::Append { key, number });
        Ok(())
    }

    async fn run(&mut self, sql: &str) -> Result<Vec<StatementResult>, Ended> {
        self.session.run_all(sql).await.map_err(|error| match error.state {
            state if CONFLICTS.contains(&state) => Ended::Conflict,
            SqlState::IO_ERROR | SqlState("08007") => Ended::Machine,
            _ => Ended::Defect(format!("{sql}: {error}")),
        })
    }
}

/// What others may do to a transaction: it is to be run again. A row that somebody has inserted who is
/// not seen is a duplicate, as in PostgreSQL.
const CONFLICTS: [SqlState; 3] = [SqlState("40001"), SqlState("40P01"), SqlState::UNIQUE_VIOLATION];

fn rows(results: &[StatementResult]) -> Vec<(usize, Vec<u32>)> {
    let Some(StatementResult::Rows(rows)) = results.last() else { return vec![] };
    let mut found = vec![];
    for batch in &rows.batches {
        let (keys, lists) = (batch.column(0).as_primitive::<Int32Type>(), batch.column(1));
        for row in 0..batch.num_rows() {
            let text = types::text::format_value(lists, row).unwrap_or_default();
            let list = text.split(',').filter_map(|number| number.parse().ok()).collect();
            found.push((keys.value(row) as usize, list));
        }
        debug_assert!(keys.null_count() == 0, "a key is not null");
    }
    found
}

/// The lists that are there.
pub(super) fn lists(session: &mut Session) -> Result<Vec<Vec<u32>>, String> {
    let results: SqlResult<_> = session.execute("select k, v from h");
    let mut lists = vec![vec![]; KEYS];
    for (key, list) in rows(&results.map_err(|error| error.to_string())?) {
        lists[key] = list;
    }
    Ok(lists)
}
