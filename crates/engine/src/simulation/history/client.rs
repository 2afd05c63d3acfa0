//! A client that appends to lists and reads them, in transactions.

use arrow_array::Array;
use arrow_array::cast::AsArray;
use arrow_array::types::Int32Type;
use runtime::sim::Disk;
use stdx::Prng;
use types::{SqlResult, SqlState};

use super::graph::{Access, Transaction};
use super::{GROUPS, History, KEYS, Moments};
use crate::database::Database;
use crate::isolation::Isolation;
use crate::result::StatementResult;
use crate::session::state::Session;

/// Lists as texts; a secondary index finds those of a group.
pub(super) const SETUP: &str = "
    create table h (k int primary key, g int not null, v text not null);
    create index h_g on h (g);
    set enable_seqscan = off";

/// Reads go by indexes, and joins by look-ups. A statement that takes a second of simulated time runs again and
/// again without end: those that wait for others take some tenths.
const SETTINGS: &str =
    "set enable_seqscan = off; set enable_hashjoin = off; set statement_timeout = '1s'";

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
    /// Of the machine that it is in.
    disk: Disk,
    /// It has asked for the commit of its transaction, and the machine lived then.
    commits: bool,
    moments: Moments,
    history: History,
}

/// How a transaction ended that was not committed.
enum Ended {
    Conflict,
    /// The disk takes no more, as this says.
    Machine(String),
    Defect(String),
}

impl Client {
    pub(super) fn new(
        (db, disk): (&Database, &Disk),
        number: usize,
        seed: u64,
        level: Isolation,
        moments: &Moments,
    ) -> Client {
        let (session, prng, disk) = (db.session(), Prng::new(seed), disk.clone());
        let (next, moments) = (number as u32 * NUMBERS + 1, moments.clone());
        let (waits, commits, history) = (true, false, History::default());
        Client { session, prng, level, next, waits, disk, commits, moments, history }
    }

    /// The same with `synchronous_commit` on or off.
    pub(super) fn waiting(self, waits: bool) -> Client {
        Client { waits, ..self }
    }

