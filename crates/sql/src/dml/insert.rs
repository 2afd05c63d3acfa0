//! `INSERT`: the rows as a batch of the table's types.

use std::ops::ControlFlow;
use std::sync::Arc;

use arrow_array::{ArrayRef, RecordBatch, RecordBatchOptions};
use datafusion_common::DFSchema;
use datafusion_sql::sqlparser::ast::{self, Spanned, UnaryOperator, Value};
use plan::catalog::TableDef;
use plan::constraints::ColumnDefault;
use plan::limits;
use types::parse::ColumnParser;
use types::text::format_value;
use types::{Column, LogicalType, Schema, SqlError, SqlResult, SqlState};

use crate::analyze::expression::bind_scalar;
use crate::catalog::Catalog;
use crate::catalog::missing::table_not_found;
use crate::dml::assign;
use crate::dml::assign::{literal_as, or_null, refuse_nulls};
use crate::dml::defaults::Defaults;
use crate::dml::target::is_default;
use crate::error::from_arrow;
use crate::expr::scalar;
use crate::parse::dml;
use crate::parse::dml::{Insert, InsertSource};
use crate::parse::statement::overriding::Overriding;
use crate::parse::statement::query::Query;
use crate::walk::Walk;

const DIFFERENT_LENGTHS: &str = "VALUES lists must all be the same length";

/// The rows of an `INSERT`.
pub enum InsertRows {
    /// All columns of the table in order.
    Values(RecordBatch),
    /// Queries whose columns go to the columns at these ordinals.
    Queries(Vec<Query>, Vec<usize>),
}

/// Evaluates the rows of an `INSERT`: missing columns take their defaults.
///
/// Errors: 42P01 and 42703 for unknown names, 42601 for rows of the wrong length, 23502 for null where
/// none is allowed, 22003, 22001, 22P02 and 42804 for values that do not fit their column, 428C9 for
/// columns that take no values.
pub fn insert_rows(
    insert: &Insert,
    catalog: &dyn Catalog,
    defaults: &mut Defaults,
) -> SqlResult<InsertRows> {
    let Some(table) = catalog.table(&insert.table) else {
        return Err(table_not_found(catalog, &insert.table));
    };
    let targets = targets(insert, &table)?;
    match &insert.source {
        InsertSource::Defaults => rows(&table, &targets, &[vec![]], insert, catalog, defaults),
        InsertSource::Values(values) if values.windows(2).any(|w| w[0].len() != w[1].len()) => {
            Err(SqlError::new(SqlState::SYNTAX_ERROR, DIFFERENT_LENGTHS))
        }
        InsertSource::Values(values) if !values.iter().flatten().any(has_query) => {
            values.iter().try_for_each(|row| fits(row, &targets, insert))?;
            rows(&table, &targets, values, insert, catalog, defaults)
        }
        InsertSource::Values(values) => {
            values.iter().try_for_each(|row| fits(row, &targets, insert))?;
            let queries = values
                .iter()
                .map(|row| typed_query(dml::row_query(row.clone())?, &table, &targets));
            Ok(InsertRows::Queries(queries.collect::<SqlResult<_>>()?, targets))
        }
        InsertSource::Query(query) => {
            let query = typed_query(query.clone(), &table, &targets)?;
            Ok(InsertRows::Queries(vec![query], targets))
        }
    }
}

/// The query that gives the rows of an `INSERT`; `None` where they are values.
///
/// # Errors
/// As [`insert_rows`].
pub fn query_of(insert: &Insert, catalog: &dyn Catalog) -> SqlResult<Option<Query>> {
    if !matches!(insert.source, InsertSource::Query(_)) {
        return Ok(None);
    }
    Ok(insert_query(insert, catalog)?.map(|(query, _)| query))
}

