//! A client: a connection that it makes anew whenever it ends, rows of its own, and what it knows of
//! them. What was acknowledged is there; what was on its way when the connection ended is there whole or
//! not at all.

use std::io;
use std::ops::AddAssign;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use runtime::{random_u64, spawn, time};
use rustls::ClientConfig;
use stdx::Prng;

use crate::model::{self, Rows, Step};
use crate::wire::{self, Reply, Wire};

/// Steps of a client.
const STEP_COUNT: usize = 20;
/// Attempts to connect before a client takes the server for gone.
const ATTEMPT_COUNT_MAX: u64 = 60;
/// Longest wait, in simulated time, before a statement is cancelled or left alone.
const PATIENCE_US: u64 = 12_000;

/// How long a statement takes that is to be cancelled: longer than most requests to cancel it.
const SLEEP_S: f64 = 0.03;

/// What the runs of some seeds have done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Report {
    /// Statements and transactions that were acknowledged.
    pub statements: u64,
    /// Those that were refused, as they had to be.
    pub refusals: u64,
    /// Those that a cancel request ended, or another transaction.
    pub cancels: u64,
    /// Those whose answer never came.
    pub unknown: u64,
    /// Of these, those that were found to be done.
    pub done: u64,
    /// Connections that were made.
    pub connections: u64,
    /// Times that a client compared all of its rows.
    pub comparisons: u64,
    /// Times that rows of a cursor were compared.
    pub fetches: u64,
    /// Requests of HTTP that were answered.
    pub answers: u64,
    /// Fingerprint of all that has happened: equal for equal seeds.
    pub trace_hash: u64,
}

impl AddAssign for Report {
    fn add_assign(&mut self, other: Report) {
        self.statements += other.statements;
        self.refusals += other.refusals;
        self.cancels += other.cancels;
        self.unknown += other.unknown;
        self.done += other.done;
        self.connections += other.connections;
        self.comparisons += other.comparisons;
        self.fetches += other.fetches;
        self.answers += other.answers;
        self.trace_hash = self.trace_hash.rotate_left(7) ^ other.trace_hash;
    }
}

/// What outlives a client: the rows after the last acknowledged statement, and what they are if a
/// statement whose answer did not come was done.
#[derive(Clone, Debug, Default)]
pub struct Known {
    pub certain: Rows,
    pub possible: Option<Rows>,
}

/// What a client tells when it is gone.
pub type Notes = Arc<Mutex<Known>>;

pub fn lock(notes: &Notes) -> MutexGuard<'_, Known> {
    notes.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Why a client goes no further.
pub enum Stop {
    /// The server is gone, or takes no more.
    Server,
    /// A defect.
    Defect(String),
}

/// What became of something that was asked.
pub struct Heard {
    pub reply: Reply,
    /// The connection has ended before the answer did.
    pub is_lost: bool,
}

pub struct Player {
    pub number: usize,
    pub prng: Prng,
    pub notes: Notes,
    pub wire: Option<Wire>,
    /// How its connections are encrypted, if they are.
    encryption: Option<Arc<ClientConfig>>,
    /// Cursors that it has declared.
    pub cursors: u64,
    /// The session that has asked last.
    pid: i32,
    /// Whether the server may die.
    is_mortal: bool,
    pub report: Report,
}

impl Player {
    pub fn new(number: usize, seed: u64, notes: Notes, is_mortal: bool) -> Player {
        let (prng, report) = (Prng::new(seed), Report::default());
        let (wire, encryption, cursors, pid) = (None, None, 0, 0);
        Player { number, prng, notes, wire, encryption, cursors, pid, is_mortal, report }
    }

    /// The same with connections that are encrypted.
    pub fn encrypted(self, config: &Arc<ClientConfig>) -> Player {
        Player { encryption: Some(config.clone()), ..self }
    }

    /// Plays to the end, or until the server is gone.
    pub async fn play(mut self) -> (Report, Result<(), Stop>) {
        let ended = self.steps().await;
        (self.report, ended)
    }

