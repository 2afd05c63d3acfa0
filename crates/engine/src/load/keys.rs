//! Columns of keys, and keys that are there twice.

use arrow_array::{ArrayRef, RecordBatch};
use types::key::KeyColumn;
use types::{SqlError, SqlState};

/// The columns of a key in `batch`.
pub(crate) fn key_arrays(key: &[KeyColumn], batch: &RecordBatch, ids: &ArrayRef) -> Vec<ArrayRef> {
    let array = |k: &KeyColumn| match k.ordinal < batch.num_columns() {
        true => batch.column(k.ordinal).clone(),
        false => ids.clone(),
    };
    key.iter().map(array).collect()
}

/// 23505 for the constraint.
pub(crate) fn duplicate_key(constraint: &str) -> SqlError {
    let message = format!("duplicate key value violates unique constraint \"{constraint}\"");
    SqlError::new(SqlState::UNIQUE_VIOLATION, message).of_constraint(constraint)
}