/// The same with the ordinals of the columns that its columns go to; one row of values is a query,
/// too, unless defaults are among them.
pub(crate) fn insert_query(
    insert: &Insert,
    catalog: &dyn Catalog,
) -> SqlResult<Option<(Query, Vec<usize>)>> {
    let Some(table) = catalog.table(&insert.table) else {
        return Err(table_not_found(catalog, &insert.table));
    };
    let targets = targets(insert, &table)?;
    match &insert.source {
        InsertSource::Query(query) => {
            Ok(Some((typed_query(query.clone(), &table, &targets)?, targets)))
        }
        InsertSource::Values(rows) => match rows.as_slice() {
            [row] if !row.iter().any(is_default) => {
                fits(row, &targets, insert)?;
                let query = dml::row_query(row.clone())?;
                Ok(Some((typed_query(query, &table, &targets)?, targets)))
            }
            _ => Ok(None),
        },
        InsertSource::Defaults => Ok(None),
    }
}

fn rows(
    table: &Arc<TableDef>,
    targets: &[usize],
    values: &[Vec<ast::Expr>],
    insert: &Insert,
    catalog: &dyn Catalog,
    defaults: &mut Defaults,
) -> SqlResult<InsertRows> {
    let schema = incoming_schema(table);
    let mut columns: Vec<ColumnParser> =
        schema.columns.iter().map(|column| ColumnParser::new(&or_null(column))).collect();
    for row in values {
        for (ordinal, column) in table.schema.columns.iter().enumerate() {
            let expr = targets.iter().position(|t| *t == ordinal).and_then(|i| row.get(i));
            let text = match expr {
                Some(expr)
                    if !is_default(expr) && takes_values(table, ordinal, insert.overriding)? =>
                {
                    cell(expr, column, catalog)?
                }
                _ => defaults.next(ordinal)?,
            };
            columns[ordinal].push(text.as_deref())?;
        }
    }
    let arrays: Vec<ArrayRef> = columns.iter_mut().map(ColumnParser::finish).collect();
    refuse_nulls(table, &schema, &arrays)?;
    let options = RecordBatchOptions::new().with_row_count(Some(values.len()));
    let batch = RecordBatch::try_new_with_options(schema.arrow(), arrays, &options);
    Ok(InsertRows::Values(batch.map_err(from_arrow)?))
}

/// The table's columns while those that are generated are still null.
pub fn incoming_schema(table: &TableDef) -> Schema {
    let mut schema = table.schema.clone();
    for (ordinal, column) in schema.columns.iter_mut().enumerate() {
        let default = table.constraints.default_of(ordinal);
        column.nullable |= matches!(default, Some(ColumnDefault::Generated(_)));
    }
    schema
}

/// All columns of the table, from the result of an `INSERT`'s query.
///
/// Errors: 42601 for too many columns, and those of values as in [`insert_rows`].
pub fn rows_of_query(
    table: &Arc<TableDef>,
    targets: &[usize],
    result: &RecordBatch,
    insert: &Insert,
    defaults: &mut Defaults,
) -> SqlResult<RecordBatch> {
    let (count, named) = (result.num_columns(), !insert.columns.is_empty());
    if count > targets.len() || (named && count < targets.len()) {
        return Err(wrong_length(count > targets.len()));
    }
    let schema = incoming_schema(table);
    let mut columns = Vec::with_capacity(schema.columns.len());
    for (ordinal, column) in schema.columns.iter().enumerate() {
        let given = targets[..count].iter().position(|t| *t == ordinal);
        if let Some(given) = given
            && takes_values(table, ordinal, insert.overriding)?
        {
            columns.push(assign(result.column(given), &or_null(column))?);
            continue;
        }
        let mut parser = ColumnParser::new(&or_null(column));
        for _ in 0..result.num_rows() {
            parser.push(defaults.next(ordinal)?.as_deref())?;
        }
        columns.push(parser.finish());
    }
    refuse_nulls(table, &schema, &columns)?;
    let options = RecordBatchOptions::new().with_row_count(Some(result.num_rows()));
    RecordBatch::try_new_with_options(schema.arrow(), columns, &options).map_err(from_arrow)
}

