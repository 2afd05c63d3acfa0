//! Runs statements whose rows arrive one after the other.

use std::sync::Arc;
use std::time::Duration;

use exec::LocalFuture;
use plan::Plan;
use runtime::sync::Cancel;
use sql::Query;
use types::SqlResult;
use types::cells::Cells;

use super::state::Session;
use crate::prepared::PointExecution;
use crate::query::{Run, Watch};
use crate::relation::seek::Seek;
use crate::stream::{RowStream, Source};
use crate::system::catalog::SystemCatalog;
use crate::timeout::StatementTimeout;
use crate::{isolation, query};

impl Session {
    /// Begins a query whose rows are taken as they come, within `statement_timeout`; call it in a task of
    /// the database's runtime. Who takes the rows tells the session of their errors
    /// ([`Session::fail`]).
    ///
    /// # Errors
    /// What planning says; 25P02 in a failed block.
    pub fn start<'a>(&'a mut self, query: &'a Query) -> LocalFuture<'a, SqlResult<RowStream>> {
        Box::pin(async move { self.start_for(query, false).await })
    }

    /// The same of rows that are taken when the transaction has ended, too: what it may read is noted, where that
    /// is serializable, before it is validated.
    ///
    /// # Errors
    /// As [`Session::start`].
    pub fn start_held<'a>(&'a mut self, query: &'a Query) -> LocalFuture<'a, SqlResult<RowStream>> {
        Box::pin(async move { self.start_for(query, true).await })
    }

    async fn start_for(&mut self, query: &Query, is_held: bool) -> SqlResult<RowStream> {
        let started = self.start_here(query, is_held).await;
        // What is still to come is seen as it was when it began.
        let alone = self.looked_alone();
        started.map(|rows| rows.alone(alone))
    }

    async fn start_here(&mut self, query: &Query, is_held: bool) -> SqlResult<RowStream> {
        self.check_not_failed()?;
        let cancel = self.begin();
        let timeout = StatementTimeout::start(&self.settings, &cancel);
        match Box::pin(self.begun(query, &cancel)).await {
            Ok(None) => {}
            Ok(Some(locked)) => {
                let count = locked.row_count() as u64;
                let ended = timeout.judge(self.activity().end(Ok(locked), count));
                return self.or_fail(ended).map(RowStream::collected);
            }
            Err(error) => {
                let failed = timeout.judge(self.activity().end(Err(error), 0));
                return self.or_fail(failed);
            }
        }
        match self.plan(query, &cancel).await {
            Ok((catalog, plan, planning)) => {
                let watch = Watch { cancel: cancel.clone(), activity: self.activity() };
                let few = query::few_cells(&catalog, &plan, &self.settings, &watch).await;
                if let Some(few) = few.transpose() {
                    return self.few_found(&plan, &catalog, few, &timeout);
                }
                let run = self.planned_run(catalog, &plan, planning, &cancel);
                if is_held && !self.is_idle() {
                    run.note_tables();
                }
                Ok(RowStream::start(run, self.activity().clone(), (cancel, timeout)))
            }
            Err(error) => {
                let failed = timeout.judge(self.activity().end(Err(error), 0));
                self.or_fail(failed)
            }
        }
    }

    /// The rows that the program of a plan has found.
    fn few_found(
        &mut self,
        plan: &Plan,
        catalog: &SystemCatalog,
        found: SqlResult<Cells>,
        timeout: &StatementTimeout,
    ) -> SqlResult<RowStream> {
        let looked = self.looked(found).and_then(|found| {
            isolation::check_locked(&catalog.snapshot().read_view).map(|()| found)
        });
        let count = looked.as_ref().map_or(0, |found| found.len() as u64);
        let ended = timeout.judge(self.activity().end(looked, count));
        self.or_fail(ended).map(|found| RowStream::few(plan, found, catalog))
    }

    /// Runs a look-up that is planned already: one row is found at once, several are a query. Call it in
    /// a task of the database's runtime.
    ///
    /// # Errors
    /// What reading says; 25P02 in a failed block.
    pub fn look_up<'a>(
        &'a mut self,
        point: &'a PointExecution,
    ) -> LocalFuture<'a, SqlResult<RowStream>> {
        Box::pin(async move {
            self.check_not_failed()?;
            self.admit_look_in_recovery()?;
            self.look().await;
            self.look_alone();
            let (plan, access) = point.planned();
            let snapshot = self.database().snapshot();
            let seek = Seek::of(plan, access, &snapshot);
            if seek.is_err() {
                drop(self.looked_alone());
            }
            if let Some(seek) = seek? {
                let found = self.seek(plan, seek).await;
                let found = self.looked(found);
                return self.or_fail(found).map(RowStream::collected);
            }
            let (cancel, catalog) = (self.begin(), self.system_catalog());
            let timeout = StatementTimeout::start(&self.settings, &cancel);
            let run = self.planned_run(catalog, plan, Duration::ZERO, &cancel);
            let run = run.with_access(Some(access.clone()));
            let alone = self.looked_alone();
            let rows = RowStream::start(run, self.activity().clone(), (cancel, timeout));
            Ok(rows.alone(alone))
        })
    }

    pub(super) fn planned_run(
        &self,
        catalog: SystemCatalog,
        plan: &Arc<Plan>,
        planning: Duration,
        cancel: &Cancel,
    ) -> Run {
        let watch = Watch { cancel: cancel.clone(), activity: self.activity() };
        Run::new(self.database(), catalog, plan, &self.settings, watch, planning)
    }

    /// The client has rows of a result that may have more: it may want none of these.
    ///
    /// # Errors
    /// 40001 where the query is a serializable transaction and has no place among others.
    pub fn check_rows(&mut self, rows: &RowStream) -> SqlResult<()> {
        let checked = rows.check_alone();
        self.or_fail(checked)
    }

    /// A result lies still until its client asks for more: other statements may run meanwhile.
    pub fn pause(&mut self, rows: &mut RowStream) {
        if let Source::Running(running) = &mut rows.source {
            running.watched.pause();
            running.timeout = None;
        }
        self.listen_to(Cancel::default());
    }

    /// A result goes on, and is what a cancel request ends; the clock of `statement_timeout` starts anew.
    pub fn resume(&mut self, rows: &mut RowStream) {
        if let Source::Running(running) = &mut rows.source {
            running.watched.resume();
            running.timeout = Some(StatementTimeout::start(self.settings(), &running.cancel));
            self.listen_to(running.cancel.clone());
        }
    }

    /// Does what is left to do when the last row has been taken.
    ///
    /// # Errors
    /// What setting the settings says that the query changed, and what saving sequences says.
    pub fn finish<'a>(&'a mut self, rows: &'a RowStream) -> LocalFuture<'a, SqlResult<()>> {
        Box::pin(async move {
            // Numbers that it took may have to wait for who writes.
            let saved = match rows.check_locked().and_then(|()| rows.check_alone()) {
                Ok(()) => self.save_numbers(rows.given()).await,
                outdated => outdated,
            };
            let finished = saved.and_then(|()| self.apply(rows.changes()));
            let finished = rows.judge(finished);
            self.or_fail(finished)
        })
    }
}
