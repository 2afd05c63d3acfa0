//! Why reading ends early.

use types::SqlError;

/// Why a record could not be read.
pub(crate) enum Stop {
    /// It goes on in what has not come yet.
    NeedsMore,
    /// It is wrong.
    Wrong(SqlError),
}

impl From<SqlError> for Stop {
    fn from(error: SqlError) -> Stop {
        Stop::Wrong(error)
    }
}
