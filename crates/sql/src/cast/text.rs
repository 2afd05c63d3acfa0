//! Casts from and to text, by the rules that also read and print columns.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::Float64Type;
use arrow_array::{Array, ArrayRef, StringViewArray};
use arrow_schema::DataType;
use datafusion_common::{DataFusionError, Result};
use types::numeric::{FREE, QUOTIENT_SCALE};
use types::parse::ColumnParser;
use types::text::format_value;
use types::{Column, LogicalType};

/// Whether a cast has text on one side, or leads to a number whose digits are those that are printed.
pub(crate) fn applies(from: &DataType, to: &DataType) -> bool {
    let is_text = |ty: &DataType| ty.is_string();
    if is_text(from) {
        return !is_text(to) && LogicalType::of_arrow(to).is_some();
    }
    is_text(to) && LogicalType::of_arrow(from).is_some() || settles(from, to)
}

/// Whether numbers of type `from` become decimals by way of their text.
fn settles(from: &DataType, to: &DataType) -> bool {
    let quotient = |ty: &DataType| matches!(ty, DataType::Decimal256(_, QUOTIENT_SCALE..));
    let decimal = matches!(to, DataType::Decimal128(..) | DataType::Decimal256(..));
    decimal && from.is_floating() || *to == FREE && *from != FREE && quotient(from)
}

/// Values of any type as text, or text as values of type `to`.
pub(crate) fn cast_text(array: &ArrayRef, to: &DataType) -> Result<ArrayRef> {
    if to.is_string() {
        return Ok(arrow_cast::cast(&to_text(array), to)?);
    }
    let text = match array.data_type() {
        ty if ty.is_string() => arrow_cast::cast(array, &DataType::Utf8View)?,
        DataType::Float32 => significant(array, 6)?,
        DataType::Float64 => significant(array, 15)?,
        _ => to_text(array),
    };
    from_text(text.as_string_view(), to)
}

/// Floats in text with so many digits, as many as they are sure to have.
fn significant(array: &ArrayRef, digits: usize) -> Result<ArrayRef> {
    let floats = arrow_cast::cast(array, &DataType::Float64)?;
    let text = |v: f64| match v.is_finite() {
        true => format!("{v:.places$e}", places = digits - 1),
        false => v.to_string(),
    };
    let floats = floats.as_primitive::<Float64Type>().iter().map(|v| v.map(text));
    Ok(Arc::new(floats.collect::<StringViewArray>()))
}

fn to_text(array: &ArrayRef) -> ArrayRef {
    let boolean = array.data_type() == &DataType::Boolean;
    let text = |row: usize| -> Option<String> {
        let text = format_value(array.as_ref(), row)?;
        // A boolean prints as t and f, but as text it is a word.
        Some(match text.as_str() {
            "t" if boolean => "true".to_owned(),
            "f" if boolean => "false".to_owned(),
            _ => text,
        })
    };
    Arc::new((0..array.len()).map(text).collect::<StringViewArray>())
}

fn from_text(text: &StringViewArray, to: &DataType) -> Result<ArrayRef> {
    let Some(ty) = LogicalType::of_arrow(to) else {
        return Err(DataFusionError::NotImplemented(format!("a cast of text to {to}")));
    };
    let mut parser = ColumnParser::new(&Column { name: String::new(), ty, nullable: true });
    for value in text {
        parser.push(value).map_err(|e| DataFusionError::External(Box::new(e)))?;
    }
    let parsed = parser.finish();
    if parsed.data_type() == to { Ok(parsed) } else { Ok(arrow_cast::cast(&parsed, to)?) }
}
