//! A client: a session, a table, and what it knows of it.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use arrow_array::Array;
use arrow_array::cast::AsArray;
use arrow_array::types::{Int32Type, Int64Type};
use plan::catalog::TableStorage;
use stdx::Prng;
use types::{SqlError, SqlResult, SqlState};

use super::defined::{Defined, Definition};
use super::family::{self, Family};
use super::interrupted::Ended;
use super::model::{self, Rows, Step};
use super::{Report, copied};
use crate::database::Database;
use crate::result::StatementResult;
use crate::session::state::Session;

/// What outlives the run: what the table may hold.
#[derive(Clone, Debug, Default)]
pub(super) struct Known {
    /// Whether the table is there for certain.
    pub(super) exists: bool,
    /// After the last statement that was acknowledged.
    pub(super) certain: Rows,
    /// What it and the family were before, one after the other, as far back as it is not known to be durable: of a
    /// client that does not wait for the device.
    pub(super) earlier: Vec<(Rows, Family)>,
    /// If a statement that is on its way, or whose end is not known, has come through.
    pub(super) possible: Option<Rows>,
    /// What the table may be besides its rows; several where it is not known what became of a statement.
    pub(super) defined: Vec<Defined>,
    /// What the copy of the table may be: not there, or these rows.
    pub(super) copies: Vec<Option<Rows>>,
    /// What the table is if the copy has come with the transaction that is on its way.
    pub(super) migrated: Option<Rows>,
    /// The two tables that a foreign key joins, after the last statement that was acknowledged.
    pub(super) family: Family,
    /// If a statement that is on its way, or whose end is not known, has come through.
    pub(super) possible_family: Option<Family>,
    /// The last number that the sequence has given out.
    pub(super) last_number: i64,
    /// The last one of which it is durable that it was given out.
    pub(super) durable_number: i64,
}

impl Known {
    /// Whether the tables may be so after a crash: what is left is all that was done until some moment.
    pub(super) fn allows(&self, rows: &Rows, family: &Family) -> bool {
        let is_last = (*rows == self.certain || Some(rows) == self.possible.as_ref())
            && (*family == self.family || Some(family) == self.possible_family.as_ref());
        is_last || self.earlier.iter().any(|before| (&before.0, &before.1) == (rows, family))
    }

    /// All that was acknowledged is durable.
    pub(super) fn settle(&mut self) {
        self.earlier.clear();
        self.durable_number = self.last_number;
    }
}

/// What a client tells when it is gone.
pub(super) type Notes = Arc<Mutex<Known>>;

/// What may befall statements besides their own refusals.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Machine {
    /// Nothing.
    Sound,
    /// The disk fails, or is full: such a statement changes nothing, as far as one can see.
    Failing,
}

pub(super) struct Client {
    pub(super) db: Database,
    pub(super) session: Session,
    pub(super) number: usize,
    storage: TableStorage,
    pub(super) prng: Prng,
    pub(super) notes: Notes,
    machine: Machine,
    /// Whether its commits wait until they are durable.
    pub(super) waits: bool,
    /// Whether a cancel may end what runs now.
    pub(super) may_be_cancelled: bool,
    pub(super) report: Report,
}

/// Why a client goes no further.
pub(super) enum Stop {
    /// The machine is dead, or the store takes no more.
    Machine,
    /// A defect.
    Defect(String),
}

