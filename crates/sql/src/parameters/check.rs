//! Whether a statement can be planned at all: names, functions and types are looked at, values are not.

use datafusion_sql::sqlparser::ast;
use types::SqlResult;

use super::is_default;
use crate::catalog::Catalog;
use crate::dml::conflict::Conflict;
use crate::dml::expressions::returning;
use crate::dml::insert::check_targets;
use crate::dml::target::{TargetCatalog, delete_query, update_query};
use crate::parse::dml::{Insert, InsertSource, row_query};
use crate::parse::statement::Statement;
use crate::parse::statement::cursor::CursorStatement;
use crate::parse::statement::query::Query;
use crate::rewrite::steps;

/// Binds what a statement reads and writes.
///
/// # Errors
/// 42P01, 42703, 42883 and whatever else binding says.
pub fn check(statement: &Statement, catalog: &dyn Catalog) -> SqlResult<()> {
    match statement {
        Statement::Query(query) => of_query(query, catalog),
        Statement::Explain(explain) => of_query(&explain.query, catalog),
        Statement::WithWrites(with) => {
            let mut parts = with.parts.iter().chain([&*with.body]);
            parts.try_for_each(|statement| check(statement, catalog))
        }
        Statement::ExplainWrite(explain) => check(&explain.statement, catalog),
        Statement::Cursor(CursorStatement::Declare(declare)) => of_query(&declare.query, catalog),
        Statement::Insert(insert) => of_insert(insert, catalog),
        Statement::Update(update) => {
            let target = TargetCatalog::new(catalog, &update.table)?;
            of_query(&update_query(update, &target)?.0, &target)?;
            returning(update, catalog).map(drop)
        }
        Statement::Delete(delete) => {
            let target = TargetCatalog::new(catalog, &delete.table)?;
            of_query(&delete_query(delete, &target)?, &target)?;
            returning(delete, catalog).map(drop)
        }
        _ => Ok(()),
    }
}

fn of_query(query: &Query, catalog: &dyn Catalog) -> SqlResult<()> {
    let mut ast = query.ast.as_ref().clone();
    steps::rewrite(&mut ast, catalog)?;
    crate::analyze::query::check(ast, catalog)
}

fn of_insert(insert: &Insert, catalog: &dyn Catalog) -> SqlResult<()> {
    TargetCatalog::new(catalog, &insert.table)?;
    check_targets(insert, catalog)?;
    match &insert.source {
        InsertSource::Values(rows) => {
            for row in rows {
                let values = row.iter().filter(|value| !is_default(value) && !is_plain(value));
                let values: Vec<ast::Expr> = values.cloned().collect();
                if !values.is_empty() {
                    of_query(&row_query(values)?, catalog)?;
                }
            }
        }
        InsertSource::Query(query) => of_query(query, catalog)?,
        InsertSource::Defaults => {}
    }
    Conflict::of(insert, catalog)?;
    returning(insert, catalog).map(drop)
}

/// Whether a value names nothing: a literal, or one with a type. Of such rows there may be thousands.
fn is_plain(value: &ast::Expr) -> bool {
    match value {
        ast::Expr::Value(_) => true,
        ast::Expr::Nested(inner) | ast::Expr::Cast { expr: inner, .. } => is_plain(inner),
        _ => false,
    }
}
