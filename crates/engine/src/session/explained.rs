//! `EXPLAIN` of statements that change rows.

use std::sync::Arc;

use runtime::time;
use sql::dml::{TargetCatalog, delete_query, update_query};
use sql::parse::{ExplainWrite, Explaining, Statement};
use types::{SqlError, SqlResult};

use super::rows::RowStatement;
use super::state::Session;
use crate::columns::remote::writable::check_writable;
use crate::explain::{self, Changed};
use crate::result::{ResultSet, StatementResult};
use crate::traced::{Trace, Traced};

impl Session {
    /// Shows how a statement would find its rows; with `ANALYZE` it runs, and shows what it did.
    ///
    /// # Errors
    /// Those of planning, and with `ANALYZE` those of the statement.
    pub(super) async fn explain_write(
        &mut self,
        explain: ExplainWrite,
    ) -> SqlResult<StatementResult> {
        let ExplainWrite { options, statement } = explain;
        crate::reserved::check(&**self.db.system(), &statement)?;
        check_writable(&self.db.snapshot(), &statement)?;
        let title = title(&statement);
        let lines = match options.analyze {
            true => self.analyzed_write(&options, title, *statement).await?,
            false => {
                let found = self.planned_write(&statement).await?;
                explain::changed(&title, &found, None, &self.settings, &options)
            }
        };
        let rows = lines.into_iter().map(|line| vec![line]).collect();
        Ok(StatementResult::Rows(ResultSet::text(&["QUERY PLAN"], rows, "EXPLAIN")))
    }

    /// The plan that finds the rows of a statement; none where they are values.
    async fn planned_write(&self, statement: &Statement) -> SqlResult<Vec<Traced>> {
        let writing = self.writing_rows().await?;
        let (query, target) = match statement {
            Statement::Insert(insert) => (sql::query_of(insert, &writing.catalog)?, None),
            Statement::Update(update) => {
                let target = TargetCatalog::new(&writing.catalog, &update.table)?;
                (Some(update_query(update, &target)?.0), Some(update.table.as_str()))
            }
            Statement::Delete(delete) => {
                let target = TargetCatalog::new(&writing.catalog, &delete.table)?;
                (Some(delete_query(delete, &target)?), Some(delete.table.as_str()))
            }
            _ => return Err(SqlError::internal("a statement that changes no rows")),
        };
        match query {
            Some(query) => {
                let plan = writing.plan(&query, target).await?;
                Ok(vec![Traced { plan, figures: None }])
            }
            None => Ok(vec![]),
        }
    }

    async fn analyzed_write(
        &mut self,
        options: &Explaining,
        title: String,
        statement: Statement,
    ) -> SqlResult<Vec<String>> {
        let statement = RowStatement::new(statement)
            .map_err(|_| SqlError::internal("a statement that changes no rows"))?;
        let begun = time::now();
        let is_alone = self.begin_rows().await?;
        let trace = Arc::<Trace>::default();
        self.trace = Some(trace.clone());
        let before = self.logged_bytes();
        let changed = self.changed(&statement).await;
        self.trace = None;
        let log_bytes = self.logged_bytes() - before;
        let changing = time::now();
        let result = self.end_rows(is_alone, changed).await?;
        let ended = time::now();
        let changed = Changed {
            rows: rows_of(&result),
            log_bytes,
            commit: is_alone.then(|| ended - changing),
            elapsed: ended - begun,
        };
        Ok(explain::changed(&title, &trace.take(), Some(&changed), &self.settings, options))
    }

    /// Bytes that the open transaction has for the log.
    fn logged_bytes(&self) -> usize {
        self.db.block().map_or(0, |block| block.logged_bytes())
    }
}

/// As PostgreSQL names the node that changes rows.
fn title(statement: &Statement) -> String {
    match statement {
        Statement::Insert(insert) => format!("Insert on {}", insert.table),
        Statement::Update(update) => format!("Update on {}", update.table),
        Statement::Delete(delete) => format!("Delete on {}", delete.table),
        _ => String::new(),
    }
}

/// How many rows a statement has changed.
fn rows_of(result: &StatementResult) -> u64 {
    let tag = match result {
        StatementResult::Command { tag } => tag,
        StatementResult::Rows(rows) => &rows.tag,
    };
    tag.rsplit(' ').next().and_then(|count| count.parse().ok()).unwrap_or(0)
}