    /// Compares the rows with what is known of them, once.
    pub async fn verify(mut self) -> (Report, Result<(), Stop>) {
        let ended = self.connected().await;
        (self.report, ended)
    }

    async fn steps(&mut self) -> Result<(), Stop> {
        for _ in 0..STEP_COUNT {
            self.connected().await?;
            match self.prng.below(12) {
                0..6 => self.change().await?,
                6 | 7 => self.transaction().await?,
                8 | 9 => self.cursor().await?,
                10 => self.part().await,
                _ => drop(self.settled().await?),
            }
        }
        self.connected().await?;
        self.part().await;
        Ok(())
    }

    fn wait(&mut self, most_us: u64) -> time::Sleep {
        time::sleep(Duration::from_micros(self.prng.below(most_us)))
    }

    /// Ends the connection: politely, or not.
    async fn part(&mut self) {
        self.wait(50_000).await;
        let Some(wire) = self.wire.take() else { return };
        if self.prng.chance(0.5) {
            // It is over in any case.
            let _ = wire.leave().await;
        }
    }

    /// Has a connection, and knows what the last one has left.
    async fn connected(&mut self) -> Result<(), Stop> {
        let mut attempts = 0;
        while self.wire.is_none() {
            if attempts == ATTEMPT_COUNT_MAX {
                return self.stopped("no connection can be had");
            }
            attempts += 1;
            match Wire::open(self.encryption.as_ref()).await {
                Ok(wire) => {
                    self.report.connections += 1;
                    self.wire = Some(wire);
                    if self.last_has_ended().await? && self.settled().await? {
                        self.pid = self.wire.as_ref().map_or(0, |wire| wire.key.pid);
                    }
                }
                Err(error) if error.kind() == io::ErrorKind::InvalidData => {
                    return Err(Stop::Defect(format!("start: {error}")));
                }
                Err(_) if self.is_mortal && attempts > 3 => return Err(Stop::Server),
                Err(_) => self.wait(1 + attempts * 20_000).await,
            }
        }
        Ok(())
    }

    fn stopped<T>(&self, why: &str) -> Result<T, Stop> {
        Err(match self.is_mortal {
            true => Stop::Server,
            false => Stop::Defect(format!("client {}: {why}", self.number)),
        })
    }

    /// Waits until the session of the last connection is gone: what it had begun has ended by then.
    /// `false`: this connection is gone too.
    async fn last_has_ended(&mut self) -> Result<bool, Stop> {
        let sql = format!("select count(*) from pg_stat_activity where pid = {}", self.pid);
        loop {
            match self.rows(&sql).await? {
                Some(rows) if rows[0][0] == "0" => return Ok(true),
                Some(_) => time::sleep(Duration::from_millis(500)).await,
                None => return Ok(false),
            }
        }
    }

    /// Compares all rows with what is known of them, which is certain from then on. `false`: the
    /// connection is gone.
    async fn settled(&mut self) -> Result<bool, Stop> {
        let Some(rows) = self.rows(&model::all_rows(self.number)).await? else { return Ok(false) };
        let number = |text: &String| text.parse::<i64>().unwrap_or(i64::MIN);
        let found: Rows = rows.iter().map(|row| (number(&row[0]), number(&row[1]))).collect();
        let mut known = lock(&self.notes);
        let is_possible = known.possible.as_ref() == Some(&found);
        if found != known.certain && !is_possible {
            let sizes = (found.len(), known.certain.len(), known.possible.as_ref().map(Rows::len));
            let differs = |row: &(&i64, &i64)| known.certain.get(row.0) != Some(row.1);
            let first = found.iter().find(differs);
            let what = format!("client {}: {sizes:?} rows, {first:?}", self.number);
            return Err(Stop::Defect(what));
        }
        self.report.comparisons += 1;
        self.report.done += u64::from(is_possible && found != known.certain);
        *known = Known { certain: found, possible: None };
        Ok(true)
    }

