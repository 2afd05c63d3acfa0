//! Values on their way into a column: PostgreSQL's assignment casts. Beside them values that are equal to those of
//! another column, by which foreign keys refer: what would have to be rounded or cut is equal to nothing there.

use std::sync::Arc;

use arrow_array::builder::StringViewBuilder;
use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, BooleanArray, RecordBatch, new_empty_array, new_null_array};
use arrow_cast::{CastOptions, cast_with_options};
use arrow_ord::ord::make_comparator;
use arrow_schema::{DataType, Field, SortOptions};
use datafusion_common::DFSchema;
use datafusion_expr::{cast, col};
use datafusion_sql::sqlparser::ast;
use datafusion_sql::sqlparser::dialect::PostgreSqlDialect;
use datafusion_sql::sqlparser::parser::Parser;
use plan::catalog::TableDef;
use types::cells::Cells;
use types::parse::ColumnParser;
use types::text::format_value;
use types::{Column, LogicalType, Schema, SqlError, SqlResult, SqlState};

use crate::error::{from_arrow, from_library};
use crate::expr::scalar;

/// The values as the column's type.
///
/// Errors: 42804 for types that are not assigned to each other, 22001, 22003, 22P02 for values that
/// do not fit, 23502 for null where none is allowed.
pub fn assign(values: &ArrayRef, column: &Column) -> SqlResult<ArrayRef> {
    let (from, to) = (values.data_type(), column.ty.arrow());
    if from.is_null() && column.nullable {
        return Ok(new_null_array(&to, values.len()));
    }
    if let (LogicalType::Rounded(_, digits), true) = (column.ty, *from == to) {
        let column = Column { ty: column.ty.plain(), ..column.clone() };
        return assign(&types::moment::rounded(values, digits), &column);
    }
    if is_of_column(from, column) && (column.nullable || values.null_count() == 0) {
        return Ok(Arc::clone(values));
    }
    if !is_assignable(from, &to) {
        return Err(mismatch(from, column));
    }
    // Widened, a float is what it was, which the fewest digits that tell it from others are not.
    let is_converted = match (from, &to) {
        (DataType::List(from), DataType::List(to)) => is_cast(from.data_type(), to.data_type()),
        (from, to) => is_cast(from, to),
    };
    let values = if is_converted { convert(values, &to)? } else { Arc::clone(values) };
    let mut parser = ColumnParser::new(column);
    for row in 0..values.len() {
        parser.push(format_value(&values, row).as_deref())?;
    }
    Ok(parser.finish())
}

/// True if values of this type are values of the column as they are, but for nulls.
pub fn is_of_column(from: &DataType, column: &Column) -> bool {
    *from == column.ty.arrow() && !column.ty.has_limit()
}

/// Each value as the one of `column` that is equal to it, null where there is none.
///
/// # Errors
/// 22003 for what is no floating-point number.
pub fn equal(values: &ArrayRef, column: &Column) -> SqlResult<ArrayRef> {
    let (from, to) = (values.data_type(), column.ty.arrow());
    if *from == to {
        return Ok(match column.ty {
            LogicalType::Char(_) => without_blanks(values),
            _ => Arc::clone(values),
        });
    }
    if to.is_floating() && !from.is_floating() {
        // There is no `=` of the two: the number is rounded before it is compared.
        return assign(values, &Column { nullable: true, ..column.clone() });
    }
    let converted = converted(values, column.ty.plain())?;
    let own = LogicalType::of_arrow(from).ok_or_else(|| SqlError::internal("a key of no type"))?;
    let back = self::converted(&converted, own)?;
    let compare = make_comparator(values, &back, SortOptions::default()).map_err(from_arrow)?;
    let differs: BooleanArray = (0..values.len()).map(|i| Some(compare(i, i).is_ne())).collect();
    arrow_select::nullif::nullif(&converted, &differs).map_err(from_arrow)
}

/// The column as it is while a row is made: null is refused when all of the row is known.
pub fn or_null(column: &Column) -> Column {
    Column { nullable: true, ..column.clone() }
}

/// The same of rows, which have the columns of `schema` first.
///
/// # Errors
/// 23502 with the row.
pub fn refuse_null_cells(table: &TableDef, schema: &Schema, rows: &Cells) -> SqlResult<()> {
    let mut strict = schema.columns.iter().enumerate().filter(|(_, column)| !column.nullable);
    let has_null = |at: usize| (0..rows.len()).any(|row| rows.value(row, at).is_null());
    if !strict.any(|(at, _)| has_null(at)) {
        return Ok(());
    }
    let vector = |(at, column): (usize, &Column)| rows.vector(at, &column.ty.arrow());
    let columns = schema.columns.iter().enumerate().map(vector);
    refuse_nulls(table, schema, &columns.collect::<SqlResult<Vec<_>>>()?)
}

/// Refuses null in columns of `schema`, the table's, that allow none. `columns` are those of whole
/// rows.
///
/// # Errors
/// 23502 with the row.
pub fn refuse_nulls(table: &TableDef, schema: &Schema, columns: &[ArrayRef]) -> SqlResult<()> {
    let mut first: Option<(usize, &Column)> = None;
    for (values, column) in columns.iter().zip(&schema.columns) {
        if column.nullable || values.null_count() == 0 {
            continue;
        }
        let Some(row) = (0..values.len()).find(|row| values.is_null(*row)) else { continue };
        if first.is_none_or(|(earliest, _)| row < earliest) {
            first = Some((row, column));
        }
    }
    let Some((row, Column { name, .. })) = first else { return Ok(()) };
    let table = &table.name;
    let message = format!(
        "null value in column \"{name}\" of relation \"{table}\" violates not-null constraint"
    );
    let shown = |values: &ArrayRef| format_value(values, row).unwrap_or_else(|| "null".into());
    let values: Vec<String> = columns.iter().map(shown).collect();
    let error = SqlError::new(SqlState::NOT_NULL_VIOLATION, message).of_column(name);
    Err(error.with_detail(format!("Failing row contains ({}).", values.join(", "))).of_table(table))
}

