//! `WITH` whose queries change rows.
//!
//! Each change is a part of its own, and so is a query whose rows several parts read or that locks rows:
//! it is computed once. What a part gives is a relation of the schema [`RESULTS_SCHEMA`] for the parts
//! after it, which know it by its name in a `WITH` of their own. So names mean what they mean anywhere.

use std::collections::BTreeSet;
use std::ops::ControlFlow;
use std::sync::Arc;

use datafusion_sql::sqlparser::ast::{self, SetExpr};
use types::{SqlError, SqlResult, SqlState};

use crate::parse::object_name::identifier;
use crate::parse::statement::{Statement, WithWrites};
use crate::parse::text::{parse, query_or_change};
use crate::quote::quote_ident;
use crate::walk::visit_relations;

/// The schema of what parts of the statement that runs have given, by their numbers from 0.
pub const RESULTS_SCHEMA: &str = "pg_with";

fn changes(query: &ast::Query) -> bool {
    matches!(*query.body, SetExpr::Insert(_) | SetExpr::Update(_) | SetExpr::Delete(_))
}

/// The statement, if queries of its `WITH` change rows.
///
/// # Errors
/// Those of the parts; 42712 for a name that is given twice, 0A000 for changes that stand deeper.
pub(super) fn of(ast: &ast::Query) -> SqlResult<Option<Statement>> {
    let Some(with) = &ast.with else { return Ok(None) };
    let locks = |cte: &ast::Cte| changes(ast) && !cte.query.locks.is_empty();
    if !with.cte_tables.iter().any(|cte| changes(&cte.query) || locks(cte)) {
        return Ok(None);
    }
    different_names(with)?;
    let mut known = ast::With { cte_tables: vec![], ..with.clone() };
    let mut parts = vec![];
    for (at, cte) in with.cte_tables.iter().enumerate() {
        let is_part = changes(&cte.query) || !cte.query.locks.is_empty() || {
            let later = with.cte_tables[at + 1..].iter().map(|later| &*later.query);
            let name = identifier(&cte.alias.name);
            let own_body = ast::Query { with: None, ..ast.clone() };
            later.chain([&own_body]).filter(|query| names(query, &name)).count() > 1
        };
        if !is_part {
            known.cte_tables.push(cte.clone());
            continue;
        }
        let part = query_or_change(part_of(cte, &known)?)?;
        if gives_rows(&part) {
            let query = given(parts.len())?;
            known.cte_tables.push(ast::Cte { query, ..cte.clone() });
        }
        parts.push(part);
    }
    let body = ast::Query { with: joined(&known, None)?, ..ast.clone() };
    let body = Box::new(query_or_change(body)?);
    Ok(Some(Statement::WithWrites(WithWrites { parts, body })))
}

/// The rows that the part of this number gives.
pub(super) fn given(part: usize) -> SqlResult<Box<ast::Query>> {
    read(&format!("select * from {RESULTS_SCHEMA}.\"{part}\""))
}

fn different_names(with: &ast::With) -> SqlResult<()> {
    let mut names = BTreeSet::new();
    let mut given = with.cte_tables.iter().map(|cte| identifier(&cte.alias.name));
    match given.find(|name| !names.insert(name.clone())) {
        None => Ok(()),
        Some(name) => {
            let message = format!("WITH query name \"{name}\" specified more than once");
            Err(SqlError::new(SqlState("42712"), message))
        }
    }
}

/// Whether a query names the relation anywhere.
fn names(query: &ast::Query, name: &str) -> bool {
    let found = visit_relations(query, |relation| match relation.0.as_slice() {
        [part] if part.as_ident().is_some_and(|ident| identifier(ident) == name) => {
            ControlFlow::Break(())
        }
        _ => ControlFlow::Continue(()),
    });
    found.is_break()
}

/// A query of the `WITH` as a statement, with those before it at hand.
fn part_of(cte: &ast::Cte, known: &ast::With) -> SqlResult<ast::Query> {
    let mut part = (*cte.query).clone();
    if changes(&part) || !part.locks.is_empty() {
        part.with = joined(known, part.with.take())?;
        return Ok(part);
    }
    // It may be recursive.
    let mut with = known.clone();
    with.cte_tables.push(cte.clone());
    let all = read(&format!("select * from {}", quote_ident(&identifier(&cte.alias.name))))?;
    Ok(ast::Query { with: joined(&with, None)?, ..*all })
}

fn read(text: &str) -> SqlResult<Box<ast::Query>> {
    match parse(text)?.pop() {
        Some(Statement::Query(query)) => Ok(Arc::unwrap_or_clone(query.ast).into()),
        _ => Err(SqlError::internal("a query was read as something else")),
    }
}

fn gives_rows(part: &Statement) -> bool {
    match part {
        Statement::Insert(insert) => insert.returns_rows(),
        Statement::Update(update) => update.returns_rows(),
        Statement::Delete(delete) => delete.returns_rows(),
        _ => true,
    }
}

/// The queries of a `WITH`, and those of one below it.
fn joined(outer: &ast::With, own: Option<ast::With>) -> SqlResult<Option<ast::With>> {
    let mut with = outer.clone();
    if let Some(own) = own {
        if own.cte_tables.iter().any(|cte| changes(&cte.query)) {
            let what = "a WITH clause that changes rows below the top level";
            return Err(SqlError::unsupported(what));
        }
        let hidden: BTreeSet<String> =
            own.cte_tables.iter().map(|cte| identifier(&cte.alias.name)).collect();
        with.cte_tables.retain(|cte| !hidden.contains(&identifier(&cte.alias.name)));
        with.recursive |= own.recursive;
        with.cte_tables.extend(own.cte_tables);
    }
    Ok((!with.cte_tables.is_empty()).then_some(with))
}
