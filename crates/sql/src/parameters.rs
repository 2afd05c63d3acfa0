//! The types of parameters that a client leaves to the server: from the operators, the functions and
//! the other places where they stand, by PostgreSQL's rules.
//!
//! A statement is bound with its parameters in place. Whatever stands beside an open one gives it a
//! type, inner expressions first; the statement is bound anew with what was found until nothing new
//! follows. What nothing is said of is text, as an output of a query is.

use std::ops::ControlFlow;

use datafusion_sql::sqlparser::ast::helpers::attached_token::AttachedToken;
use datafusion_sql::sqlparser::ast::{self, Cte, SelectItem, Visitor, With};
use plan::catalog::TableDef;
use types::{SqlError, SqlResult, SqlState, oid};

use crate::analyze::inference::{Inference, relations};
use crate::catalog::Catalog;
use crate::dml::target::{TargetCatalog, delete_query, is_default, update_query};
use crate::parse::dml::{Assignment, Insert, InsertSource, row_query};
use crate::parse::expressions;
use crate::parse::expressions::{index, parsed_query};
use crate::parse::object_name::identifier;
use crate::parse::statement::Statement;
use crate::parse::statement::cursor::CursorStatement;
use crate::parse::statement::query::Query;
use crate::parse::template::Template;
use crate::quote::quote_ident;
use crate::rewrite::steps;
use crate::walk::Walk;

pub(crate) mod asked;
pub(crate) mod check;

pub use check::check;

/// How often a statement is bound at most: each time but the last has found a type.
const ROUNDS_MAX: usize = 8;

/// The types of the parameters of a statement, of which some are `declared`; 0 is open.
///
/// # Errors
/// What parsing says, 42725, 42883 and 42804 for operators and functions that do not follow from their
/// operands, 42P08 for a parameter that is the value of columns of several types, 42P18 for one whose type
/// nothing tells.
pub fn parameter_types(
    template: &Template,
    declared: &[u32],
    catalog: &dyn Catalog,
) -> SqlResult<Vec<u32>> {
    let inference = Inference::new(declared);
    if !declared.contains(&0) {
        return Ok(declared.to_vec());
    }
    let found = of_statement(template.unbound()?, catalog, &inference);
    if let Some(refused) = inference.refused() {
        return Err(refused);
    }
    // Whatever else binding says is said of the statement with its types, where it may be said at all.
    let types = inference.known();
    for index in (0..types.len()).filter(|index| types[*index] == 0) {
        let is_told = found.is_err() || !inference.is_indifferent(index);
        if !is_told || !template.has_parameter(index + 1) {
            let message = format!("could not determine data type of parameter ${}", index + 1);
            return Err(SqlError::new(SqlState::INDETERMINATE_DATATYPE, message));
        }
    }
    Ok(types)
}

fn of_statement(
    statement: Statement,
    catalog: &dyn Catalog,
    inference: &Inference,
) -> SqlResult<()> {
    match statement {
        Statement::Query(query) => of_query(&query, catalog, inference, &[]),
        Statement::Explain(explain) => of_query(&explain.query, catalog, inference, &[]),
        Statement::WithWrites(with) => {
            let mut parts = with.parts.into_iter().chain([*with.body]);
            parts.try_for_each(|statement| of_statement(statement, catalog, inference))
        }
        Statement::ExplainWrite(explain) => of_statement(*explain.statement, catalog, inference),
        Statement::Cursor(CursorStatement::Declare(declare)) => {
            of_query(&declare.query, catalog, inference, &[])
        }
        Statement::Insert(insert) => of_insert(&insert, catalog, inference),
        Statement::Update(update) => {
            let target = TargetCatalog::new(catalog, &update.table)?;
            // The values are outputs of the query, which would be text where nothing else is said.
            if let Some(table) = catalog.table(&update.table) {
                of_assignments(&update.assignments, &table, inference);
            }
            let (query, _) = update_query(&update, &target)?;
            let of_rows = of_query(&query, &target, inference, &[]);
            let alias = update.alias.as_deref().unwrap_or(&update.table);
            of_rows.and(of_items(&update.returning, &update.table, alias, catalog, inference))
        }
        Statement::Delete(delete) => {
            let target = TargetCatalog::new(catalog, &delete.table)?;
            of_query(&delete_query(&delete, &target)?, &target, inference, &[])?;
            let alias = delete.alias.as_deref().unwrap_or(&delete.table);
            of_items(&delete.returning, &delete.table, alias, catalog, inference)
        }
        _ => Ok(()),
    }
}

/// Finds types within a query. Outputs that are open parameters go to columns of the types `targets`,
/// or are text.
fn of_query(
    query: &Query,
    catalog: &dyn Catalog,
    inference: &Inference,
    targets: &[u32],
) -> SqlResult<()> {
    of_named(&query.ast, catalog, inference, targets)?;
    of_unnamed(&query.ast, &[], catalog, inference)?;
    of_inner(&query.ast, catalog, inference)
}