/// Whether a column takes the values that are given; 428C9 for one that always makes its own.
pub(crate) fn takes_values(
    table: &TableDef,
    ordinal: usize,
    overriding: Overriding,
) -> SqlResult<bool> {
    let (kind, hint) = match (table.constraints.default_of(ordinal), overriding) {
        (Some(ColumnDefault::Generated(_)), _) => ("a generated column", None),
        (Some(ColumnDefault::Identity(i)), Overriding::User) if i.standard => return Ok(false),
        (Some(ColumnDefault::Identity(i)), Overriding::Nothing) if i.always => {
            let hint = "Use OVERRIDING SYSTEM VALUE to override.";
            ("an identity column defined as GENERATED ALWAYS", Some(hint))
        }
        _ => return Ok(true),
    };
    let name = &table.schema.columns[ordinal].name;
    let message = format!("cannot insert a non-DEFAULT value into column \"{name}\"");
    let error = SqlError::new(SqlState::GENERATED_ALWAYS, message)
        .with_detail(format!("Column \"{name}\" is {kind}."));
    Err(hint.map_or(error.clone(), |hint| error.with_hint(hint)))
}

fn fits(row: &[ast::Expr], targets: &[usize], insert: &Insert) -> SqlResult<()> {
    let count = row.len();
    // Without a list of columns, the last ones may be left out.
    let short = count < targets.len() && !insert.columns.is_empty();
    if let Some(extra) = row.get(targets.len()) {
        let start = extra.span().start;
        return Err(wrong_length(true).in_line(start.line, start.column));
    }
    if short { Err(wrong_length(false)) } else { Ok(()) }
}

fn wrong_length(more: bool) -> SqlError {
    let what = if more { "more" } else { "fewer" };
    let message = format!("INSERT has {what} expressions than target columns");
    SqlError::new(SqlState::SYNTAX_ERROR, message)
}

pub(crate) fn has_query(expr: &ast::Expr) -> bool {
    struct Queries;
    impl ast::Visitor for Queries {
        type Break = ();
        fn pre_visit_query(&mut self, _query: &ast::Query) -> ControlFlow<()> {
            ControlFlow::Break(())
        }
    }
    expr.walk(&mut Queries).is_break()
}

/// The query with its quoted literals typed as the columns that they go to.
fn typed_query(mut query: Query, table: &TableDef, targets: &[usize]) -> SqlResult<Query> {
    let typed = |i: usize, expr: &mut ast::Expr| {
        if let Some(&ordinal) = targets.get(i) {
            *expr = literal_as(expr.clone(), &table.schema.columns[ordinal])?;
        }
        SqlResult::Ok(())
    };
    if let ast::SetExpr::Select(select) = query.ast_mut().body.as_mut() {
        for (i, item) in select.projection.iter_mut().enumerate() {
            match item {
                ast::SelectItem::UnnamedExpr(e)
                | ast::SelectItem::ExprWithAlias { expr: e, .. } => typed(i, e)?,
                _ => break,
            }
        }
    }
    Ok(query)
}

/// Looks at the columns that an `INSERT` names, and at the lengths of its rows.
///
/// Errors: 42P01, 42703, 42701 and 42601.
pub(crate) fn check_targets(insert: &Insert, catalog: &dyn Catalog) -> SqlResult<()> {
    let Some(table) = catalog.table(&insert.table) else {
        return Err(table_not_found(catalog, &insert.table));
    };
    let targets = targets(insert, &table)?;
    match &insert.source {
        InsertSource::Values(rows) => rows.iter().try_for_each(|row| fits(row, &targets, insert)),
        _ => Ok(()),
    }
}

/// The ordinals that the values of a row go to, if `rows` are as long as they should be.
///
/// Errors: 42703, 42701 and 42601.
pub(crate) fn targets_of(
    insert: &Insert,
    table: &TableDef,
    rows: &[Vec<ast::Expr>],
) -> SqlResult<Vec<usize>> {
    let targets = targets(insert, table)?;
    if rows.windows(2).any(|w| w[0].len() != w[1].len()) {
        return Err(SqlError::new(SqlState::SYNTAX_ERROR, DIFFERENT_LENGTHS));
    }
    if matches!(insert.source, InsertSource::Values(_)) {
        rows.iter().try_for_each(|row| fits(row, &targets, insert))?;
    }
    Ok(targets)
}

