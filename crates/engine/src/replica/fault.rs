//! Why a copy does not follow, as an error of SQL.

use std::path::Path;

use storage::{FollowError, StorageError};
use types::{SqlError, SqlState};

use crate::fault;

const HINT_NEW_COPY: &str = "The replica needs a new copy: stop it, remove its file and the note \
beside it, and give it a backup that is made now.";

/// Why a copy does not follow.
pub(super) fn refused(error: FollowError, path: &Path) -> SqlError {
    let message = error.to_string();
    let not_ready = || SqlError::new(SqlState("55000"), message.clone());
    match error {
        FollowError::Storage(StorageError::Io { kind: std::io::ErrorKind::NotFound, .. }) => {
            let message = format!("\"{}\" or its archive does not exist", path.display());
            SqlError::new(SqlState("58P01"), message).with_hint(
                "A replica begins with a backup: BACKUP DATABASE TO '..' on the primary, while it \
                 is archived.",
            )
        }
        FollowError::Storage(error) => fault::of_file(error, path),
        FollowError::NotArchived => not_ready().with_hint(
            "Begin with a backup that is made while the primary is archived (--archive), and that \
             nobody has written to. One that was promoted is served without --replica-of.",
        ),
        FollowError::Layout => SqlError::unsupported(message),
        FollowError::Unknown { .. } => not_ready().with_hint(
            "Name the folder of the archive that the copy's primary writes, or make a new copy.",
        ),
        FollowError::Gap(_) | FollowError::Damaged(_) => not_ready().with_hint(HINT_NEW_COPY),
    }
}