/// Finds types within a query and those queries of its `WITH` that it names.
fn of_named(
    query: &ast::Query,
    catalog: &dyn Catalog,
    inference: &Inference,
    targets: &[u32],
) -> SqlResult<()> {
    for _ in 0..ROUNDS_MAX {
        let (before, mut ast) = (inference.known(), query.clone());
        steps::rewrite(&mut ast, catalog)?;
        asked::say_types(&mut ast);
        let selects = asked::values_as_selects(&ast);
        let mut bound = crate::analyze::query::inferred(ast, catalog, inference);
        if let (Err(_), Some(selects)) = (&bound, selects) {
            bound = crate::analyze::query::inferred(selects, catalog, inference);
        }
        if let Some(refused) = inference.refused() {
            return Err(refused);
        }
        if let Ok(plan) = &bound {
            relations::settle_outputs(inference, plan, targets);
        }
        let known = inference.known();
        if known == before || !known.contains(&0) {
            return bound.map(drop);
        }
    }
    Ok(())
}

/// Finds types in the `WITH` of a query, and in those of the queries of this `WITH`.
fn of_unnamed(
    query: &ast::Query,
    around: &[Cte],
    catalog: &dyn Catalog,
    inference: &Inference,
) -> SqlResult<()> {
    let Some(with) = query.with.as_ref().filter(|_| is_open(inference)) else {
        return Ok(());
    };
    for (last, cte) in with.cte_tables.iter().enumerate() {
        of_named(&naming(with, around, last)?, catalog, inference, &[])?;
        let seen = last + usize::from(with.recursive);
        let before = [around, &with.cte_tables[..seen]].concat();
        of_unnamed(&cte.query, &before, catalog, inference)?;
    }
    Ok(())
}

/// Finds types in the `WITH` of queries inside, and in windows, which nothing may name. One that names columns of
/// the query around it cannot be bound alone, and tells what it can.
fn of_inner(query: &ast::Query, catalog: &dyn Catalog, inference: &Inference) -> SqlResult<()> {
    let mut inner = Inner::default();
    if !is_open(inference) || query.walk(&mut inner).is_break() {
        return Ok(());
    }
    if let Some(named) = asked::all_named(query) {
        drop(of_named(&named, catalog, inference, &[]));
    }
    for query in inner.windowed {
        drop(of_named(&query, catalog, inference, &[]));
    }
    for (around, with) in inner.found {
        for last in 0..with.cte_tables.len() {
            if is_open(inference) {
                drop(of_named(&naming(&with, &around, last)?, catalog, inference, &[]));
            }
        }
    }
    Ok(())
}

fn is_open(inference: &Inference) -> bool {
    inference.known().contains(&0)
}

/// A query that names one of a `WITH`, beside those around it.
fn naming(with: &With, around: &[Cte], last: usize) -> SqlResult<ast::Query> {
    let name = quote_ident(&identifier(&with.cte_tables[last].alias.name));
    let mut naming = parsed_query(&format!("select * from {name}"))?;
    let own = &with.cte_tables[..=last];
    // One of the same name hides those around it.
    let is_named = |all: &[Cte], cte: &Cte| all.iter().any(|c| c.alias.name == cte.alias.name);
    let is_hidden =
        |at: usize| is_named(own, &around[at]) || is_named(&around[at + 1..], &around[at]);
    let seen = (0..around.len()).filter(|at| !is_hidden(*at)).map(|at| around[at].clone());
    let cte_tables = seen.chain(own.iter().cloned()).collect();
    naming.with = Some(With { cte_tables, ..with.clone() });
    Ok(naming)
}

/// A parameter that is a whole value has the type of its column.
fn of_insert(insert: &Insert, catalog: &dyn Catalog, inference: &Inference) -> SqlResult<()> {
    let Some(table) = catalog.table(&insert.table) else { return Ok(()) };
    let column = |position: usize| match insert.columns.get(position) {
        Some(name) => table.schema.ordinal(name),
        None => Some(position).filter(|_| insert.columns.is_empty()),
    };
    let ty = |position| {
        let found = column(position).and_then(|ordinal| table.schema.columns.get(ordinal));
        found.map_or(oid::TEXT, |column| oid::of_logical(column.ty).oid)
    };
    match &insert.source {
        InsertSource::Values(rows) => {
            for row in rows {
                let places = row.iter().enumerate().map(|(i, value)| (value, ty(i)));
                of_values(places, inference);
                let is_whole = |value: &&ast::Expr| matches!(value, ast::Expr::Value(_));
                let values = row.iter().filter(|value| !is_default(value) && !is_whole(value));
                let values: Vec<ast::Expr> = values.cloned().collect();
                if !values.is_empty() {
                    of_query(&row_query(values)?, catalog, inference, &[])?;
                }
            }
        }
        InsertSource::Query(query) => {
            let targets: Vec<u32> = (0..table.schema.columns.len()).map(ty).collect();
            of_query(query, catalog, inference, &targets)?;
        }
        InsertSource::Defaults => {}
    }
    let alias = insert.alias.as_deref().unwrap_or(&insert.table);
    if let Some((assignments, condition)) = insert.conflict.as_ref().and_then(|c| c.update.as_ref())
    {
        of_assignments(assignments, &table, inference);
        let values = assignments.iter().map(|a| a.value.clone()).filter(|v| !is_default(v));
        let one = ast::Expr::value(ast::Value::Null);
        let values = values.chain(std::iter::once(one));
        let items: Vec<SelectItem> = values.map(SelectItem::UnnamedExpr).collect();
        let query = over_rows(items, &insert.table, alias, true, condition.clone())?;
        of_query(&query, catalog, inference, &[])?;
    }
    of_items(&insert.returning, &insert.table, alias, catalog, inference)
}

