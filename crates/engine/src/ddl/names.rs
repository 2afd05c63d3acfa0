//! Names that are taken.

use types::{SqlError, SqlState};

pub(crate) fn exists(name: &str) -> SqlError {
    let message = format!("relation \"{name}\" already exists");
    SqlError::new(SqlState::DUPLICATE_TABLE, message)
}