    /// The rows of a query; `None` when the connection is gone.
    pub async fn rows(&mut self, sql: &str) -> Result<Option<Vec<Vec<String>>>, Stop> {
        loop {
            let heard = self.heard(sql).await;
            match heard.reply.refusal {
                // A cancel request that comes late finds another statement.
                Some(refusal) if refusal.state == "57014" => {}
                Some(refusal) => return self.refused(sql, &refusal).map(|()| None),
                None if heard.is_lost => return Ok(None),
                None => return Ok(Some(heard.reply.rows)),
            }
            if self.wire.is_none() {
                return Ok(None);
            }
        }
    }

    /// What a refusal means that is not the statement's own.
    pub fn refused(&mut self, sql: &str, refusal: &wire::Refusal) -> Result<(), Stop> {
        match refusal.state.as_str() {
            // The server or its disk is gone.
            "57P01" | "57P03" | "58030" | "08007" if self.is_mortal => Err(Stop::Server),
            _ => Err(Stop::Defect(format!("{sql}: {refusal:?}"))),
        }
    }

    /// Asks, and hears what comes.
    pub async fn heard(&mut self, sql: &str) -> Heard {
        let asked = match &mut self.wire {
            None => Err(io::ErrorKind::NotConnected.into()),
            Some(wire) if self.prng.chance(0.3) => wire.ask_extended(sql).await,
            Some(wire) => wire.ask(sql).await,
        };
        self.listen(asked).await
    }

    pub async fn listen(&mut self, asked: io::Result<()>) -> Heard {
        let mut reply = Reply::default();
        let ended = match (&mut self.wire, asked) {
            (Some(wire), Ok(())) => wire.read(&mut reply).await,
            (_, asked) => asked,
        };
        let is_lost = !reply.is_ready;
        if is_lost || ended.is_err() {
            self.wire = None;
        }
        Heard { reply, is_lost }
    }

    /// Has what the session does at some moment cancelled, on a connection of its own.
    fn cancel_soon(&mut self) {
        let Some(wire) = &self.wire else { return };
        let (key, patience) = (wire.key.clone(), self.wait(PATIENCE_US));
        drop(spawn(async move {
            patience.await;
            // A request that does not arrive cancels nothing.
            let _ = wire::cancel(key).await;
        }));
    }

    /// One statement that changes rows.
    pub async fn change(&mut self) -> Result<(), Stop> {
        let rows = lock(&self.notes).certain.clone();
        let step = model::change(&mut self.prng, self.number, &rows);
        lock(&self.notes).possible = step.next.clone();
        let heard = match self.prng.below(10) {
            0 | 1 => {
                self.cancel_soon();
                self.slowly(&step.sql).await
            }
            2 => self.half_closed(&step.sql).await,
            3 => self.left_alone(&step.sql).await,
            _ => self.heard(&step.sql).await,
        };
        self.judge(&step, heard)
    }

    /// Asks, together with something that takes longer than a statement does by itself, before it or behind it.
    async fn slowly(&mut self, sql: &str) -> Heard {
        let sleep = format!("select pg_sleep({SLEEP_S})");
        let texts = match self.prng.chance(0.5) {
            true => [sleep.as_str(), sql],
            false => [sql, sleep.as_str()],
        };
        let asked = match &mut self.wire {
            Some(wire) => wire.ask(&texts.join("; ")).await,
            None => Ok(()),
        };
        let mut heard = self.listen(asked).await;
        if heard.reply.tags.len() < texts.len() {
            // They are one transaction, of which the first alone says nothing.
            heard.reply.tags.clear();
        }
        heard
    }

    /// Asks, and says that nothing more will be asked.
    async fn half_closed(&mut self, sql: &str) -> Heard {
        let Some(wire) = &mut self.wire else { return self.heard(sql).await };
        let asked = wire.ask(sql).await;
        wire.half_close();
        let heard = self.listen(asked).await;
        self.wire = None;
        heard
    }

