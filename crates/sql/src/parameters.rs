//! The types of parameters that a client leaves to the server, from the places where they stand.

use std::ops::ControlFlow;

use datafusion_sql::planner::SqlToRel;
use datafusion_sql::sqlparser::ast;
use types::{LogicalType, SqlResult};

use crate::bind::Names;
use crate::catalog::Catalog;
use crate::dml::{TargetCatalog, delete_query, update_query};
use crate::error::from_library;
use crate::library::LIBRARY;
use crate::parse::{Insert, InsertSource, Statement, Template};

/// The type of each parameter of a statement; `None` where its place does not tell.
///
/// # Errors
/// What parsing and binding say.
pub fn parameter_types(
    template: &Template,
    catalog: &dyn Catalog,
) -> SqlResult<Vec<Option<LogicalType>>> {
    let mut types = vec![None; template.parameter_count()];
    match template.unbound()? {
        Statement::Query(query) => {
            crate::logical::guarded(|| of_query(query.ast.as_ref().clone(), catalog, &mut types))?
        }
        Statement::Insert(insert) => {
            if let InsertSource::Query(query) = &insert.source {
                let ast = query.ast.as_ref().clone();
                crate::logical::guarded(|| of_query(ast, catalog, &mut types))?;
            }
            of_insert(&insert, catalog, &mut types);
        }
        Statement::Update(update) => {
            let target = TargetCatalog::new(catalog, &update.table)?;
            let (query, ordinals) = update_query(&update, &target)?;
            crate::logical::guarded(|| of_query(*query.ast, &target, &mut types))?;
            let Some(table) = catalog.table(&update.table) else { return Ok(types) };
            for (assignment, ordinal) in update.assignments.iter().zip(ordinals) {
                of_value(&assignment.value, table.schema.columns[ordinal].ty, &mut types);
            }
        }
        Statement::Delete(delete) => {
            let target = TargetCatalog::new(catalog, &delete.table)?;
            let query = delete_query(&delete, &target)?;
            crate::logical::guarded(|| of_query(*query.ast, &target, &mut types))?;
        }
        _ => {}
    }
    Ok(types)
}

fn index(name: &str) -> Option<usize> {
    name.strip_prefix('$')?.parse::<usize>().ok()?.checked_sub(1)
}

fn of_query(
    query: ast::Query,
    catalog: &dyn Catalog,
    types: &mut [Option<LogicalType>],
) -> SqlResult<()> {
    let mut query = query;
    let arrays = compared_elements(&mut query);
    let mut cast = cast_parameters(&query);
    cast.extend(limits(&query));
    crate::names::set_outputs_apart(&mut query);
    crate::system::rewrite(&mut query);
    crate::parse::rewrite(&mut query, catalog)?;
    crate::calls::prepare(&mut query, catalog)?;
    let names = Names::new(catalog);
    let planner = SqlToRel::new_with_options(&names, LIBRARY.parser);
    let statement = ast::Statement::Query(Box::new(query));
    let plan = planner.sql_statement_to_plan(statement).map_err(from_library)?;
    for (name, ty) in plan.get_parameter_types().map_err(from_library)? {
        let place = index(&name).and_then(|index| types.get_mut(index));
        if let (Some(place), Some(ty)) = (place, ty) {
            let ty = LogicalType::of_arrow(&ty);
            *place = if arrays.contains(&name) { ty.map(LogicalType::array_of) } else { ty };
        }
    }
    for (name, ty) in cast {
        if let Some(place) = index(&name).and_then(|index| types.get_mut(index)) {
            *place = Some(ty);
        }
    }
    Ok(())
}

/// Parameters that a cast stands around: it names their types.
fn cast_parameters(query: &ast::Query) -> Vec<(String, LogicalType)> {
    let mut found = vec![];
    // The visit itself never stops.
    let _ = ast::visit_expressions(query, |expr| {
        if let ast::Expr::Cast { expr, data_type, .. } = expr
            && let ast::Expr::Value(value) = expr.as_ref()
            && let ast::Value::Placeholder(name) = &value.value
            && let Ok(ty) = crate::parse::column_type(data_type)
        {
            found.push((name.clone(), ty));
        }
        ControlFlow::<()>::Continue(())
    });
    found
}

/// Parameters that say how many rows are wanted: `LIMIT $1 OFFSET $2`.
fn limits(query: &ast::Query) -> Vec<(String, LogicalType)> {
    struct Limits(Vec<(String, LogicalType)>);
    impl ast::Visitor for Limits {
        type Break = ();
        fn pre_visit_query(&mut self, query: &ast::Query) -> ControlFlow<()> {
            let (limit, offset) = match &query.limit_clause {
                Some(ast::LimitClause::LimitOffset { limit, offset, .. }) => {
                    (limit.as_ref(), offset.as_ref().map(|offset| &offset.value))
                }
                _ => (None, None),
            };
            let fetch = query.fetch.as_ref().and_then(|fetch| fetch.quantity.as_ref());
            for expr in [limit, offset, fetch].into_iter().flatten() {
                if let ast::Expr::Value(value) = expr
                    && let ast::Value::Placeholder(name) = &value.value
                {
                    self.0.push((name.clone(), LogicalType::Int64));
                }
            }
            ControlFlow::Continue(())
        }
    }
    let mut found = Limits(vec![]);
    // The visit itself never stops.
    let _ = ast::Visit::visit(query, &mut found);
    found.0
}

/// Makes `x = ANY ($1)` a comparison with one element, which tells its type; the names of such
/// parameters.
fn compared_elements(query: &mut ast::Query) -> Vec<String> {
    let mut arrays = vec![];
    // The visit itself never stops.
    let _ = ast::visit_expressions_mut(query, |expr| {
        let (ast::Expr::AnyOp { left, compare_op: op, right, .. }
        | ast::Expr::AllOp { left, compare_op: op, right }) = expr
        else {
            return ControlFlow::<()>::Continue(());
        };
        if let ast::Expr::Value(value) = right.as_ref()
            && let ast::Value::Placeholder(name) = &value.value
        {
            arrays.push(name.clone());
            let (left, right) = (left.clone(), right.clone());
            *expr = ast::Expr::BinaryOp { left, op: op.clone(), right };
        }
        ControlFlow::Continue(())
    });
    arrays
}

/// A parameter that is a whole value has the type of its column.
fn of_insert(insert: &Insert, catalog: &dyn Catalog, types: &mut [Option<LogicalType>]) {
    let Some(table) = catalog.table(&insert.table) else { return };
    let column = |position: usize| match insert.columns.get(position) {
        Some(name) => table.schema.ordinal(name),
        None => Some(position).filter(|_| insert.columns.is_empty()),
    };
    let InsertSource::Values(rows) = &insert.source else { return };
    for (position, value) in rows.iter().flat_map(|row| row.iter().enumerate()) {
        let column = column(position).and_then(|ordinal| table.schema.columns.get(ordinal));
        if let Some(column) = column {
            of_value(value, column.ty, types);
        }
    }
}

/// A parameter that is a whole value has the type of its place.
fn of_value(value: &ast::Expr, ty: LogicalType, types: &mut [Option<LogicalType>]) {
    let ast::Expr::Value(value) = value else { return };
    let ast::Value::Placeholder(name) = &value.value else { return };
    if let Some(place) = index(name).and_then(|index| types.get_mut(index)) {
        *place = Some(ty);
    }
}
