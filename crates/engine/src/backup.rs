//! Copies of the database's file: `BACKUP DATABASE TO`, `dovetail backup`.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use exec::LocalFuture;
use runtime::sync::Cancel;
use storage::StorageError;
use txn::waiting::unless_cancelled;
use types::{SqlError, SqlResult, SqlState};

use crate::database::Database;
use crate::{door, fault};

impl Database {
    /// Copies all that is durable to a file that does not exist yet, while others read and write; its bytes.
    /// It opens like a file after a crash. From an ordinary thread.
    ///
    /// # Errors
    /// 58P02 for a file that exists, 53100, 58030: nothing is left of it then.
    pub fn back_up(&self, path: &Path) -> SqlResult<u64> {
        let cancel = Cancel::default();
        door::wait(&self.handle(), || Box::pin(self.copied_to(path, &cancel)))
    }

    /// The same in a task of the database's runtime, until it is cancelled.
    ///
    /// # Errors
    /// As [`Database::back_up`]; 57014 when it is cancelled, and nothing is left of the copy.
    pub fn back_up_within<'a>(
        &'a self,
        path: &'a Path,
        cancel: &'a Cancel,
    ) -> LocalFuture<'a, SqlResult<u64>> {
        Box::pin(self.copied_to(path, cancel))
    }

    /// The same in a task, until it is cancelled.
    pub(crate) async fn copied_to(&self, path: &Path, cancel: &Cancel) -> SqlResult<u64> {
        // What was acknowledged before it is durable belongs to the copy.
        unless_cancelled(cancel, self.versions().settle_all(self.session_id())).await??;
        let (pages, _) = self.store().page_counts();
        let job = self.start_job("backing up", u64::from(pages) * self.page_bytes() as u64);
        let stop = cancel.clone();
        let progress = move |bytes| {
            job.done.fetch_add(bytes, Ordering::Relaxed);
            !stop.is_cancelled()
        };
        let copied = self.store().back_up(path, Arc::new(progress)).await;
        copied.map_err(|error| match &error {
            StorageError::Stopped if cancel.is_cancelled() => SqlError::cancelled(),
            StorageError::Io { kind: std::io::ErrorKind::AlreadyExists, .. } => {
                let message = format!("file \"{}\" exists", path.display());
                SqlError::new(SqlState("58P02"), message)
                    .with_hint("A backup is a new file; remove the old one, or name another.")
            }
            _ => fault::storage(error),
        })
    }
}
