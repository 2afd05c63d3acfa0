//! The records, and how long they stay.

use std::collections::BTreeMap;
use std::ops::Bound;
use std::sync::{Arc, PoisonError};

use foldhash::HashMap;
use stdx::sync::{AtomicU64, Mutex, MutexGuard, Ordering};
use storage::{TreeId, planted};

use super::serializable::Readers;
use super::stamp::Stamp;

/// Bytes of all records. One statement changes at most a 256th of the pool in place, so this is what
/// thousands of usual statements replace; a query that is still running after them is told so.
pub const RECORD_BYTES_MAX: usize = 64 << 20;

/// Records that are dropped at one go, in a millisecond or two. Those that are left go with the
/// next read view, or when others come.
pub(super) const DROPPED_AT_ONCE: usize = 2048;

/// What a record takes besides its key and its value.
pub(super) const RECORD_OVERHEAD_BYTES: usize = 128;

#[derive(Default)]
pub(super) struct UndoLog {
    /// The greatest version that has records, or with which trees were replaced: who reads as of it or a newer
    /// one need not look. While a transaction that has records has not ended, everybody has to.
    pub(super) newest: AtomicU64,
    /// The version that those see who begin to read: newer records are needed.
    pub(super) shown: AtomicU64,
    last_stamp: AtomicU64,
    state: Mutex<State>,
}

#[derive(Default)]
pub(super) struct State {
    /// How many read views there are of each version.
    views: BTreeMap<u64, usize>,
    trees: HashMap<TreeId, TreeUndo>,
    /// The keys of the records of each version.
    keys: BTreeMap<u64, Vec<RecordKey>>,
    /// Those of each transaction that has not ended.
    in_flight: HashMap<u64, Vec<RecordKey>>,
    bytes: usize,
    /// The greatest version with which a transaction has ended.
    pub(super) ended: u64,
    /// The greatest version with which trees were replaced.
    replaced: u64,
    pub(super) readers: Readers,
}

type RecordKey = (TreeId, Arc<[u8]>);

#[derive(Default)]
pub(super) struct TreeUndo {
    /// By key, then in the order of the changes.
    records: BTreeMap<Arc<[u8]>, Vec<Record>>,
    /// Who reads as of a version before this one misses records.
    pub(super) lost: u64,
    /// Who reads as of a version before this one misses records of serializable transactions.
    pub(super) lost_known: u64,
    /// With this version another tree took its place, or its table went: who reads as of one before it comes
    /// before that.
    pub(super) replaced: u64,
}

/// What an entry was until a step of a transaction.
pub(super) struct Record {
    pub(super) stamp: Stamp,
    pub(super) step: u32,
    pub(super) old: Option<Arc<[u8]>>,
    /// The row has stayed, with its unique keys.
    pub(super) keeps_key: bool,
}

/// An entry of a tree that is about to change.
#[derive(Clone, Copy, Debug)]
pub struct Changing<'a> {
    /// Its key.
    pub key: &'a [u8],
    /// Its value until now, if it is there.
    pub old: Option<&'a [u8]>,
    /// The entry is of a row that stays, with its unique keys: others may refer to it meanwhile.
    pub keeps_key: bool,
}

impl UndoLog {
    pub(super) fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn new_stamp(&self) -> Stamp {
        Stamp::new(self.last_stamp.fetch_add(1, Ordering::Relaxed))
    }

    /// One more reads as of the version.
    pub(super) fn enter(&self, version: u64) {
        *self.state().views.entry(version).or_default() += 1;
    }

    /// One reads no more as of the version.
    pub(super) fn leave(&self, version: u64) {
        let mut state = self.state();
        let count = state.views.get_mut(&version).expect("a read view is registered");
        *count -= 1;
        if *count == 0 {
            state.views.remove(&version);
            state.forget();
        } else if state.drop_unneeded() == 0 {
            return;
        }
        self.newest.store(state.newest(), Ordering::Release);
    }

    pub(super) fn record<'a>(
        &self,
        stamp: &Stamp,
        step: u32,
        tree: TreeId,
        entries: impl Iterator<Item = Changing<'a>>,
    ) {
        let mut state = self.state();
        for entry in entries {
            state.record(stamp, step, tree, entry);
        }
        // Fewer come than go: those that nobody needs do not grow in number.
        state.drop_unneeded();
        if state.bytes > RECORD_BYTES_MAX {
            state.lose_before(1 + self.shown.load(Ordering::Acquire));
        }
        self.newest.store(state.newest(), Ordering::Release);
    }

    /// A transaction has ended with a version, which nobody reads as of yet. It was undone, or has this first
    /// successor.
    pub(super) fn end(
        &self,
        state: &mut State,
        stamp: &Stamp,
        version: u64,
        successor: Option<u64>,
    ) {
        stamp.end(version, successor);
        state.ended = state.ended.max(version);
        if let Some(keys) = state.in_flight.remove(&stamp.id()) {
            state.keys.entry(version).or_default().extend(keys);
        }
        self.newest.store(state.newest(), Ordering::Release);
    }
}

impl UndoLog {
    /// Others take the place of these trees with a version.
    pub(super) fn replace(&self, trees: &[TreeId], version: u64) {
        let mut state = self.state();
        for tree in trees {
            state.trees.entry(*tree).or_default().replaced = version;
            state.replaced = version;
        }
        self.newest.store(state.newest(), Ordering::Release);
    }
}

impl State {
    pub(super) fn tree(&self, tree: TreeId) -> Option<&TreeUndo> {
        self.trees.get(&tree)
    }

