//! `INSERT .. VALUES`: the rows as a batch of the table's types.

use std::sync::Arc;

use arrow_array::{RecordBatch, RecordBatchOptions};
use arrow_schema::DataType;
use datafusion_common::DFSchema;
use datafusion_sql::sqlparser::ast::{self, UnaryOperator, Value};
use types::parse::ColumnParser;
use types::text::format_value;
use types::{Column, LogicalType, SqlError, SqlResult, SqlState};

use crate::bind::table_not_found;
use crate::catalog::{Catalog, TableDef};
use crate::error::{from_arrow, nearest};
use crate::expr::{Expr, bind_scalar};
use crate::parse::Insert;

/// Evaluates the rows of an `INSERT`: all columns of the table in order, missing ones null.
///
/// Errors: 42P01 and 42703 for unknown names, 42601 for rows of the wrong length, 23502 for null where
/// none is allowed, 22003, 22001, 22P02 and 42804 for values that do not fit their column.
pub fn insert_rows(insert: &Insert, catalog: &dyn Catalog) -> SqlResult<RecordBatch> {
    let Some(table) = catalog.table(&insert.table) else {
        return Err(table_not_found(catalog, &insert.table));
    };
    let targets = targets(insert, &table)?;
    let mut columns: Vec<ColumnParser> =
        table.schema.columns.iter().map(ColumnParser::new).collect();
    for row in &insert.rows {
        // Without a list of columns, the last ones may be left out.
        let short = row.len() < targets.len() && !insert.columns.is_empty();
        if row.len() > targets.len() || short {
            let what = if row.len() > targets.len() { "more" } else { "fewer" };
            return Err(SqlError::new(
                SqlState::SYNTAX_ERROR,
                format!("INSERT has {what} expressions than target columns"),
            ));
        }
        for (ordinal, column) in table.schema.columns.iter().enumerate() {
            let expr = targets.iter().position(|t| *t == ordinal).and_then(|i| row.get(i));
            let text = expr.map_or(Ok(None), |e| cell(e, column))?;
            columns[ordinal].push(text.as_deref())?;
        }
    }
    let arrays = columns.iter_mut().map(ColumnParser::finish).collect();
    let options = RecordBatchOptions::new().with_row_count(Some(insert.rows.len()));
    RecordBatch::try_new_with_options(table.schema.arrow(), arrays, &options).map_err(from_arrow)
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

fn unknown_column(name: &str, table: &TableDef) -> SqlError {
    let message = format!("column \"{name}\" of relation \"{}\" does not exist", table.name);
    let error = SqlError::new(SqlState::UNDEFINED_COLUMN, message);
    let names: Vec<&str> = table.schema.columns.iter().map(|c| c.name.as_str()).collect();
    match nearest(name, &names) {
        Some(near) => error.with_hint(format!("perhaps you meant the column \"{near}\"")),
        None => error,
    }
}

/// A value as text that the column's parser understands; `None` is null.
fn cell(expr: &ast::Expr, column: &Column) -> SqlResult<Option<String>> {
    match expr {
        ast::Expr::Value(value) => match &value.value {
            Value::Null => return Ok(None),
            Value::SingleQuotedString(text) => return Ok(Some(text.clone())),
            Value::Number(text, _) if plain_number(text, column.ty) => {
                return Ok(Some(text.clone()));
            }
            _ => {}
        },
        ast::Expr::UnaryOp { op: UnaryOperator::Minus, expr } => {
            if let ast::Expr::Value(value) = expr.as_ref()
                && let Value::Number(text, _) = &value.value
                && plain_number(text, column.ty)
            {
                return Ok(Some(format!("-{text}")));
            }
        }
        ast::Expr::Identifier(name)
            if name.quote_style.is_none() && name.value.eq_ignore_ascii_case("default") =>
        {
            return Ok(None);
        }
        _ => {}
    }
    computed(expr, column)
}

/// Whether a number needs no conversion before the column's parser reads it.
fn plain_number(text: &str, ty: LogicalType) -> bool {
    let whole = text.bytes().all(|b| b.is_ascii_digit());
    match ty {
        LogicalType::Int16 | LogicalType::Int32 | LogicalType::Int64 => whole,
        LogicalType::Decimal { .. } => text.bytes().all(|b| b.is_ascii_digit() || b == b'.'),
        LogicalType::Float32 | LogicalType::Float64 => true,
        LogicalType::Text | LogicalType::Varchar(_) | LogicalType::Char(_) => whole,
        _ => false,
    }
}

/// Evaluates an expression and converts it as an assignment does.
fn computed(expr: &ast::Expr, column: &Column) -> SqlResult<Option<String>> {
    let schema = DFSchema::empty();
    let bound = bind_scalar(expr.clone(), &schema)?;
    let mut compiled = Expr::compile(&bound, &schema)?;
    let (from, to) = (compiled.data_type().clone(), column.ty.arrow());
    if !assignable(&from, &to) {
        let given = crate::render::type_name(&from);
        let message = format!(
            "column \"{}\" is of type {} but expression is of type {given}",
            column.name, column.ty
        );
        return Err(SqlError::new(SqlState::DATATYPE_MISMATCH, message)
            .with_hint("you will need to rewrite or cast the expression"));
    }
    if from.is_numeric() && to.is_integer() {
        // Through a cast, which rounds.
        compiled = Expr::compile(&datafusion_expr::cast(bound, to), &schema)?;
    }
    let one_row = RecordBatchOptions::new().with_row_count(Some(1));
    let empty = Arc::new(arrow_schema::Schema::empty());
    let batch = RecordBatch::try_new_with_options(empty, vec![], &one_row).map_err(from_arrow)?;
    let mut value = compiled.evaluate(&batch)?;
    if matches!(value.data_type(), DataType::Timestamp(..)) && column.ty == LogicalType::Date {
        value = arrow_cast::cast(&value, &DataType::Date32).map_err(from_arrow)?;
    }
    Ok(format_value(&value, 0))
}

/// Whether PostgreSQL converts `from` to `to` on assignment.
fn assignable(from: &DataType, to: &DataType) -> bool {
    let temporal = |t: &DataType| matches!(t, DataType::Date32 | DataType::Timestamp(..));
    from == to
        || from.is_null()
        || matches!(to, DataType::Utf8View)
        || (from.is_numeric() && to.is_numeric())
        || (temporal(from) && temporal(to))
}
