//! Why a merge ends early.

use txn::undo::SNAPSHOT_TOO_OLD;
use types::SqlError;

/// Why a merge makes no part.
pub(crate) enum Stop {
    /// Somebody wants to write alone, or others replace much of what it sees.
    PutOff,
    /// 57014 when the database is closed, or an error of storage.
    Failed(SqlError),
}

impl From<SqlError> for Stop {
    fn from(error: SqlError) -> Stop {
        match error.state == SNAPSHOT_TOO_OLD {
            // Others have changed very much meanwhile.
            true => Stop::PutOff,
            false => Stop::Failed(error),
        }
    }
}
