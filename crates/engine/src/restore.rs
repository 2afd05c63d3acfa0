//! A database file of a backup and an archive: `dovetail restore --archive`.

use std::path::Path;
use std::sync::Arc;

use arrow_array::TimestampMicrosecondArray;
use storage::{RestoreError, RestoreProgress, Restored, Until};
use types::text::format_value;
use types::{SqlError, SqlResult, SqlState};

use crate::database::open::started;
use crate::options::Options;
use crate::{door, fault};

/// Makes a database file, which must not exist, with the state that a backup and the archive of its database
/// had at a moment. It recovers when it is opened. From an ordinary thread.
///
/// # Errors
/// 22023 for a moment that the two do not have; XX001 for damage; 58030 and the like. Nothing is left of the
/// file then.
pub fn restore(
    backup: &Path,
    archive: &Path,
    until: Until,
    file: &Path,
    options: &Options,
    progress: &Arc<RestoreProgress>,
) -> SqlResult<Restored> {
    let runtime = started(options)?;
    let (backup, archive, file) = (backup.to_owned(), archive.to_owned(), file.to_owned());
    let progress = progress.clone();
    let restored = door::wait(&runtime.handle(), || {
        Box::pin(async move { storage::restore(&backup, &archive, until, &file, &progress).await })
    });
    restored.map_err(sql_error)
}

/// A moment of an archive in UTC, as `dovetail restore --to` takes it. Microseconds since 1970.
pub fn moment(us: u64) -> String {
    let us = i64::try_from(us).unwrap_or(i64::MAX);
    let text = format_value(&TimestampMicrosecondArray::from(vec![us]), 0);
    format!("{}+00", text.unwrap_or_default())
}

fn sql_error(error: RestoreError) -> SqlError {
    let message = error.to_string();
    let refused = |detail: String, hint: &'static str| {
        SqlError::new(SqlState::INVALID_PARAMETER_VALUE, message.clone())
            .with_detail(detail)
            .with_hint(hint)
    };
    match error {
        RestoreError::Storage(error) => fault::storage(error),
        RestoreError::NotArchived => refused(
            "Its header names no archive.".to_owned(),
            "Restore the backup alone, without --archive, or take one that was made later.",
        ),
        RestoreError::Unknown => refused(
            "It lacks the segment of the backup's checkpoint.".to_owned(),
            "Name the folder that --archive of the server named when the backup was made.",
        ),
        RestoreError::BeforeBackup { backup } => {
            refused(format!("The backup is of {}.", moment(backup)), "Take an earlier backup.")
        }
        RestoreError::BehindEnd { last } => refused(
            format!("Its last commit is of {}.", moment(last)),
            "Leave --to out to restore all that the archive has.",
        ),
        RestoreError::Gap { last, .. } | RestoreError::Damaged { last, .. } => {
            SqlError::new(SqlState::DATA_CORRUPTED, message.clone())
                .with_detail(format!("All until {} can be had.", moment(last)))
                .with_hint("Restore to that time with --to, or take a backup that was made later.")
        }
    }
}
