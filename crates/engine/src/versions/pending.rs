//! Versions that are not published yet.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use runtime::time::{self, Instant};
use storage::{Redo, planted};
use txn::locks::table::WriteRight;
use txn::undo::ReadView;

use crate::catalog::snapshot::Snapshot;

/// Bytes of what is not durable yet, at most, when a commit is acknowledged without waiting: some thousand
/// commits of single rows, which a device takes in a few milliseconds.
const UNAWAITED_BYTES_MAX: usize = 1 << 20;

/// Age of the oldest commit that is not durable, at most, when another one is acknowledged without
/// waiting: the device is behind, and a crash would take all of them. Three times PostgreSQL's
/// `wal_writer_delay` is what a crash may take there.
const UNAWAITED_TIME_MAX: Duration = Duration::from_millis(500);

/// How exactly the ages of commits are known.
const MARK_TIME: Duration = Duration::from_millis(50);

/// Since when there are versions that are not durable: some of these, each with its time.
#[derive(Default)]
pub(super) struct Marks(VecDeque<(u64, Instant)>);

impl Marks {
    /// A version is there.
    fn add(&mut self, version: u64) {
        let now = time::now();
        if self.0.back().is_none_or(|(_, at)| now - *at >= MARK_TIME) {
            self.0.push_back((version, now));
        }
    }

    /// This version is durable, and with it those before; others may be there.
    fn settle(&mut self, durable: u64, newest: u64) {
        if durable >= newest {
            return self.0.clear();
        }
        // Of the marks up to the first version that is not durable the last one tells its age, or
        // says too much.
        while self.0.get(1).is_some_and(|(version, _)| *version <= durable + 1) {
            self.0.pop_front();
        }
    }

    /// Age of the oldest version that is not durable.
    fn age(&self) -> Duration {
        self.0.front().map_or(Duration::ZERO, |(_, at)| time::now() - *at)
    }
}

/// The version that all see, and what comes before and behind it.
pub(crate) struct Catalogs {
    /// The last one that is on the device.
    pub(super) durable: Arc<Snapshot>,
    /// That one, or a newer one that does not wait for the device.
    pub(super) visible: Arc<Snapshot>,
    pub(super) newest: Arc<Snapshot>,
    pub(super) pending: Pending,
    pub(super) marks: Marks,
}

/// What is not durable yet.
#[derive(Default)]
pub(super) struct Pending {
    /// How many versions nobody has begun to publish.
    pub(super) versions: usize,
    /// What they have changed in place.
    pub(super) redo: Redo,
    /// Bytes that their records of the catalog take in the log, at most.
    pub(super) record_bytes: usize,
    /// Bytes of the frame that is on its way to the log, at most.
    pub(super) logging_bytes: usize,
    /// They cannot be logged.
    pub(super) needs_checkpoint: bool,
    /// The rights under which they were made, until they are visible.
    pub(super) rights: Vec<WriteRight>,
}

impl Pending {
    /// Bytes that the next frame takes.
    pub(super) fn frame_bytes(&self) -> usize {
        self.redo.len() + self.record_bytes + NUMBER_BYTES
    }

    /// What was taken to be logged is to be published by a checkpoint, with what came behind it.
    pub(super) fn needs_again(&mut self, rights: Vec<WriteRight>) {
        self.versions += 1;
        self.rights.extend(rights);
        self.needs_checkpoint = true;
    }

    /// True if it is little enough for a commit that is a part of it to be acknowledged before it
    /// is durable.
    fn is_little(&self) -> bool {
        let bytes = self.redo.len() + self.record_bytes + self.logging_bytes;
        !self.needs_checkpoint && bytes <= UNAWAITED_BYTES_MAX
    }
}

/// What the numbers of sequences take in a frame, at most, with the frame's own head: there are some
/// thousand sequences that give numbers between two publications.
const NUMBER_BYTES: usize = 64 << 10;

impl Catalogs {
    /// True if a commit may be acknowledged before it is durable.
    pub(super) fn may_be_seen(&self) -> bool {
        self.pending.is_little() && self.marks.age() <= UNAWAITED_TIME_MAX
    }

    /// Puts the next version in place, to be published; its number.
    pub(super) fn advance(&mut self, next: Arc<Snapshot>, redo: &Redo, room: usize) -> u64 {
        assert!(next.follows(&self.newest), "versions are made one after another");
        self.newest = next;
        self.marks.add(self.newest.read_view.version());
        let pending = &mut self.pending;
        pending.versions += 1;
        if planted::is("group-commit-forgets") {
            pending.redo = Redo::default();
        }
        pending.redo.append(redo);
        pending.needs_checkpoint |= pending.frame_bytes() + pending.logging_bytes > room;
        self.newest.read_view.version()
    }

    /// The newest version is visible, though it is not durable.
    pub(super) fn show_newest(&mut self) {
        self.visible = self.newest.clone();
        self.visible.read_view.show();
    }

    /// A version is durable by a checkpoint, and its trees are gone that were to go.
    pub(super) fn settle_by_checkpoint(&mut self, published: Snapshot) {
        let published = Arc::new(published);
        if self.newest.read_view.version() == published.read_view.version() {
            self.newest = published.clone();
        } else {
            self.newest = Arc::new(self.newest.keeping_trees());
        }
        self.settle(published);
    }

    /// A version is durable; it is visible, unless a newer one is. Newer ones may be there meanwhile: if they
    /// are not pending, they have the same definitions and rows.
    pub(super) fn settle(&mut self, published: Arc<Snapshot>) {
        let is_newest = self.pending.versions == 0;
        self.durable = if is_newest { self.newest.clone() } else { published };
        let (durable, newest) = (&self.durable.read_view, &self.newest.read_view);
        self.marks.settle(durable.version(), newest.version());
        if !self.visible.follows(&self.durable) {
            self.visible = self.durable.clone();
        }
        self.visible.read_view.show();
    }

    /// Puts a version in place whose rows are those of the newest one.
    pub(super) fn replace(&mut self, read_view: ReadView) {
        let next = self.newest.with_view(read_view);
        if Arc::ptr_eq(&self.durable, &self.newest) {
            self.durable = next.clone();
        }
        if Arc::ptr_eq(&self.visible, &self.newest) {
            next.read_view.show();
            self.visible = next.clone();
        }
        self.newest = next;
    }
}

#[cfg(test)]
mod tests;