    /// The entries that a transaction has changed which has not ended.
    pub(super) fn changed_by(&self, stamp: &Stamp) -> &[RecordKey] {
        self.in_flight.get(&stamp.id()).map_or(&[], Vec::as_slice)
    }

    fn newest(&self) -> u64 {
        match self.in_flight.is_empty() {
            true => {
                let recorded = self.keys.last_key_value().map_or(0, |(version, _)| *version);
                recorded.max(self.replaced)
            }
            false => u64::MAX,
        }
    }

    fn record(&mut self, stamp: &Stamp, step: u32, tree: TreeId, entry: Changing<'_>) {
        let Changing { key, old, keeps_key } = entry;
        let undo = self.trees.entry(tree).or_default();
        let key: Arc<[u8]> = key.into();
        let records = undo.records.entry(key.clone()).or_default();
        // A change that failed has left the same record, and the entry as it was.
        let is_there = |record: &&mut Record| record.stamp.is(stamp) && record.step >= step;
        if let Some(record) = records.last_mut().filter(is_there) {
            record.keeps_key &= keeps_key;
            return;
        }
        self.bytes += size(&key, old);
        records.push(Record { stamp: stamp.clone(), step, old: old.map(Into::into), keeps_key });
        self.in_flight.entry(stamp.id()).or_default().push((tree, key));
    }

    /// What all records take.
    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }

    /// The oldest version that is read.
    pub(super) fn oldest(&self) -> u64 {
        let oldest = match planted::is("records-go-early") {
            true => self.views.last_key_value(),
            false => self.views.first_key_value(),
        };
        oldest.map_or(u64::MAX, |(version, _)| *version)
    }

    /// Drops records that no reader needs: of those up to the oldest version that is read. How
    /// many.
    pub(super) fn drop_unneeded(&mut self) -> usize {
        let (oldest, mut count) = (self.oldest(), 0);
        while count < DROPPED_AT_ONCE
            && self.keys.first_key_value().is_some_and(|(version, _)| *version <= oldest)
        {
            count += self.drop_oldest(DROPPED_AT_ONCE - count).0;
        }
        count
    }

    /// The same, with what is known of trees and of readers up to that version.
    fn forget(&mut self) {
        self.drop_unneeded();
        let oldest = self.oldest();
        self.readers.forget_up_to(oldest);
        self.trees
            .retain(|_, undo| !undo.records.is_empty() || undo.lost.max(undo.replaced) > oldest);
    }

    /// Drops the oldest records before those of `version`, though there are readers that need them. The
    /// others stay: what made them is not visible yet, and everybody needs those.
    fn lose_before(&mut self, version: u64) {
        let oldest = |state: &State| state.keys.first_key_value().map(|(oldest, _)| *oldest);
        let mut most = DROPPED_AT_ONCE;
        while let Some(first) = oldest(self).filter(|first| *first < version) {
            if most == 0 || self.bytes <= RECORD_BYTES_MAX / 2 {
                return;
            }
            let (count, trees) = self.drop_oldest(most);
            most -= count;
            for (tree, is_known) in trees {
                let undo = self.trees.entry(tree).or_default();
                undo.lost = undo.lost.max(first);
                if is_known {
                    undo.lost_known = undo.lost_known.max(first);
                }
            }
        }
    }

    /// Drops records of the oldest version, `most` of them; how many, the trees they are of, and
    /// whether of a serializable transaction.
    fn drop_oldest(&mut self, most: usize) -> (usize, Vec<(TreeId, bool)>) {
        let Some(mut entry) = self.keys.first_entry() else { return (0, vec![]) };
        let (version, keys) = (*entry.key(), entry.get_mut());
        let kept = keys.len().saturating_sub(most);
        let dropped = keys.split_off(kept);
        if kept == 0 {
            entry.remove();
        }
        let (count, mut trees) = (dropped.len(), vec![]);
        for (tree, key) in dropped {
            let undo = self.trees.get_mut(&tree).expect("the tree has records");
            let records = undo.records.get_mut(&key).expect("the key has records");
            let at = records.iter().position(|record| record.stamp.version() == version);
            let record = records.remove(at.expect("the version has a record"));
            self.bytes -= size(&key, record.old.as_deref());
            if records.is_empty() {
                undo.records.remove(&key);
            }
            let of = (tree, record.stamp.known_successor().is_some());
            if trees.last() != Some(&of) {
                trees.push(of);
            }
        }
        (count, trees)
    }

    #[cfg(test)]
    pub(super) fn counts(&self) -> (usize, usize, usize) {
        (self.keys.len(), self.trees.len(), self.bytes)
    }
}

impl TreeUndo {
    /// The records of the keys from `low` up to and without `high`.
    pub(super) fn within(
        &self,
        low: &[u8],
        high: Option<&[u8]>,
    ) -> impl Iterator<Item = (&Arc<[u8]>, &Vec<Record>)> {
        let is_empty = high.is_some_and(|high| high <= low);
        let high = high.map_or(Bound::Unbounded, Bound::Excluded);
        let range = (!is_empty).then_some((Bound::Included(low), high));
        range.into_iter().flat_map(|range| self.records.range::<[u8], _>(range))
    }

    /// Those of one key.
    pub(super) fn of_key(&self, key: &[u8]) -> &[Record] {
        self.records.get(key).map_or(&[], Vec::as_slice)
    }
}

fn size(key: &[u8], old: Option<&[u8]>) -> usize {
    RECORD_OVERHEAD_BYTES + key.len() + old.map_or(0, <[u8]>::len)
}