/// The ordinals that the values of a row go to.
fn targets(insert: &Insert, table: &TableDef) -> SqlResult<Vec<usize>> {
    if insert.columns.is_empty() {
        return Ok((0..table.schema.columns.len()).collect());
    }
    let mut ordinals = Vec::new();
    for name in &insert.columns {
        let Some(ordinal) = table.schema.ordinal(name) else {
            return Err(unknown_column(name, table));
        };
        if ordinals.contains(&ordinal) {
            return Err(SqlError::new(
                SqlState::DUPLICATE_COLUMN,
                format!("column \"{name}\" specified more than once"),
            ));
        }
        ordinals.push(ordinal);
    }
    Ok(ordinals)
}

pub(crate) fn unknown_column(name: &str, table: &TableDef) -> SqlError {
    let message = format!("column \"{name}\" of relation \"{}\" does not exist", table.name);
    let error = SqlError::new(SqlState::UNDEFINED_COLUMN, message);
    let names: Vec<&str> = table.schema.columns.iter().map(|c| c.name.as_str()).collect();
    match stdx::nearest(name, names) {
        Some(near) => error.with_hint(format!("perhaps you meant the column \"{near}\"")),
        None => error,
    }
}

/// A value as text that the column's parser understands; `None` is null.
pub(crate) fn cell(
    expr: &ast::Expr,
    column: &Column,
    catalog: &dyn Catalog,
) -> SqlResult<Option<String>> {
    match expr {
        ast::Expr::Nested(inner) => return cell(inner, column, catalog),
        ast::Expr::Value(value) => match &value.value {
            Value::Null => return Ok(None),
            Value::SingleQuotedString(text) => return Ok(Some(text.clone())),
            Value::Number(text, _) if plain_number(text, column.ty) => {
                fits_integer(text, column.ty)?;
                return Ok(Some(text.clone()));
            }
            _ => {}
        },
        ast::Expr::UnaryOp { op: UnaryOperator::Minus, expr } => {
            if let ast::Expr::Value(value) = expr.as_ref()
                && let Value::Number(text, _) = &value.value
                && plain_number(text, column.ty)
            {
                let text = format!("-{text}");
                fits_integer(&text, column.ty)?;
                return Ok(Some(text));
            }
        }
        _ => {}
    }
    computed(expr, column, catalog)
}

/// A number without quotes is converted, not read: the error does not name it.
fn fits_integer(text: &str, ty: LogicalType) -> SqlResult<()> {
    let fits = match ty {
        LogicalType::Int16 => text.parse::<i16>().is_ok(),
        LogicalType::Int32 => text.parse::<i32>().is_ok(),
        LogicalType::Int64 => text.parse::<i64>().is_ok(),
        _ => true,
    };
    if fits {
        return Ok(());
    }
    let message = format!("{ty} out of range");
    Err(SqlError::new(SqlState::NUMERIC_VALUE_OUT_OF_RANGE, message))
}

/// Whether a number needs no conversion before the column's parser reads it.
fn plain_number(text: &str, ty: LogicalType) -> bool {
    let whole = text.bytes().all(|b| b.is_ascii_digit());
    match ty {
        LogicalType::Int16 | LogicalType::Int32 | LogicalType::Int64 | LogicalType::Oid => whole,
        LogicalType::Decimal { .. } | LogicalType::Numeric => {
            text.bytes().all(|b| b.is_ascii_digit() || b == b'.')
        }
        LogicalType::Float32 | LogicalType::Float64 => true,
        LogicalType::Text | LogicalType::Varchar(_) | LogicalType::Char(_) => whole,
        _ => false,
    }
}

/// Evaluates an expression and converts it as an assignment does.
fn computed(expr: &ast::Expr, column: &Column, catalog: &dyn Catalog) -> SqlResult<Option<String>> {
    let schema = DFSchema::empty();
    let bound = bind_scalar(literal_as(expr.clone(), column)?, &schema, catalog)?;
    let compiled = scalar::compile(&bound, &schema)?;
    let one_row = RecordBatchOptions::new().with_row_count(Some(1));
    let empty = Arc::new(arrow_schema::Schema::empty());
    let batch = RecordBatch::try_new_with_options(empty, vec![], &one_row).map_err(from_arrow)?;
    let value = assign(&compiled.evaluate(&batch)?, &or_null(column))?;
    let text = format_value(&value, 0);
    limits::take_text(text.as_deref())?;
    Ok(text)
}
