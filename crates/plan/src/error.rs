//! Errors of vector kernels.

use arrow_schema::ArrowError;
use types::{SqlError, SqlState};

/// The error of a kernel over values that fit each other: a result that is too large, or a bug of
/// ours.
pub(crate) fn from_arrow(error: ArrowError) -> SqlError {
    match error {
        ArrowError::ArithmeticOverflow(_) | ArrowError::OffsetOverflowError(_) => {
            SqlError::new(SqlState::NUMERIC_VALUE_OUT_OF_RANGE, "numeric value out of range")
                .with_detail(error.to_string())
        }
        other => SqlError::internal(other.to_string()),
    }
}