fn mismatch(from: &DataType, column: &Column) -> SqlError {
    let given = crate::render::type_name(from);
    let message = format!(
        "column \"{}\" is of type {} but expression is of type {given}",
        column.name, column.ty
    );
    SqlError::new(SqlState::DATATYPE_MISMATCH, message)
        .with_hint("you will need to rewrite or cast the expression")
}

/// True if values are converted as a cast does, rather than by their texts.
fn is_cast(from: &DataType, to: &DataType) -> bool {
    is_wider(from, to)
        || (from.is_numeric() && to.is_integer())
        || matches!((from, to), (DataType::Timestamp(..), DataType::Date32))
        // As text a boolean is a word.
        || (*from == DataType::Boolean && to.is_string())
}

fn is_wider(from: &DataType, to: &DataType) -> bool {
    (from, to) == (&DataType::Float32, &DataType::Float64)
}

/// The values cast as an expression does, which rounds.
fn convert(values: &ArrayRef, to: &DataType) -> SqlResult<ArrayRef> {
    let field = Field::new("value", values.data_type().clone(), true);
    let schema = Arc::new(arrow_schema::Schema::new(vec![field]));
    let named = DFSchema::try_from(schema.as_ref().clone()).map_err(from_library)?;
    let expr = scalar::compile(&cast(col("value"), to.clone()), &named)?;
    let batch = RecordBatch::try_new(schema, vec![Arc::clone(values)]).map_err(from_arrow)?;
    expr.evaluate(&batch)
}

/// Whether PostgreSQL converts `from` to `to` on assignment.
pub fn is_assignable(from: &DataType, to: &DataType) -> bool {
    let temporal = |t: &DataType| matches!(t, DataType::Date32 | DataType::Timestamp(..));
    from == to
        || from.is_null()
        || matches!(to, DataType::Utf8View)
        || (from.is_numeric() && to.is_numeric())
        || (temporal(from) && temporal(to))
        || matches!((from, to), (DataType::List(from), DataType::List(to))
            if is_assignable(from.data_type(), to.data_type()))
}

/// A quoted literal takes the type of the column that it is for; text columns measure it later.
pub(crate) fn literal_as(value: ast::Expr, column: &Column) -> SqlResult<ast::Expr> {
    literal_of(value, column.ty)
}

/// The same for a type.
pub(super) fn literal_of(value: ast::Expr, ty: LogicalType) -> SqlResult<ast::Expr> {
    let quoted = |v: &ast::Expr| matches!(v, ast::Expr::Value(v) if matches!(v.value, ast::Value::SingleQuotedString(_)));
    let text = matches!(ty, LogicalType::Text | LogicalType::Varchar(_) | LogicalType::Char(_));
    if text || !quoted(&value) {
        return Ok(value);
    }
    cast_to(value, ty)
}

/// The value, cast; what is longer than the elements of an array may be is not cut, but refused
/// when it is assigned.
pub(super) fn cast_to(value: ast::Expr, ty: LogicalType) -> SqlResult<ast::Expr> {
    let ty = match ty {
        LogicalType::Array(_) => ty.without_length(),
        other => other,
    };
    let parser = Parser::new(&PostgreSqlDialect {}).try_with_sql(&ty.to_string());
    let data_type = parser.and_then(|mut p| p.parse_data_type());
    let data_type = data_type.map_err(|e| SqlError::internal(e.to_string()))?;
    let kind = ast::CastKind::DoubleColon;
    Ok(ast::Expr::Cast { kind, expr: Box::new(value), data_type, array: false, format: None })
}

/// The values as those of another type, rounded where they have to be; null where they are out of its range.
fn converted(values: &ArrayRef, ty: LogicalType) -> SqlResult<ArrayRef> {
    if values.is_empty() {
        return Ok(new_empty_array(&ty.arrow()));
    }
    if !values.data_type().is_temporal() {
        let options = CastOptions { safe: true, ..CastOptions::default() };
        return cast_with_options(values, &ty.arrow(), &options).map_err(from_arrow);
    }
    let column = Column { name: String::new(), ty, nullable: true };
    assign(values, &column).or_else(|_| {
        let one = |row| match assign(&values.slice(row, 1), &column) {
            Ok(value) => value,
            Err(_) => new_null_array(&ty.arrow(), 1),
        };
        let each: Vec<ArrayRef> = (0..values.len()).map(one).collect();
        let each: Vec<&dyn Array> = each.iter().map(AsRef::as_ref).collect();
        arrow_select::concat::concat(&each).map_err(from_arrow)
    })
}

fn without_blanks(values: &ArrayRef) -> ArrayRef {
    let texts = values.as_string_view();
    if !texts.iter().flatten().any(|text| text.ends_with(' ')) {
        return Arc::clone(values);
    }
    let mut trimmed = StringViewBuilder::with_capacity(texts.len());
    texts.iter().for_each(|text| trimmed.append_option(text.map(|t| t.trim_end_matches(' '))));
    Arc::new(trimmed.finish())
}
