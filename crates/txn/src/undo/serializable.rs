//! The serial safety net: which transactions may commit so that all that are serializable have an order (T. Wang,
//! R. Johnson, A. Fekete, I. Pandis, Efficiently making (almost) any concurrency control mechanism serializable,
//! VLDB Journal 26, 2017, section 4; CoroBase, section 2).
//!
//! A transaction comes before those that have overwritten what it read and committed first: its *first
//! successor* is the earliest version that it has to come before, by way of them and of theirs. It comes after all
//! whose versions it has read or replaced, and after those that have read what it replaces. Where one of these
//! has committed no earlier than its first successor there may be a cycle, and it is refused (40001).
//!
//! - It counts as having read something of the version that it began with.
//! - Ranges of keys stand for what is read, so phantoms count. What a transaction has read is kept until nobody
//!   reads as of a version from before its end, or until there is too much: then all that began before it count
//!   as having replaced something of it.
//! - Constraints look at the newest state, beside all snapshots and without a note (keys that are unique or
//!   referred to, `ON CONFLICT`). A transaction that has done so has its place behind all others, and counts as
//!   having read everything; so does one that changes definitions.
//! - Of transactions of other levels nobody knows what they have read, which does not count. Who writes is
//!   refused where it comes before such a one: it has its place behind them all.
//! - Who writes trees anew, or changes definitions, has its place behind all others. Who has read such a tree as it
//!   was comes before it, hence before somebody who counts as having read everything: if it writes, it is refused.
//! - One that only reads ends with the newest version that has committed. It may be refused as well, for it may
//!   have seen what no order has, but not for those of other levels.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use storage::{TreeId, planted};

use super::ReadView;
use super::reads::ReadSet;
use super::records::{State, TreeUndo};
use super::stamp::Stamp;

/// Bytes of ranges that are kept of transactions that have ended.
const READERS_BYTES_MAX: usize = 8 << 20;

/// What a transaction has read that has ended.
struct Reader {
    /// The version with which it has ended, or the newest one then if it has made none.
    version: u64,
    /// `None` is everything.
    reads: Option<Arc<ReadSet>>,
    bytes: usize,
}

/// What transactions have read that have ended, in their order.
#[derive(Default)]
pub(super) struct Readers {
    ended: VecDeque<Reader>,
    bytes: usize,
    /// Of those up to this version it is not known any more.
    forgotten: u64,
}

impl Readers {
    /// One more; who reads as of the `oldest` version, or a later one, need not know of those that ended before.
    fn push(&mut self, version: u64, reads: Option<Arc<ReadSet>>, oldest: u64) {
        if version <= oldest {
            return;
        }
        let bytes = size_of::<Reader>() + reads.as_ref().map_or(0, |reads| reads.bytes());
        self.bytes += bytes;
        self.ended.push_back(Reader { version, reads, bytes });
        while self.bytes > READERS_BYTES_MAX {
            self.forget_first();
        }
    }

    fn forget_first(&mut self) {
        let Some(first) = self.ended.pop_front() else { return };
        self.bytes -= first.bytes;
        self.forgotten = self.forgotten.max(first.version);
    }

    /// Nobody reads as of a version before this one any more.
    pub(super) fn forget_up_to(&mut self, oldest: u64) {
        while self.ended.front().is_some_and(|reader| reader.version <= oldest) {
            self.forget_first();
        }
    }

    /// Whether somebody who has ended with this version or later may have read one of the keys.
    fn have_read(&self, since: u64, keys: &[(TreeId, Arc<[u8]>)]) -> bool {
        let mut later = self.ended.iter().rev().take_while(|reader| reader.version >= since);
        let mut keys: Vec<(TreeId, &[u8])> =
            keys.iter().map(|(tree, key)| (*tree, &**key)).collect();
        keys.sort_unstable();
        let has_read = |reader: &Reader| reader.reads.as_ref().is_none_or(|reads| reads.has(&keys));
        (self.forgotten >= since || later.any(has_read)) && !planted::is("readers-forgotten")
    }

    #[cfg(test)]
    pub(super) fn count(&self) -> usize {
        self.ended.len()
    }
}

