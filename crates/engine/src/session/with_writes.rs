//! `WITH` whose queries change rows: one after the other, and then what stands behind them. All see the
//! rows as they were before the statement, and what those before them have given.

use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use exec::LocalFuture;
use runtime::sync::Cancel;
use sql::PlannerOptions;
use sql::parse::{Statement, WithWrites};
use types::SqlResult;

use super::rows::RowStatement;
use super::state::Session;
use crate::columns::remote::writable::check_writable;
use crate::result::StatementResult;
use crate::system::catalog::SystemCatalog;
use crate::system::results::Results;
use crate::timeout::StatementTimeout;

impl Session {
    /// Runs all of it.
    ///
    /// # Errors
    /// Those of its parts; nothing of it stays.
    pub(super) async fn with_writes(
        &mut self,
        with: WithWrites,
        cancel: Cancel,
    ) -> SqlResult<StatementResult> {
        let is_alone = self.begin_rows().await?;
        if let Some(block) = self.db.block() {
            block.freeze();
        }
        let done = self.run_parts(with, cancel).await;
        self.results = Arc::default();
        if let Some(block) = self.db.block() {
            block.thaw();
        }
        self.end_rows(is_alone, done).await
    }

    async fn run_parts(&mut self, with: WithWrites, cancel: Cancel) -> SqlResult<StatementResult> {
        for part in with.parts {
            let given = self.run_part(part, &cancel).await?;
            let mut results = (*self.results).clone();
            match given {
                StatementResult::Rows(rows) => results.push(&rows.schema, &rows.batches)?,
                StatementResult::Command { .. } => results.push_none(),
            }
            self.results = Arc::new(results);
        }
        self.run_part(*with.body, &cancel).await
    }

    async fn run_part(
        &mut self,
        statement: Statement,
        cancel: &Cancel,
    ) -> SqlResult<StatementResult> {
        let statement = self.planned_part(statement);
        if let Statement::Query(query) = &statement {
            return self.query(query, cancel.clone()).await.map(StatementResult::Rows);
        }
        crate::reserved::check(&**self.db.system(), &statement)?;
        check_writable(&self.db.snapshot(), &statement)?;
        let statement = RowStatement::new(statement)
            .map_err(|_| types::SqlError::internal("a part of a WITH that changes no rows"))?;
        self.changed(&statement).await
    }

    /// The catalog in which a statement is bound that does not run: what its parts will have given are
    /// relations without rows.
    ///
    /// # Errors
    /// What binding its parts says.
    pub(crate) fn catalog_for(&self, statement: &Statement) -> SqlResult<SystemCatalog> {
        match statement {
            Statement::WithWrites(with) => {
                without_rows(with, self.system_catalog(), &self.planner_options_now())
            }
            _ => Ok(self.system_catalog()),
        }
    }

    /// The columns of the body behind the parts, where that gives none or has a plan that is kept.
    fn described_body(&self, body: &Statement) -> Option<Option<SchemaRef>> {
        let returns = match body {
            Statement::Insert(insert) => insert.returns_rows(),
            Statement::Update(update) => update.returns_rows(),
            Statement::Delete(delete) => delete.returns_rows(),
            _ => true,
        };
        if !returns {
            return Some(None);
        }
        let body = self.planned_part(body.clone());
        let generic = body.bound()?.generic()?;
        let generic = Some(generic).filter(|it| it.holds_before_parts(&self.system_catalog()))?;
        match generic.change() {
            Some(how) => how.returning.as_ref().map(|columns| Some(columns.schema.clone())),
            None => generic.schema().filter(|_| generic.locked().is_none()).map(Some),
        }
    }

    /// The columns of what such a statement gives; `None` when it gives no rows.
    ///
    /// # Errors
    /// What planning says, and 57014, also when it takes longer than a statement may.
    pub fn describe_with<'a>(
        &'a self,
        with: &'a WithWrites,
    ) -> LocalFuture<'a, SqlResult<Option<SchemaRef>>> {
        Box::pin(async move {
            if let Some(columns) = self.described_body(&with.body) {
                return Ok(columns);
            }
            let cancel = Cancel::default();
            self.listen_to(cancel.clone());
            let clock = StatementTimeout::start(&self.settings, &cancel);
            let (catalog, options) = (self.system_catalog(), self.planner_options_now());
            let snapshot = self.database().snapshot();
            let view = |name: &str| snapshot.views.get(name).cloned();
            let is_large = match &*with.body {
                Statement::Query(query) => query.is_large(&view),
                _ => false,
            };
            let with = with.clone();
            let work = move || {
                let catalog = without_rows(&with, catalog, &options)?;
                columns(&with.body, &catalog, &options)
            };
            clock.judge(self.planner().plan(is_large, &cancel, work).await)
        })
    }
}

/// The catalog with what the parts will have given.
fn without_rows(
    with: &WithWrites,
    catalog: SystemCatalog,
    options: &PlannerOptions,
) -> SqlResult<SystemCatalog> {
    let mut results = Results::default();
    for part in &with.parts {
        let known = catalog.with_results(Arc::new(results.clone()));
        match columns(part, &known, options)? {
            Some(schema) => results.push(&schema, &[RecordBatch::new_empty(schema.clone())])?,
            None => results.push_none(),
        }
    }
    Ok(catalog.with_results(Arc::new(results)))
}

/// The columns of what a part gives.
fn columns(
    part: &Statement,
    catalog: &SystemCatalog,
    options: &PlannerOptions,
) -> SqlResult<Option<SchemaRef>> {
    let returned = match part {
        Statement::Query(query) => {
            return Ok(Some(sql::plan_query(query, catalog, options)?.root.schema.clone()));
        }
        Statement::Insert(insert) => sql::dml::returning(insert, catalog)?,
        Statement::Update(update) => sql::dml::returning(update, catalog)?,
        Statement::Delete(delete) => sql::dml::returning(delete, catalog)?,
        _ => None,
    };
    Ok(returned.map(|columns| columns.schema))
}
