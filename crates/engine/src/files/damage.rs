//! Files that are not what they claim to be.

use types::{SqlError, SqlState};

/// What is wrong with a file.
pub(crate) fn damaged(format: &str, path: &str, why: impl Into<String>) -> SqlError {
    let message = format!("file \"{path}\" is not a valid {format} file");
    SqlError::new(SqlState::BAD_COPY_FILE_FORMAT, message).with_detail(why)
}
