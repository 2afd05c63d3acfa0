//! Runs statements one at a time.

use plan::Plan;
use runtime::IoCounters;
use runtime::sync::Cancel;
use sql::parse::{MemberStatement, OnCommit, Statement};
use sql::{InFlight, PlannerOptions, Query};
use types::{SqlError, SqlResult, SqlState};

use super::client::Client;
use super::state::Session;
use crate::columns::remote::writable::check_writable;
use crate::isolation::Isolation;
use crate::prepared::PointExecution;
use crate::query::{Ran, Watch};
use crate::relation::seek::Seek;
use crate::result::{ResultSet, StatementResult, tag};
use crate::statements::Executed;
use crate::system::catalog::SystemCatalog;
use crate::{fault, isolation, privileges, query};

impl Session {
    pub(crate) async fn dispatch(
        &mut self,
        mut statement: Statement,
        client: Client,
        cancel: Cancel,
    ) -> SqlResult<StatementResult> {
        if let Some(skipped) = self.find_named(&mut statement)? {
            return Ok(skipped);
        }
        privileges::check(&self.db.snapshot(), &**self.db.system(), self.info.role, &statement)?;
        if self.begins_writing(&statement) {
            self.await_entry().await?;
        }
        if super::admit::looks(&statement) {
            self.look().await;
        }
        if self.begins_writing(&statement) {
            self.begin_part().await?;
        }
        match statement {
            Statement::Query(query) => self.query(&query, cancel).await.map(StatementResult::Rows),
            Statement::Explain(e) => Box::pin(self.explain(&e, cancel)).await,
            Statement::WithWrites(with) => Box::pin(self.with_writes(with, cancel)).await,
            Statement::ExplainWrite(e) => Box::pin(self.explain_write(e)).await,
            Statement::Set { name, value: Some(value) } => self.set_or_probe(name, value).await,
            Statement::SetTransaction(modes) => self.set(&modes),
            Statement::Set { name, value: None } => self.reset(&name).map(|()| tag("SET")),
            Statement::SetLocal { name, value } => {
                self.set_local(&name, value.as_deref()).map(|()| tag("SET"))
            }
            Statement::Reset { name } => {
                self.reset(name.as_deref().unwrap_or("all")).map(|()| tag("RESET"))
            }
            Statement::Show { name } => self.show(&name),
            Statement::Notification(statement) => self.notification(statement),
            Statement::SetConstraints(set) => {
                Box::pin(self.set_constraints(&set)).await.map(|()| tag("SET CONSTRAINTS"))
            }
            Statement::Lock(lock) => self.lock_tables(&lock).await.map(|()| tag("LOCK TABLE")),
            Statement::Prepare(prepare) => self.prepare(&prepare).await.map(|()| tag("PREPARE")),
            Statement::Execute(execute) => match self.executed(&execute)? {
                Executed::Statement(statement) => {
                    self.admit(&statement)?;
                    Box::pin(self.dispatch(*statement, client, cancel)).await
                }
                Executed::Point(point) => {
                    self.run_look_up(&point, cancel).await.map(StatementResult::Rows)
                }
            },
            Statement::Deallocate { name } => self.deallocate(name.as_deref()),
            Statement::Discard(what) => self.discard(what).await,
            Statement::Cursor(cursor) => super::cursors::unserved(&cursor, self.transaction.status),
            Statement::CopyTo(copy) => self.copy_to(&copy, cancel, client.output).await,
            Statement::Copy(copy) => {
                let statement = Statement::Copy(copy.clone());
                crate::reserved::check(&**self.db.system(), &statement)?;
                check_writable(&self.db.snapshot(), &statement)?;
                Box::pin(self.copy_rows(&copy, client.input)).await
            }
            Statement::Rename(rename) => Box::pin(self.rename(rename, client, cancel)).await,
            Statement::Nominal(nominal) => self.nominal(nominal),
            Statement::Role(statement) => self.change_roles(&statement).await,
            Statement::Checkpoint => {
                self.db.make_durable(&self.lock_wait()).await.map(|()| tag("CHECKPOINT"))
            }
            Statement::Backup { path } => self.backed_up(&path, &cancel).await,
            Statement::Member(member) => self.change_members(&member).await,
            other => Box::pin(self.write(other)).await,
        }
    }

    async fn change_members(&self, member: &MemberStatement) -> SqlResult<StatementResult> {
        let path = std::path::Path::new(&member.path);
        if !path.is_absolute() {
            let message = "relative path not allowed for a member";
            return Err(SqlError::new(SqlState("42602"), message));
        }
        let changed = match member.joins {
            true => self.db.store().add_member(path, member.format).await,
            false => self.db.store().remove_member(path).await,
        };
        changed.map(|()| tag("ALTER DATABASE")).map_err(fault::storage)
    }

    async fn backed_up(&self, path: &str, cancel: &Cancel) -> SqlResult<StatementResult> {
        let path = std::path::Path::new(path);
        if !path.is_absolute() {
            let message = "relative path not allowed for BACKUP";
            return Err(SqlError::new(SqlState("42602"), message));
        }
        self.db.copied_to(path, cancel).await.map(|_| tag("BACKUP"))
    }

