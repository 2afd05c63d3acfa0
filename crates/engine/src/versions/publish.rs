//! Publications: what has been committed becomes durable by a frame of the log or by a checkpoint.
//!
//! A checkpoint beside commits makes what was committed durable by the first frame of the log that goes on behind
//! its point, and others publish from then on; the rest of it is waited for without any right. One that publishes
//! trees which were made or dropped keeps the right to publish until it is durable.

use std::sync::Arc;

use storage::{CheckpointTurn, Redo, StorageError, Underway, planted};
use txn::locks::table::{LockWait, WriteRight};
use types::{SqlError, SqlResult};

use super::chain::{CHANGES_MAX, Versions};
use super::in_doubt;
use super::pending::Pending;
use crate::catalog::persist::Numbers;
use crate::catalog::snapshot::Snapshot;
use crate::catalog::trees::drop_trees;
use crate::{catalog, fault};

/// What a publication has led to.
#[derive(Default)]
struct Published {
    /// A checkpoint that is on its way: what was published is durable without it.
    underway: Option<Underway>,
    /// Why there is no checkpoint; all is durable without one.
    failed: Option<SqlError>,
}

/// What a publication by the log has come to.
enum Logged {
    Done,
    /// It needs a checkpoint.
    HasNoRoom,
}

impl Versions {
    pub(super) async fn publish_here(self: &Arc<Versions>, by_checkpoint: bool) -> SqlResult<()> {
        let mut turn = None;
        let (publishing, done) = loop {
            // Before the rights: others commit while the last checkpoint settles, or is copied by a backup.
            if turn.is_none() && (by_checkpoint || self.needs_checkpoint()) {
                let taken = self.lent.take(&self.store).await;
                if by_checkpoint {
                    // What fails now fails again with the checkpoint.
                    self.store.prepare_checkpoint(&taken).await.ok();
                }
                turn = Some(taken);
            }
            let publishing = self.publications.begin().await;
            let needs_checkpoint = by_checkpoint || self.needs_checkpoint();
            if needs_checkpoint && turn.is_none() {
                continue;
            }
            // What was given up before has trees that fit no catalog.
            let done = match (self.store.check_writable().map_err(fault::storage), turn.take()) {
                (Ok(()), Some(turn)) if needs_checkpoint => self.publish_by_checkpoint(turn).await,
                (Ok(()), _) => match self.publish_by_log().await {
                    Ok(Logged::HasNoRoom) => continue,
                    done => done.map(|_| Published::default()),
                },
                (Err(error), _) => Err(error),
            };
            break (publishing, done);
        };
        match &done {
            Err(error) if self.is_behind() => self.fail(error),
            _ => self.published.wake_all(),
        }
        drop(publishing);
        let Published { underway, failed } = done?;
        if let Some(underway) = underway {
            underway.ended().await.map_err(fault::storage)?;
        }
        failed.map_or(Ok(()), Err)
    }

    async fn publish_by_checkpoint(&self, turn: CheckpointTurn) -> SqlResult<Published> {
        let _alone = self.change_lock.acquire_many(CHANGES_MAX).await;
        let (mut snapshot, published) = {
            let mut catalogs = self.catalogs_mut();
            ((*catalogs.newest).clone(), std::mem::take(&mut catalogs.pending))
        };
        let Pending { mut redo, needs_checkpoint, rights, .. } = published;
        let mut numbers = std::mem::take(&mut self.state().unsaved);
        numbers.extend(self.numbers_of(&snapshot));
        drop_trees(&self.store, &std::mem::take(&mut snapshot.abandoned)).await?;
        catalog::persist::save(&self.store, &self.durable(), &snapshot, &numbers, &mut redo)
            .await?;
        let profiles = self.device.take_unsaved();
        if let Some(profiles) = &profiles {
            catalog::persist::save_profiles(&self.store, profiles, &mut redo).await?;
        }
        let replaced = self.replaced_in_flight();
        let begun = match needs_checkpoint {
            true => self.store.checkpoint_in_turn(turn, replaced).await.map(|()| None),
            false => {
                let changes = match planted::is("left-to-the-checkpoint") {
                    true => Redo::default(),
                    false => redo.clone(),
                };
                self.store.begin_checkpoint(turn, replaced, changes).await.map(Some)
            }
        };
        let done = match begun {
            Ok(underway) => Published { underway, failed: None },
            // Without room for a checkpoint the log may still have some for what was committed.
            Err(error)
                if error.is_disk_full()
                    && !needs_checkpoint
                    && redo.len() <= self.store.log_room() =>
            {
                if !redo.is_empty() {
                    self.store.log(redo).await.map_err(|error| in_doubt(&error))?;
                }
                Published { underway: None, failed: Some(fault::storage(error)) }
            }
            Err(error) => return Err(unpublished(error, needs_checkpoint || redo.is_empty())),
        };
        snapshot.note_saved(&numbers);
        self.catalogs_mut().settle_by_checkpoint(snapshot);
        // Now others may write alone.
        end(rights).await;
        Ok(done)
    }

