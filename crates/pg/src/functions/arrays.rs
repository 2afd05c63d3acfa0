//! Vectors as arrays.

use sql::SystemValue;
use types::{LogicalType, SqlResult};

use super::definition::Definition;
use crate::view::View;

pub(super) const FUNCTIONS: &[Definition] = &[Definition(
    "vector_array",
    LogicalType::Array(&LogicalType::Int64),
    1,
    1,
    true,
    vector_array,
)];

/// The numbers of a vector, `1 2`; an array is one already.
fn vector_array(_view: &View, arguments: &[SystemValue]) -> SqlResult<SystemValue> {
    if let SystemValue::List(_) = arguments[0] {
        return Ok(arguments[0].clone());
    }
    let words = arguments[0].text().unwrap_or_default().split_whitespace();
    let numbers = words.filter_map(|word| word.parse().ok()).map(SystemValue::Int);
    Ok(SystemValue::List(numbers.collect()))
}