    /// Runs transactions one after another, as long as the disk takes them.
    pub(super) async fn play(mut self, transactions: usize) -> Result<History, String> {
        let on_off = if self.waits { "on" } else { "off" };
        let level = self.level.name();
        let set = format!(
            "{SETTINGS}; set synchronous_commit = {on_off}; \
             set default_transaction_isolation = '{level}'"
        );
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
                Err(Ended::Machine(what)) => {
                    if self.commits {
                        done.acknowledged = u64::MAX;
                        self.history.unknown.push(done);
                    } else {
                        self.history.aborted.extend(first..self.next);
                    }
                    self.history.failure = Some(what);
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
        self.commits = false;
        if self.prng.chance(0.1) {
            // A query outside of blocks is a transaction, too.
            return self.read_range(done).await.map(|()| true);
        }
        self.run(&format!("begin isolation level {}", self.level.name())).await?;
        for _ in 0..1 + self.prng.below(4) {
            self.step(done).await?;
        }
        // What runs on behind a power cut commits nothing: a disk that has any of it has what was in flight.
        if self.disk.is_crashed() {
            return Err(Ended::Machine("the power has failed".to_owned()));
        }
        self.commits = !self.prng.chance(0.1);
        self.run(if self.commits { "commit" } else { "rollback" }).await?;
        Ok(self.commits)
    }

    async fn step(&mut self, done: &mut Transaction) -> Result<(), Ended> {
        let key = self.prng.below(KEYS as u64) as usize;
        let group = key % GROUPS;
        let select = "select h.k, h.v from";
        match self.prng.below(10) {
            0 => self.read(done, &format!("{select} h where k = {key}"), |k| k == key).await,
            1 => {
                let joined = format!("{select} (values ({key})) x (k) join h on h.k = x.k");
                self.read(done, &joined, |k| k == key).await
            }
            2 => {
                let of_group = format!("{select} h where g = {group}");
                self.read(done, &of_group, |k| k % GROUPS == group).await
            }
            3 => {
                let joined = format!("{select} (values ({group})) x (g) join h on h.g = x.g");
                self.read(done, &joined, |k| k % GROUPS == group).await
            }
            4 => self.read_end(done, key.is_multiple_of(2)).await,
            5 => self.read_range(done).await,
            6 => self.append_locked(done, key).await,
            _ => self.append(done, key).await,
        }
    }

    async fn read_range(&mut self, done: &mut Transaction) -> Result<(), Ended> {
        let low = self.prng.below(KEYS as u64) as usize;
        let high = low + 3;
        let range = format!("select k, v from h where k >= {low} and k < {high}");
        self.read(done, &range, |k| (low..high).contains(&k)).await
    }

    async fn read(
        &mut self,
        done: &mut Transaction,
        query: &str,
        covers: impl Fn(usize) -> bool,
    ) -> Result<(), Ended> {
        let found = rows(&self.run(query).await?);
        note_reads(done, &found, covers);
        Ok(())
    }

    /// Reads the first two lists, or the last two: also that there is none before them, or behind.
    async fn read_end(&mut self, done: &mut Transaction, forward: bool) -> Result<(), Ended> {
        let order = if forward { "asc" } else { "desc" };
        let query = format!("select k, v from h order by k {order} limit 2");
        let found = rows(&self.run(&query).await?);
        let last = found.get(1).map(|(key, _)| *key);
        let is_within = |key, last| if forward { key <= last } else { key >= last };
        note_reads(done, &found, |key| last.is_none_or(|last| is_within(key, last)));
        Ok(())
    }

    async fn append(&mut self, done: &mut Transaction, key: usize) -> Result<(), Ended> {
        let number = self.next_number();
        let change = format!("update h set v = v || ',{number}' where k = {key}");
        let tag = match self.run(&change).await?.pop() {
            Some(StatementResult::Command { tag }) => tag,
            _ => return Err(Ended::Defect("an update without a tag".to_owned())),
        };
        if tag == "UPDATE 0" {
            self.begin_list(key, number).await?;
        }
        done.accesses.push(Access::Append { key, number });
        Ok(())
    }

    /// The same of a list that is locked while it is read: what is read then stays so.
    async fn append_locked(&mut self, done: &mut Transaction, key: usize) -> Result<(), Ended> {
        let number = self.next_number();
        let locked = format!("select k, v from h where k = {key} for update");
        let found = rows(&self.run(&locked).await?).pop();
        let list = found.map(|(_, list)| list).unwrap_or_default();
        let texts: Vec<String> = list.iter().chain([&number]).map(u32::to_string).collect();
        match list.is_empty() {
            true => self.begin_list(key, number).await?,
            false => {
                let text = texts.join(",");
                self.run(&format!("update h set v = '{text}' where k = {key}")).await?;
            }
        }
        done.accesses.push(Access::Read { key, list });
        done.accesses.push(Access::Append { key, number });
        Ok(())
    }

    async fn begin_list(&mut self, key: usize, number: u32) -> Result<(), Ended> {
        let group = key % GROUPS;
        self.run(&format!("insert into h values ({key}, {group}, '{number}')")).await.map(drop)
    }

    fn next_number(&mut self) -> u32 {
        self.next += 1;
        self.next - 1
    }

    async fn run(&mut self, sql: &str) -> Result<Vec<StatementResult>, Ended> {
        let runs_again = self.level == Isolation::ReadCommitted;
        self.session.run_all(sql).await.map_err(|error| match error.state {
            SqlState("40001") if runs_again => Ended::Defect(format!("{sql}: {error}")),
            state if CONFLICTS.contains(&state) => Ended::Conflict,
            SqlState::IO_ERROR | SqlState("08007") => Ended::Machine(format!("{sql}: {error}")),
            _ => Ended::Defect(format!("{sql}: {error}")),
        })
    }
}

/// Of the keys that a query covers it has read the lists that it has found, and that there are no others.
fn note_reads(done: &mut Transaction, found: &[(usize, Vec<u32>)], covers: impl Fn(usize) -> bool) {
    for key in (0..KEYS).filter(|key| covers(*key)) {
        let list = found.iter().find(|(k, _)| *k == key).map(|(_, list)| list.clone());
        done.accesses.push(Access::Read { key, list: list.unwrap_or_default() });
    }
}

/// What others may do to a transaction: it is to be run again, unless its statements do that themselves
/// (at `READ COMMITTED`). A row that somebody has inserted who is
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
