//! Errors of the layers below as SQL errors.

use types::{SqlError, SqlState};

pub(crate) use txn::fault::{check_entry, of_file, storage};

/// XX001
pub(crate) fn damaged_columns(why: &str) -> SqlError {
    SqlError::new(SqlState::DATA_CORRUPTED, format!("a column table is damaged: {why}"))
}

/// What encoding or decoding says, as an error of a statement.
pub(crate) fn block(error: columnar::Error) -> SqlError {
    match error {
        columnar::Error::Unsupported(_) => SqlError::unsupported(error.to_string()),
        columnar::Error::TooLarge => {
            SqlError::new(SqlState::PROGRAM_LIMIT_EXCEEDED, error.to_string())
        }
        columnar::Error::Damage(_) | columnar::Error::Absent(_) => {
            damaged_columns(&error.to_string())
        }
        columnar::Error::Mismatch(_) => SqlError::internal(error.to_string()),
    }
}

pub(crate) fn internal(error: arrow_schema::ArrowError) -> SqlError {
    SqlError::internal(error.to_string())
}
