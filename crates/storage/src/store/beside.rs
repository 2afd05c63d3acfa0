//! A checkpoint beside commits (`docs/format/log.md`, section 5): its point comes before its header, since the log
//! goes on in a run that the header before names.

use std::sync::Arc;

use runtime::sync::SemaphorePermit;

use super::checkpoint::{Passed, Way};
use super::{CheckpointTurn, Store, StoreInner, Underway};
use crate::error::{Result, StorageError};
use crate::header::Header;
use crate::log::First;
use crate::log::place::LogPlace;
use crate::log::redo::Redo;

impl Store {
    /// The turn of a checkpoint: waits until the last one has settled and no backup copies it. Whoever has it
    /// keeps others waiting, so it is taken before anything that they wait for.
    pub async fn checkpoint_turn(&self) -> CheckpointTurn {
        CheckpointTurn { _permit: self.inner.settling.acquire().await }
    }

    /// As `checkpoint_without`, for one who has the turn.
    ///
    /// # Errors
    /// As `checkpoint`.
    pub async fn checkpoint_in_turn(&self, turn: CheckpointTurn, replaced: Redo) -> Result<()> {
        self.inner.checkpoint(turn, replaced).await
    }

    /// Does what can be done for the next checkpoint while others commit: the file gets a second run for its log,
    /// where there is space, which the checkpoint after that goes on in; and the archive what it lacks.
    ///
    /// # Errors
    /// As `checkpoint`, but for a full disk.
    pub async fn prepare_checkpoint(&self, _turn: &CheckpointTurn) -> Result<()> {
        self.inner.archive_ahead().await;
        self.inner.make_next_log().await
    }

    /// Begins a checkpoint, beside which others change trees and log from the moment in which this returns. All
    /// that was changed in trees of the last checkpoint is to be durable by then: it has been logged, or stands
    /// in `changes`, which are made durable now, or is not to last yet and stands in `replaced`. No trees that
    /// are to last were made or dropped.
    ///
    /// Where the log has no second run yet ([`Store::prepare_checkpoint`]), or the file an archive, the checkpoint
    /// has ended when this returns: others wait for it then.
    ///
    /// # Errors
    /// As `checkpoint`; when the disk is full, `changes` are not durable.
    pub async fn begin_checkpoint(
        &self,
        turn: CheckpointTurn,
        replaced: Redo,
        changes: Redo,
    ) -> Result<Underway> {
        self.inner.begin_checkpoint(turn, replaced, changes).await
    }
}

/// Why nothing is written any more when a checkpoint's task does not come to its end.
const CUT_OFF: &str = "a checkpoint was cut off";

/// A checkpoint behind its point: if its task is gone before its end, log and header do not agree any more.
struct Unended(Option<Arc<StoreInner>>);

impl Drop for Unended {
    fn drop(&mut self) {
        self.0.iter().for_each(|store| store.pool.give_up(CUT_OFF));
    }
}

impl StoreInner {
    /// Chooses the point of a checkpoint, in a task of its own, which makes `changes` durable; the rest follows
    /// in another one.
    pub async fn begin_checkpoint(
        self: &Arc<Self>,
        turn: CheckpointTurn,
        replaced: Redo,
        changes: Redo,
    ) -> Result<Underway> {
        let store = Arc::clone(self);
        runtime::spawn(async move {
            store.archive_ahead().await;
            if !changes.is_empty() {
                store.mark_changed();
            }
            let first = First { replaced: &replaced, changes: &changes };
            if let Some(place) = store.place_to_go_on(first) {
                let headless = store.headless.acquire().await;
                match store.checkpoint_beside(place, first).await {
                    Ok(passed) => return Ok(store.complete(turn, headless, passed)),
                    // There may be some for a checkpoint without the run that was kept for it.
                    Err(error) if error.is_disk_full() => {}
                    Err(error) => return Err(error),
                }
            }
            store.checkpoint_alone(turn, &replaced).await.map(|()| Underway(None))
        })
        .await
        .unwrap_or_else(|_| {
            self.pool.give_up(CUT_OFF);
            Err(StorageError::Stopped)
        })
    }

    /// The log goes on at `place`, the spare run, which has been taken: who writes goes on with it before the
    /// header is durable, for which all else is ready then. `None`: nothing has changed.
    async fn checkpoint_beside(
        &self,
        place: LogPlace,
        first: First<'_>,
    ) -> Result<Option<(Header, Passed)>> {
        let _no_writers = self.writers.exclusive().await;
        let _no_write_backs = self.pool.writing.exclusive().await;
        let written = self.write(Way::On(place, first)).await;
        let mut written = match written {
            Ok(Some(written)) => written,
            nothing => {
                place.extent().into_iter().for_each(|run| self.ground().keep_spare_log(run));
                return nothing.map(|_| None);
            }
        };
        let begun = self.log.go_on(place, first).await;
        written.begun = begun.map_err(|error| self.poisoned_by(error))?;
        let header = self.header_after(&written);
        let passed = self.pass(written, &header);
        Ok(Some((header, passed)))
    }

    /// Makes durable what has passed its point, beside those who write.
    fn complete(
        self: Arc<Self>,
        turn: CheckpointTurn,
        headless: SemaphorePermit,
        passed: Option<(Header, Passed)>,
    ) -> Underway {
        Underway(passed.map(|(header, passed)| {
            runtime::spawn(async move {
                let mut unended = Unended(Some(Arc::clone(&self)));
                self.commit(&header).await?;
                self.begin_settling(turn, header, passed);
                drop(headless);
                unended.0 = None;
                Ok(())
            })
        }))
    }

    /// Where the log may go on behind the point of the next checkpoint, beginning with `first`: in the spare
    /// run, which is taken then, if the header names it. What an archive has ends with frames of the run before.
    fn place_to_go_on(&self, first: First<'_>) -> Option<LogPlace> {
        let header = self.header.lock().expect("header").clone();
        let mut space = self.ground();
        let is_spare = header.next_log.extent() == space.next_log();
        if self.archive.is_some() || !is_spare || !self.log.can_go_on(&header, first) {
            return None;
        }
        space.take_spare_log(header.next_log.pages).map(|_| header.next_log)
    }

    /// Lets a file that has a log have a spare run, where there is space; this checkpoint's header names it when
    /// that has settled.
    async fn make_next_log(&self) -> Result<()> {
        self.check_writable()?;
        let header = self.header.lock().expect("header").clone();
        let Some(wanted) = self.log.next_pages_wanted(&header) else { return Ok(()) };
        let is_there = self.ground().next_log().is_some_and(|run| run.pages >= wanted);
        if self.archive.is_some() || is_there {
            return Ok(());
        }
        // What others were promised is there still when the run is taken.
        match self.make_room(wanted).await {
            Err(error) if error.is_disk_full() => return Ok(()),
            made => made?,
        }
        let run = match self.ground_allocator().take(wanted).await {
            Err(error) if error.is_disk_full() => return Ok(()),
            taken => taken?,
        };
        let cleared = self.log.clear(LogPlace { pid: run.start, pages: run.pages, salt: 0 }).await;
        match cleared {
            Ok(()) => self.ground().keep_spare_log(run),
            Err(error) if error.is_disk_full() => self.ground().give(run),
            Err(error) => return Err(self.poisoned_by(error)),
        }
        Ok(())
    }
}
