//! Errors of who may not do something.

use types::{SqlError, SqlState};

/// `permission denied for ..`
pub fn denied(kind: &str, name: &str) -> SqlError {
    privilege_error(format!("permission denied for {kind} {name}"))
}

/// 42501
pub(crate) fn privilege_error(message: impl Into<String>) -> SqlError {
    SqlError::new(SqlState::INSUFFICIENT_PRIVILEGE, message)
}