    /// What the trees hold without the transactions that have not ended.
    fn replaced_in_flight(&self) -> Redo {
        let mut replaced = Redo::default();
        if planted::is("checkpoint-keeps-in-flight") {
            return replaced;
        }
        self.in_flight().iter().for_each(|notes| notes.log(&mut replaced));
        replaced
    }

    async fn publish_by_log(self: &Arc<Versions>) -> SqlResult<Logged> {
        let Some((durable, snapshot, published)) = self.take_pending() else {
            return Ok(Logged::Done);
        };
        let Pending { mut redo, rights, .. } = published;
        let numbers = self.numbers_of(&snapshot);
        catalog::persist::save(&self.store, &durable, &snapshot, &numbers, &mut redo).await?;
        if redo.len() > self.store.log_room() {
            // There are more numbers than was thought. What was committed since goes with it, for a
            // checkpoint has its rows.
            self.state().unsaved.extend(numbers);
            self.catalogs_mut().pending.needs_again(rights);
            return Ok(Logged::HasNoRoom);
        }
        if !redo.is_empty() {
            self.store.log(redo).await.map_err(|error| in_doubt(&error))?;
        }
        snapshot.note_saved(&numbers);
        {
            let mut catalogs = self.catalogs_mut();
            catalogs.pending.logging_bytes = 0;
            catalogs.settle(snapshot);
        }
        end(rights).await;
        self.tend();
        Ok(Logged::Done)
    }

    /// What is to be logged: what is durable, the newest version, and what it takes to make that so. Nothing
    /// when it needs a checkpoint since a moment ago, for which another publication is on its way.
    fn take_pending(&self) -> Option<(Arc<Snapshot>, Arc<Snapshot>, Pending)> {
        let mut catalogs = self.catalogs_mut();
        if catalogs.pending.versions == 0 || catalogs.pending.needs_checkpoint {
            return None;
        }
        let logging_bytes = catalogs.pending.frame_bytes();
        let pending = Pending { logging_bytes, ..Pending::default() };
        let taken = std::mem::replace(&mut catalogs.pending, pending);
        Some((catalogs.durable.clone(), catalogs.newest.clone(), taken))
    }

    /// Numbers of sequences that are to be saved with a version. Asked for behind it: its own are noted
    /// before it is there. Those of sequences that it does not know are saved with these.
    fn numbers_of(&self, version: &Snapshot) -> Numbers {
        let given = std::mem::take(&mut self.state().given);
        if planted::is("counter-lost") {
            return Numbers::new();
        }
        version.reserved(&given)
    }

    /// Has a checkpoint made when the log or what has changed in the pool is half of what it may be.
    fn tend(self: &Arc<Versions>) {
        let (used, capacity) = self.store.log_usage();
        let is_time = used > capacity / 2 || self.store.needs_checkpoint();
        if !is_time || std::mem::replace(&mut self.state().is_tended, true) {
            return;
        }
        let versions = self.clone();
        drop(runtime::spawn(async move {
            versions.checkpoint_beside(&LockWait::default()).await.ok();
            versions.state().is_tended = false;
        }));
    }

    /// Makes a checkpoint beside those who write, who go on while most of it is written.
    ///
    /// # Errors
    /// As [`Versions::checkpoint`], and those of waiting for the right to write.
    pub(crate) async fn checkpoint_beside(self: &Arc<Versions>, wait: &LockWait) -> SqlResult<()> {
        // What fails now fails again with the checkpoint.
        self.store.flush().await.ok();
        self.store.settled().await.ok();
        // What has changed while the last one settled.
        self.store.flush().await.ok();
        let right = self.locks.share(wait).await?;
        self.checkpoint(&right).await
    }
}

/// Lets these rights go: all that was done under them is visible.
async fn end(rights: Vec<WriteRight>) {
    for right in rights {
        right.end().await;
    }
}

/// Why something was not published. What was to be in a frame may be there.
fn unpublished(error: StorageError, is_in_no_frame: bool) -> SqlError {
    match is_in_no_frame || error.is_disk_full() {
        true => fault::storage(error),
        false => in_doubt(&error),
    }
}