    /// Asks, and hangs up after a while.
    async fn left_alone(&mut self, sql: &str) -> Heard {
        let (patience, mut reply) =
            (Duration::from_micros(self.prng.below(PATIENCE_US)), Reply::default());
        if let Some(mut wire) = self.wire.take()
            && wire.ask(sql).await.is_ok()
        {
            // What has come until then counts.
            let _ = time::timeout(patience, wire.read(&mut reply)).await;
        }
        Heard { reply, is_lost: true }
    }

    fn judge(&mut self, step: &Step, heard: Heard) -> Result<(), Stop> {
        let mut known = lock(&self.notes);
        match (heard.reply.refusal, &step.next) {
            (None, Some(next)) if !heard.reply.tags.is_empty() => {
                *known = Known { certain: next.clone(), possible: None };
                self.report.statements += 1;
            }
            (None, _) if heard.is_lost => self.report.unknown += 1,
            (None, _) => return Err(Stop::Defect(format!("{}: not refused", step.sql))),
            (Some(refusal), None) if refusal.state == "23505" => self.report.refusals += 1,
            // Two that have changed rows may both want to write alone, and one of them fails.
            (Some(refusal), _) if ["57014", "40P01"].contains(&refusal.state.as_str()) => {
                known.possible = None;
                self.report.cancels += 1;
            }
            (Some(refusal), _) => {
                drop(known);
                return self.refused(&step.sql, &refusal);
            }
        }
        Ok(())
    }

    /// Several statements, of which all or none stay.
    async fn transaction(&mut self) -> Result<(), Stop> {
        let before = lock(&self.notes).certain.clone();
        let (mut rows, mut texts) = (before.clone(), vec!["begin".to_owned()]);
        for _ in 0..=self.prng.below(3) {
            let step = model::change(&mut self.prng, self.number, &rows);
            if let Some(next) = step.next {
                rows = next;
                texts.push(step.sql);
            }
        }
        let commits = self.prng.chance(0.7);
        let (end, next) = if commits { ("commit", rows) } else { ("rollback", before) };
        texts.push(end.to_owned());
        if self.prng.chance(0.3) {
            self.cancel_soon();
        }
        let step = Step { sql: texts.join("; "), next: Some(next) };
        let heard = match self.prng.chance(0.3) {
            true => {
                lock(&self.notes).possible = step.next.clone();
                let asked = match &mut self.wire {
                    Some(wire) => wire.ask(&step.sql).await,
                    None => Ok(()),
                };
                self.listen(asked).await
            }
            false => self.one_by_one(&texts, &step).await,
        };
        self.judge_block(&step, heard, end).await
    }

    /// The statements of a block; what has come of the last one, or of the first that was not done.
    async fn one_by_one(&mut self, texts: &[String], step: &Step) -> Heard {
        let mut heard = Heard { reply: Reply::default(), is_lost: true };
        for (at, text) in texts.iter().enumerate() {
            if self.prng.chance(0.05) {
                self.part().await;
            }
            // Before its end is asked for nothing of a block can stay.
            if at + 1 == texts.len() && self.wire.is_some() {
                lock(&self.notes).possible = step.next.clone();
            }
            heard = self.heard(text).await;
            if heard.reply.refusal.is_some() || heard.is_lost {
                break;
            }
            if random_u64().is_multiple_of(4) {
                self.wait(5_000).await;
            }
        }
        heard
    }

    pub async fn judge_block(&mut self, step: &Step, heard: Heard, end: &str) -> Result<(), Stop> {
        let is_refused = heard.reply.refusal.is_some();
        let last = heard.reply.tags.last();
        if !is_refused && last.is_some_and(|tag| !tag.eq_ignore_ascii_case(end)) {
            if heard.is_lost {
                self.report.unknown += 1;
                return Ok(());
            }
            return Err(Stop::Defect(format!("{}: it ends with {last:?}", step.sql)));
        }
        self.judge(step, heard)?;
        if is_refused && self.wire.is_some() {
            // The block is still there, and has failed.
            drop(self.heard("rollback").await);
        }
        Ok(())
    }
}
