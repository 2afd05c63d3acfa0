//! Errors of storage as SQL errors.

use std::io::ErrorKind;
use std::path::Path;

use storage::{MemberFault, StorageError, Tree};
use types::{SqlError, SqlResult, SqlState};

/// The SQL error of a storage error.
pub fn storage(error: StorageError) -> SqlError {
    let message = error.to_string();
    let new = |state| SqlError::new(state, message.clone());
    match &error {
        StorageError::Corrupt { .. } => new(SqlState::DATA_CORRUPTED)
            .with_hint("Restore the database file from a copy; nothing was changed."),
        StorageError::Locked => {
            new(SqlState::OBJECT_IN_USE).with_hint("Stop the other process, or open another file.")
        }
        StorageError::NotADatabase => new(SqlState::DATA_CORRUPTED)
            .with_hint("Give the path of a file that Dovetail created."),
        StorageError::NewerVersion { .. } => {
            new(SqlState::DATA_CORRUPTED).with_hint("Use the version of Dovetail that wrote it.")
        }
        StorageError::Truncated { .. } => new(SqlState::DATA_CORRUPTED)
            .with_hint("Restore the database file from a copy; nothing was changed."),
        StorageError::TooLarge { .. } => new(SqlState::PROGRAM_LIMIT_EXCEEDED),
        full if full.is_disk_full() => new(SqlState::DISK_FULL).with_hint("Check free disk space."),
        StorageError::Poisoned(_) => {
            new(SqlState::IO_ERROR).with_hint("Open the database again; it recovers.")
        }
        StorageError::Member(fault) => {
            let error = new(state_of(fault));
            fault.hint().into_iter().fold(error, SqlError::with_hint)
        }
        StorageError::Option(_) => new(SqlState::INVALID_PARAMETER_VALUE),
        StorageError::Io { kind, .. } => new(io_state(*kind)),
        _ => SqlError::internal(message),
    }
}

/// The same of opening a file, which is named.
pub fn of_file(error: StorageError, path: &Path) -> SqlError {
    let error = storage(error);
    match error.detail {
        None => error.with_detail(format!("The file is {}.", path.display())),
        Some(_) => error,
    }
}

fn state_of(fault: &MemberFault) -> SqlState {
    match fault {
        MemberFault::Missing { .. } => SqlState::UNDEFINED_FILE,
        MemberFault::Short { .. } => SqlState::DATA_CORRUPTED,
        MemberFault::InUse { .. } => SqlState::OBJECT_IN_USE,
        _ => SqlState::INVALID_PARAMETER_VALUE,
    }
}

fn io_state(kind: ErrorKind) -> SqlState {
    match kind {
        ErrorKind::NotFound => SqlState::UNDEFINED_FILE,
        _ => SqlState::IO_ERROR,
    }
}

/// Refuses an entry that is too large for the tree.
pub fn check_entry(tree: &Tree, key: &[u8], value: &[u8]) -> SqlResult<()> {
    tree.check_size(key, value).map_err(storage)
}