    /// Runs a look-up that is planned already.
    pub(crate) async fn run_look_up(
        &mut self,
        point: &PointExecution,
        cancel: Cancel,
    ) -> SqlResult<ResultSet> {
        self.admit_look_in_recovery()?;
        self.look().await;
        self.look_alone();
        let catalog = self.system_catalog();
        let watch = Watch { cancel, activity: &self.activity };
        let (plan, access) = point.planned();
        let access = access.clone();
        let ran = query::run_point(&self.db, catalog, plan, &self.settings, watch, access).await;
        self.looked(ran).map(|(batches, figures)| selected(plan, (batches, Some(figures))))
    }

    /// Runs a statement that writes.
    pub(super) async fn write(&mut self, statement: Statement) -> SqlResult<StatementResult> {
        crate::reserved::check(&**self.db.system(), &statement)?;
        check_writable(&self.db.snapshot(), &statement)?;
        let statement = match super::rows::RowStatement::new(statement) {
            Ok(statement) => return self.change_rows(statement).await,
            Err(statement) => *statement,
        };
        let passing = match &statement {
            Statement::CreateTable(create)
                if create.on_commit != OnCommit::PreserveRows
                    && !self.db.newest().is_temporary(&create.name) =>
            {
                Some(create.clone())
            }
            _ => None,
        };
        let notes_reads =
            is_filled(&statement) && self.is_idle() && self.isolation() == Isolation::Serializable;
        let mut writing = self.writing_definitions(&statement).await?;
        if notes_reads {
            writing.note_reads();
        }
        let skipped = super::skipped::skipped(writing.snapshot(), &statement);
        let alters_numbers = super::numbers::alters_numbers(&statement, writing.snapshot());
        let written = Box::pin(super::write::write(&writing, statement)).await;
        if alters_numbers && written.is_ok() {
            writing.note_numbers_altered()?;
        }
        let settled = writing.settle(written).await;
        self.notices.extend(skipped);
        let (result, told) = settled?;
        self.notices.extend(told);
        match passing {
            Some(create) => self.note_created(&create).await.map(|()| result),
            None => Ok(result),
        }
    }

    /// With what is known of the moment.
    pub(crate) fn planner_options_now(&self) -> PlannerOptions {
        if self.settings.device.is_none() {
            self.db.probe_device_if_due();
        }
        PlannerOptions { cached_fraction: self.db.cached_share(), ..self.planner_options() }
    }

    pub(crate) fn planner_options(&self) -> PlannerOptions {
        let (in_flight, workers) = (self.settings.in_flight(), self.db.worker_count());
        PlannerOptions {
            device: self.settings.device_profile(),
            in_flight,
            page_bytes: self.db.page_bytes(),
            // A query in so many tasks uses no more.
            workers: match in_flight {
                InFlight::AtMost(tasks) => workers.min(tasks),
                InFlight::Many => workers,
            },
            enable_hashjoin: self.settings.enable_hashjoin,
            enable_indexnestloop: self.settings.enable_indexnestloop,
            enable_seqscan: self.settings.enable_seqscan,
            enable_indexscan: self.settings.enable_indexscan,
            enable_indexonlyscan: self.settings.enable_indexonlyscan,
            ..PlannerOptions::default()
        }
    }

    pub(crate) async fn query(&mut self, text: &Query, cancel: Cancel) -> SqlResult<ResultSet> {
        if let Some(locked) = Box::pin(self.begun(text, &cancel)).await? {
            return Ok(locked);
        }
        let (catalog, plan, planning) = self.plan(text, &cancel).await?;
        let (db, settings) = (&self.db, &self.settings);
        let watch = Watch { cancel, activity: &self.activity };
        let ran = query::rows(db, catalog.clone(), &plan, settings, watch, planning).await?;
        isolation::check_locked(&catalog.snapshot().read_view)?;
        // Before it has any effect.
        self.looked(Ok(()))?;
        self.save_numbers(catalog.given()).await?;
        self.change_settings(&catalog)?;
        Ok(selected(&plan, ran))
    }

    /// Finds one row. It takes microseconds, so nobody watches it, and it cannot be cancelled.
    pub(crate) async fn seek(&mut self, plan: &Plan, seek: Seek<'_>) -> SqlResult<ResultSet> {
        self.begin();
        let found = seek.run(&IoCounters::default()).await;
        let count = found.as_ref().map_or(0, |batches| batches.len() as u64);
        let batches = self.activity.end_in(self.settings.execution_mode, found, count)?;
        let tag = format!("SELECT {}", batches.len());
        Ok(ResultSet { schema: plan.root.schema.clone(), batches, tag, figures: None })
    }

    /// Does what `set_config` asked for.
    fn change_settings(&mut self, catalog: &SystemCatalog) -> SqlResult<()> {
        self.apply(catalog.changes())
    }
}

/// The result of a query that ran.
pub(crate) fn selected(plan: &Plan, (batches, figures): Ran) -> ResultSet {
    let schema = plan.root.schema.clone();
    let figures = figures.map(Box::new);
    let mut result = ResultSet { schema, batches, tag: String::new(), figures };
    result.tag = format!("SELECT {}", result.row_count());
    result
}

/// Whether a statement makes a table of what a query finds.
pub(crate) fn is_filled(statement: &Statement) -> bool {
    matches!(statement, Statement::CreateTable(create) if create.query.is_some())
}

#[cfg(test)]
mod tests;