/// Finds types in a `RETURNING` list.
fn of_items(
    items: &[SelectItem],
    table: &str,
    alias: &str,
    catalog: &dyn Catalog,
    inference: &Inference,
) -> SqlResult<()> {
    if items.is_empty() {
        return Ok(());
    }
    let query = over_rows(items.to_vec(), table, alias, false, None)?;
    of_query(&query, catalog, inference, &[])
}

/// A query with these outputs over the rows of a table, beside those that were to be inserted.
fn over_rows(
    items: Vec<SelectItem>,
    table: &str,
    alias: &str,
    is_conflict: bool,
    condition: Option<ast::Expr>,
) -> SqlResult<Query> {
    let (table, alias) = (quote_ident(table), quote_ident(alias));
    let excluded = if is_conflict { format!(", {table} as excluded") } else { String::new() };
    let text = format!("select 1 from {table} as {alias}{excluded}");
    let mut ast = expressions::parsed_query(&text)?;
    if let ast::SetExpr::Select(select) = ast.body.as_mut() {
        select.projection = items;
        select.selection = condition;
    }
    Ok(Query::new(Box::new(ast)))
}

fn of_assignments(assignments: &[Assignment], table: &TableDef, inference: &Inference) {
    let places = assignments.iter().filter_map(|assignment| {
        let ordinal = table.schema.ordinal(&assignment.column)?;
        let ty = oid::of_logical(table.schema.columns[ordinal].ty).oid;
        Some((&assignment.value, ty))
    });
    of_values(places, inference);
}

/// Parameters that are whole values have the types of their places.
fn of_values<'a>(places: impl Iterator<Item = (&'a ast::Expr, u32)>, inference: &Inference) {
    let places = places.filter_map(|(value, ty)| Some((whole(value)?, ty)));
    inference.settle_together(places.filter(|(index, _)| inference.is_open(*index)).collect());
}

/// The number of the parameter that a value is.
fn whole(value: &ast::Expr) -> Option<usize> {
    match value {
        ast::Expr::Nested(inner) => whole(inner),
        ast::Expr::Value(value) => match &value.value {
            ast::Value::Placeholder(name) => index(name),
            _ => None,
        },
        _ => None,
    }
}

/// A query that names the windows of another, beside the queries of `WITH` around it.
fn over_windows(query: &ast::Query, around: &[Vec<Cte>]) -> Option<ast::Query> {
    let ast::SetExpr::Select(select) = query.body.as_ref() else { return None };
    let names = select.named_window.iter().map(|window| quote_ident(&identifier(&window.0)));
    let calls: Vec<String> = names.map(|name| format!("count(*) over {name}")).collect();
    if calls.is_empty() {
        return None;
    }
    let mut naming = parsed_query(&format!("select {}", calls.join(", "))).ok()?;
    if let ast::SetExpr::Select(over) = naming.body.as_mut() {
        let projection = std::mem::take(&mut over.projection);
        **over = ast::Select { projection, distinct: None, ..select.as_ref().clone() };
    }
    let none = With { with_token: AttachedToken::empty(), recursive: false, cte_tables: vec![] };
    let mut with = query.with.clone().unwrap_or(none);
    with.cte_tables.splice(0..0, around.concat());
    naming.with = Some(with).filter(|with| !with.cte_tables.is_empty());
    Some(naming)
}

/// The `WITH` of queries inside of another, each with the queries of those around it, and queries of the
/// windows of all.
#[derive(Default)]
struct Inner {
    around: Vec<Vec<Cte>>,
    found: Vec<(Vec<Cte>, With)>,
    windowed: Vec<ast::Query>,
}

impl Visitor for Inner {
    type Break = ();

    fn pre_visit_query(&mut self, query: &ast::Query) -> ControlFlow<()> {
        self.windowed.extend(over_windows(query, &self.around));
        let with = query.with.as_ref();
        if let Some(with) = with.filter(|_| !self.around.is_empty()) {
            self.found.push((self.around.concat(), with.clone()));
        }
        self.around.push(with.map(|with| with.cte_tables.clone()).unwrap_or_default());
        ControlFlow::Continue(())
    }

    fn post_visit_query(&mut self, _query: &ast::Query) -> ControlFlow<()> {
        self.around.pop();
        ControlFlow::Continue(())
    }
}