pub(super) fn lock(notes: &Notes) -> MutexGuard<'_, Known> {
    notes.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Client {
    pub(super) fn new(
        db: Database,
        number: usize,
        seed: u64,
        notes: Notes,
        machine: Machine,
    ) -> Client {
        let (session, prng, report) = (db.session(), Prng::new(seed), Report::default());
        let (storage, waits, may_be_cancelled) = (TableStorage::Row, true, false);
        Client {
            db,
            session,
            number,
            storage,
            prng,
            notes,
            machine,
            waits,
            may_be_cancelled,
            report,
        }
    }

    /// The same with `synchronous_commit` on or off.
    pub(super) fn waiting(mut self, waits: bool) -> Client {
        self.waits = waits;
        self.begin_session();
        self
    }

    fn begin_session(&mut self) {
        self.session = self.db.session();
        let on_off = if self.waits { "on" } else { "off" };
        let set = self.session.settings().set("synchronous_commit", on_off);
        set.expect("the setting has both values");
    }

    /// The same with another kind of table.
    pub(super) fn of(self, storage: TableStorage) -> Client {
        Client { storage, ..self }
    }

    /// Makes the table, then runs `count` random steps.
    pub(super) async fn play(mut self, count: usize) -> (Report, Result<(), Stop>) {
        let ended = self.steps(count).await;
        (self.report, ended)
    }

    async fn steps(&mut self, count: usize) -> Result<(), Stop> {
        let tables = model::setup(self.number, self.storage).into_iter();
        for sql in tables.chain(family::setup(self.number, self.storage)) {
            let done = self.session.run_all(&sql).await.map(drop);
            let is_done = done.is_ok();
            self.must(&sql, done)?;
            if !is_done {
                // The disk is full: there is nothing to play with.
                return Err(Stop::Machine);
            }
        }
        {
            let mut known = lock(&self.notes);
            (known.exists, known.defined) = (true, vec![Defined::default()]);
            known.copies = vec![None];
        }
        for _ in 0..count {
            self.step().await?;
        }
        if self.prng.chance(0.5) {
            self.update_behind_checkpoint().await?;
        }
        self.compare_family().await?;
        self.compare().await
    }

    /// Rows that a checkpoint has change once more: what they are then is in the log alone.
    async fn update_behind_checkpoint(&mut self) -> Result<(), Stop> {
        let done = self.session.run_all("checkpoint").await.map(drop);
        self.must_settle("checkpoint", done)?;
        let rows = lock(&self.notes).certain.clone();
        match model::update_found(&mut self.prng, self.number, &rows) {
            Some(step) => self.change(step).await,
            None => Ok(()),
        }
    }

    async fn step(&mut self) -> Result<(), Stop> {
        match self.prng.below(20) {
            0..6 => {
                let rows = lock(&self.notes).certain.clone();
                let step = model::change(&mut self.prng, self.number, &rows);
                self.change(step).await
            }
            6 | 7 => self.define().await,
            8 => self.take_number().await,
            9 => self.transaction().await,
            10 => self.find_by_index().await,
            11 => self.migrate().await,
            12 => {
                let done = self.session.run_all("checkpoint").await.map(drop);
                self.must_settle("checkpoint", done)
            }
            13 | 14 => {
                let rows = lock(&self.notes).certain.clone();
                let step = copied::random(&mut self.prng, self.number, &rows);
                self.change(step).await
            }
            15 | 16 => self.change_family().await,
            17 => self.compare_family().await,
            18 => self.temporary().await,
            _ => self.compare().await,
        }
    }

    /// A statement that changes definitions, or none.
    async fn define(&mut self) -> Result<(), Stop> {
        let definition = Definition::random(&mut self.prng, self.number, self.storage);
        let before = lock(&self.notes).defined.clone();
        let after: Vec<Defined> = before.iter().map(|known| definition.after(known)).collect();
        lock(&self.notes).defined.extend(after.clone());
        let run =
            async |client: &mut Client| client.session.run_all(&definition.sql).await.map(drop);
        let done = match self.interrupted(run).await {
            Ended::Done(done) => done,
            Ended::Cancelled => {
                self.report.cancelled_definitions += 1;
                lock(&self.notes).defined = before;
                return Ok(());
            }
            // It may come through, whatever follows.
            Ended::Dropped => return Ok(()),
        };
        let is_done = done.is_ok();
        self.must_settle(&definition.sql, done)?;
        lock(&self.notes).defined = if is_done { after } else { before };
        Ok(())
    }

    /// A statement that has to come through, unless the machine fails.
    pub(super) fn must(&mut self, sql: &str, done: SqlResult<()>) -> Result<(), Stop> {
        match done {
            Ok(()) => {
                self.report.statements += 1;
                Ok(())
            }
            Err(error) => self.failed(sql, &error),
        }
    }

    /// The same of one that waits until all that was committed is durable, whatever the session says.
    pub(super) fn must_settle(&mut self, sql: &str, done: SqlResult<()>) -> Result<(), Stop> {
        if done.is_ok() {
            lock(&self.notes).settle();
        }
        self.must(sql, done)
    }

    /// What a failure means that is none of the statement's own.
    fn failed(&mut self, sql: &str, error: &SqlError) -> Result<(), Stop> {
        if self.machine == Machine::Sound {
            return Err(Stop::Defect(format!("{sql}: {error}")));
        }
        if error.state == SqlState::DISK_FULL {
            self.report.full += 1;
            return Ok(());
        }
        if ![SqlState::IO_ERROR, SqlState("08007")].contains(&error.state) {
            return Err(Stop::Defect(format!("{sql}: {error}")));
        }
        self.report.failures += 1;
        Err(Stop::Machine)
    }

    async fn change(&mut self, step: Step) -> Result<(), Stop> {
        lock(&self.notes).possible = step.next.clone();
        match self.interrupted(async |client| client.run_step(&step).await).await {
            Ended::Done(done) => self.judge(&step, done),
            Ended::Cancelled => {
                lock(&self.notes).possible = None;
                Ok(())
            }
            Ended::Dropped => self.find_out(&step).await,
        }
    }

    pub(super) fn judge(&mut self, step: &Step, done: SqlResult<()>) -> Result<(), Stop> {
        match (done, &step.next) {
            (Ok(()), Some(next)) => {
                self.settle(next.clone());
                self.report.statements += 1;
                Ok(())
            }
            (Ok(()), None) => Err(Stop::Defect(format!("{}: not refused", step.sql))),
            (Err(error), None) if error.state == step.refusal => {
                lock(&self.notes).possible = None;
                self.report.refusals += 1;
                Ok(())
            }
            (Err(error), _) => {
                // Of a disk that is full it is known that nothing has changed, of others it is not.
                self.failed(&step.sql, &error)?;
                lock(&self.notes).possible = None;
                Ok(())
            }
        }
    }

    pub(super) fn settle(&self, rows: Rows) {
        let mut known = lock(&self.notes);
        let before = (std::mem::replace(&mut known.certain, rows), known.family.clone());
        known.earlier.push(before);
        known.possible = None;
        if self.waits {
            known.settle();
        }
    }

    /// What was dropped goes to its end, in a session that nobody has.
    pub(super) fn note_drop(&mut self) {
        self.report.drops += 1;
        self.begin_session();
    }

    /// Has one that was dropped come through? What it began goes to its end, before the next one writes.
    pub(super) async fn find_out(&mut self, step: &Step) -> Result<(), Stop> {
        self.settle_others().await?;
        let found = self.rows(&model::all_rows(self.number)).await?;
        let known = lock(&self.notes).clone();
        if found != known.certain && Some(&found) != known.possible.as_ref() {
            return Err(Stop::Defect(format!("{}: half of it was done", step.sql)));
        }
        self.settle(found);
        lock(&self.notes).settle();
        Ok(())
    }

    /// Waits until all others that write have ended.
    pub(super) async fn settle_others(&mut self) -> Result<(), Stop> {
        let sql = format!("analyze t{}", self.number);
        loop {
            let done = self.session.run_all(&sql).await.map(drop);
            let is_done = done.is_ok();
            self.must(&sql, done)?;
            // A disk that is full is so for a while only.
            if is_done {
                return Ok(());
            }
        }
    }

    async fn take_number(&mut self) -> Result<(), Stop> {
        let sql = format!("select nextval('q{}')", self.number);
        // Numbers that nobody has heard of are not given out again.
        let Ended::Done(numbers) =
            self.interrupted(async |client| client.numbers(&sql).await).await
        else {
            return Ok(());
        };
        let Some(numbers) = self.answered(&sql, numbers)? else { return Ok(()) };
        let mut known = lock(&self.notes);
        if numbers[0][0] <= known.last_number {
            return Err(Stop::Defect(format!("{sql}: {} again", numbers[0][0])));
        }
        known.last_number = numbers[0][0];
        if self.waits {
            known.settle();
        }
        drop(known);
        self.report.statements += 1;
        Ok(())
    }

    async fn find_by_index(&mut self) -> Result<(), Stop> {
        let value = self.prng.below(20) as i64;
        let found = self.rows(&model::by_number(self.number, value)).await?;
        let all = lock(&self.notes).certain.clone();
        let expected: Rows = all.into_iter().filter(|(_, row)| row.0 == value).collect();
        self.same("by the index", &found, &expected)
    }

    async fn compare(&mut self) -> Result<(), Stop> {
        let found = self.rows(&model::all_rows(self.number)).await?;
        let expected = lock(&self.notes).certain.clone();
        self.same("all", &found, &expected)
    }

    pub(super) fn same(&mut self, what: &str, found: &Rows, expected: &Rows) -> Result<(), Stop> {
        self.report.comparisons += 1;
        if found == expected {
            return Ok(());
        }
        let differs = |row: &(&i64, &(i64, usize))| expected.get(row.0) != Some(row.1);
        let (first, count) = (found.iter().find(differs), (found.len(), expected.len()));
        Err(Stop::Defect(format!("t{} {what}: {count:?} rows, {first:?}", self.number)))
    }

    /// The rows of a query; a machine that fails ends the client.
    pub(super) async fn rows(&mut self, sql: &str) -> Result<Rows, Stop> {
        let found = self.numbers(sql).await;
        match self.answered(sql, found)? {
            Some(found) => {
                Ok(found.into_iter().map(|row| (row[0], (row[1], row[2] as usize))).collect())
            }
            None => Err(Stop::Machine),
        }
    }

    pub(super) fn answered<T>(
        &mut self,
        sql: &str,
        answer: SqlResult<T>,
    ) -> Result<Option<T>, Stop> {
        match answer {
            Ok(answer) => Ok(Some(answer)),
            Err(error) => self.failed(sql, &error).map(|()| None),
        }
    }

    /// The rows of a query, all whole numbers.
    pub(super) async fn numbers(&mut self, sql: &str) -> SqlResult<Vec<Vec<i64>>> {
        let results = self.session.run_all(sql).await?;
        let Some(StatementResult::Rows(result)) = results.into_iter().next() else {
            return Err(SqlError::internal("no rows"));
        };
        let mut rows = vec![];
        for batch in &result.batches {
            let value = |column: &dyn Array, row| match column.as_primitive_opt::<Int64Type>() {
                Some(column) => column.value(row),
                None => i64::from(column.as_primitive::<Int32Type>().value(row)),
            };
            rows.extend((0..batch.num_rows()).map(|row| {
                batch.columns().iter().map(|column| value(&**column, row)).collect::<Vec<_>>()
            }));
        }
        Ok(rows)
    }
}