impl ReadView {
    /// What a transaction has read that is serializable.
    fn serializable_reads(&self) -> Option<&Arc<ReadSet>> {
        self.0.reads.as_ref().filter(|_| !self.0.locks)
    }

    /// The transaction has ended with this version, which is the newest one; `view` is what it has seen. Not so if
    /// it is serializable and may have no place among the others, or none behind them all where it has to be
    /// `last`, for it has looked at what is newest.
    pub fn commit(&self, stamp: &Stamp, view: &ReadView, last: bool) -> bool {
        let (version, mut state) = (self.0.version, self.0.log.state());
        let Some(reads) = view.serializable_reads() else {
            self.0.log.end(&mut state, stamp, version, Some(0));
            return true;
        };
        if !last && state.changed_by(stamp).is_empty() {
            return self.commit_reads(&mut state, stamp, view, reads);
        }
        let successor = match planted::is("no-validation") {
            true => version,
            false => view
                .first_successor(
                    &state,
                    |stamp| stamp.first_successor(),
                    |undo| undo.lost.max(undo.replaced),
                )
                .min(version),
        };
        let precedes = successor < version;
        if precedes && (last || !view.may_precede(successor, stamp, &state)) {
            return false;
        }
        self.0.log.end(&mut state, stamp, version, Some(successor));
        let oldest = state.oldest();
        state.readers.push(version, Some(reads.clone()).filter(|_| !last), oldest);
        true
    }

    /// The same of one that has locked rows and changed nothing: it is one that only reads.
    fn commit_reads(
        &self,
        state: &mut State,
        stamp: &Stamp,
        view: &ReadView,
        reads: &Arc<ReadSet>,
    ) -> bool {
        if !view.has_place_for_reads(state) {
            return false;
        }
        let version = self.0.version;
        self.0.log.end(state, stamp, version, Some(version));
        let oldest = state.oldest();
        state.readers.push(version, Some(reads.clone()), oldest);
        true
    }

    /// A transaction has ended that has only read. Not so if it is serializable and may have no place among the
    /// others.
    pub fn end_reads(&self) -> bool {
        let Some(reads) = self.serializable_reads() else { return true };
        let mut state = self.0.log.state();
        if !self.has_place_for_reads(&state) {
            return false;
        }
        let newest = state.ended.max(self.0.version);
        let oldest = state.oldest();
        state.readers.push(newest, Some(reads.clone()), oldest);
        true
    }

    /// Whether one that only reads has a place among the others that are serializable.
    fn has_place_for_reads(&self, state: &State) -> bool {
        let known = |stamp: &Stamp| stamp.known_successor().unwrap_or(stamp.version());
        let first = self.first_successor(state, known, |undo| undo.lost_known);
        first > self.0.version || planted::is("no-validation") || planted::is("queries-unvalidated")
    }

    /// The first version that a transaction with this view has to come before, if that is one which it does not
    /// see; `of` says it of those that have replaced what it read, and `lost` up to which version records are no
    /// more, or a tree was replaced as a whole.
    fn first_successor(
        &self,
        state: &State,
        of: impl Fn(&Stamp) -> u64,
        lost: impl Fn(&TreeUndo) -> u64,
    ) -> u64 {
        let Some(reads) = self.serializable_reads() else { return 0 };
        let mut first = u64::MAX;
        if self.0.log.newest.load(Ordering::Acquire) <= self.0.version {
            return first;
        }
        reads.any(|tree, low, high| {
            let Some(undo) = state.tree(tree) else { return false };
            if self.0.version < lost(undo) {
                first = 0;
            }
            let changes = undo.within(low, high).flat_map(|(_, records)| records);
            let mut overtaken = changes.filter(|record| self.0.is_overtaken_by(record));
            overtaken.any(|record| {
                first = first.min(of(&record.stamp));
                first <= self.0.version
            }) || first <= self.0.version
        });
        first
    }

    /// Whether nobody who ended with this version or later comes before what the transaction has changed.
    fn may_precede(&self, successor: u64, stamp: &Stamp, state: &State) -> bool {
        successor > self.0.version && !state.readers.have_read(successor, state.changed_by(stamp))
    }
}
