//! Syntax that the library accepts and then forgets: refused here, or results would be wrong.

use std::ops::ControlFlow;

use datafusion_sql::sqlparser::ast::{
    Expr, LimitClause, Query, Select, Statement, TableFactor, Visit, Visitor,
};
use types::{SqlError, SqlResult};

/// Most relations in one `FROM` clause: each makes the tree of joins a level deeper.
const FROM_MAX: usize = 64;

/// 0A000 for what would silently have no effect.
pub(super) fn dropped_silently(statement: &Statement) -> SqlResult<()> {
    match statement.visit(&mut Refuse) {
        ControlFlow::Break(error) => Err(*error),
        ControlFlow::Continue(()) => Ok(()),
    }
}

struct Refuse;

fn refuse(what: &str) -> ControlFlow<Box<SqlError>> {
    ControlFlow::Break(Box::new(SqlError::unsupported(what)))
}

fn too_many(what: &str) -> ControlFlow<Box<SqlError>> {
    let state = types::SqlState::PROGRAM_LIMIT_EXCEEDED;
    ControlFlow::Break(Box::new(SqlError::new(state, format!("too many {what}"))))
}

impl Visitor for Refuse {
    type Break = Box<SqlError>;

    fn pre_visit_query(&mut self, query: &Query) -> ControlFlow<Self::Break> {
        if !query.locks.is_empty() {
            return refuse("SELECT .. FOR UPDATE or FOR SHARE");
        }
        if query.fetch.as_ref().is_some_and(|f| f.with_ties || f.percent) {
            return refuse("FETCH with TIES or PERCENT");
        }
        if let Some(LimitClause::LimitOffset { limit_by, .. }) = &query.limit_clause
            && !limit_by.is_empty()
        {
            return refuse("LIMIT BY");
        }
        if query.settings.is_some()
            || query.for_clause.is_some()
            || !query.pipe_operators.is_empty()
        {
            return refuse("this clause at the end of a query");
        }
        ControlFlow::Continue(())
    }

    fn pre_visit_select(&mut self, select: &Select) -> ControlFlow<Self::Break> {
        let relations: usize = select.from.iter().map(|t| 1 + t.joins.len()).sum();
        if relations > FROM_MAX {
            return too_many("relations in FROM");
        }
        if select.into.is_some() {
            return refuse("SELECT INTO");
        }
        let foreign = !select.lateral_views.is_empty()
            || select.prewhere.is_some()
            || !select.connect_by.is_empty()
            || !select.cluster_by.is_empty()
            || !select.distribute_by.is_empty()
            || !select.sort_by.is_empty()
            || select.top.is_some();
        if foreign { refuse("this clause of SELECT") } else { ControlFlow::Continue(()) }
    }

    fn pre_visit_table_factor(&mut self, factor: &TableFactor) -> ControlFlow<Self::Break> {
        match factor {
            TableFactor::Table { sample: Some(_), .. }
            | TableFactor::Derived { sample: Some(_), .. } => refuse("TABLESAMPLE"),
            TableFactor::Table { with_ordinality: true, .. } => refuse("WITH ORDINALITY"),
            TableFactor::TableFunction { .. } => refuse("TABLE (..) in FROM"),
            TableFactor::Function { with_ordinality: true, .. }
            | TableFactor::UNNEST { with_ordinality: true, .. } => refuse("WITH ORDINALITY"),
            _ => ControlFlow::Continue(()),
        }
    }

    fn pre_visit_expr(&mut self, expr: &Expr) -> ControlFlow<Self::Break> {
        match expr {
            Expr::Collate { .. } => refuse("COLLATE"),
            _ => ControlFlow::Continue(()),
        }
    }
}
