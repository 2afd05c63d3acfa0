//! Errors of the layers below as SQL errors.

use storage::StorageError;
use types::{SqlError, SqlState};

/// What a client is told of a storage error.
pub(crate) fn storage(error: StorageError) -> SqlError {
    let message = error.to_string();
    match error {
        StorageError::Corrupt { .. } => SqlError::new(SqlState::DATA_CORRUPTED, message)
            .with_hint("Restore the database file from a copy; nothing was changed."),
        StorageError::Locked { .. } => SqlError::new(SqlState::OBJECT_IN_USE, message)
            .with_hint("Stop the other process, or open another file."),
        StorageError::NotADatabase { .. }
        | StorageError::Version { .. }
        | StorageError::Truncated { .. } => SqlError::new(SqlState::DATA_CORRUPTED, message),
        StorageError::TooLarge { .. } => SqlError::new(SqlState::PROGRAM_LIMIT_EXCEEDED, message),
        StorageError::Io { .. } => SqlError::new(SqlState::IO_ERROR, message),
        _ => SqlError::internal(message),
    }
}
