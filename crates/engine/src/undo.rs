//! Undo records: what entries of trees were before statements changed them in place, for those who
//! began to read before.
//!
//! Each version of the catalog has a number. Before a statement touches a tree it records what the
//! entries were, under the number of the version that it makes. Who reads as of an older version
//! takes the records in place of what the tree holds ([`crate::visible`]); so it sees each statement
//! whole or not at all, and only when it has been committed. Records go when nobody reads as of an
//! older version any more. A statement that writes trees anew records nothing: its readers have the
//! old trees.

use std::collections::{BTreeMap, HashMap};
use std::ops::Bound;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use storage::TreeId;
use types::{SqlError, SqlResult, SqlState};

/// Bytes of all records. One statement changes at most a 256th of the pool in place, so this is what
/// thousands of usual statements replace; a query that is still running after them is told so.
pub(crate) const RECORD_BYTES_MAX: usize = 64 << 20;

/// What a record takes besides its key and its value.
const RECORD_OVERHEAD_BYTES: usize = 128;

/// The state of the trees that a reader sees: that of a version of the catalog.
#[derive(Clone)]
pub(crate) struct ReadView(Arc<Registered>);

struct Registered {
    version: u64,
    log: Arc<UndoLog>,
}

/// An entry as a reader sees it, or that it sees none.
pub(crate) type Seen = (Arc<[u8]>, Option<Arc<[u8]>>);

#[derive(Default)]
struct UndoLog {
    /// The greatest version that has records: who reads as of it or a newer one need not look.
    newest: AtomicU64,
    /// The version that those see who begin to read: newer records are needed.
    shown: AtomicU64,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// How many read views there are of each version.
    views: BTreeMap<u64, usize>,
    trees: HashMap<TreeId, TreeUndo>,
    /// The keys of the records of each version.
    keys: BTreeMap<u64, Vec<(TreeId, Arc<[u8]>)>>,
    bytes: usize,
}

#[derive(Default)]
struct TreeUndo {
    /// By key, then by version.
    records: BTreeMap<Arc<[u8]>, Vec<Record>>,
    /// Who reads as of a version before this one misses records.
    lost: u64,
}

/// What an entry was until the version.
struct Record {
    version: u64,
    old: Option<Arc<[u8]>>,
}

impl Default for ReadView {
    fn default() -> ReadView {
        ReadView::of(Arc::default(), 0)
    }
}

impl Drop for Registered {
    fn drop(&mut self) {
        self.log.leave(self.version);
    }
}

impl ReadView {
    fn of(log: Arc<UndoLog>, version: u64) -> ReadView {
        *log.state().views.entry(version).or_default() += 1;
        ReadView(Arc::new(Registered { version, log }))
    }

    /// That of the version which a statement on top of this one makes.
    pub(crate) fn next(&self) -> ReadView {
        ReadView::of(self.0.log.clone(), self.0.version + 1)
    }

    /// The number of the version.
    pub(crate) fn version(&self) -> u64 {
        self.0.version
    }

    /// From now on those who begin to read see this version.
    pub(crate) fn show(&self) {
        self.0.log.shown.fetch_max(self.0.version, Ordering::Release);
    }

    /// Records what entries of a tree are, before the next version changes them. The caller has the
    /// right to write.
    pub(crate) fn record<'a>(
        &self,
        tree: TreeId,
        entries: impl Iterator<Item = (&'a [u8], Option<&'a [u8]>)>,
    ) {
        let version = self.0.version + 1;
        let mut state = self.0.log.state();
        for (key, old) in entries {
            state.record(tree, version, key, old);
        }
        if state.bytes > RECORD_BYTES_MAX {
            state.lose_before(1 + self.0.log.shown.load(Ordering::Acquire));
        }
        self.0.log.newest.store(state.newest(), Ordering::Release);
    }

    /// The entries with keys from `low` up to and without `high` that newer versions have changed, as
    /// they are seen. To be asked after the tree was read: what changes later was not read.
    ///
    /// # Errors
    /// 72000 when the records are no more.
    pub(crate) fn replaced(
        &self,
        tree: TreeId,
        low: &[u8],
        high: Option<&[u8]>,
    ) -> SqlResult<Vec<Seen>> {
        let Registered { version, log } = &*self.0;
        if log.newest.load(Ordering::Acquire) <= *version || high.is_some_and(|high| high <= low) {
            return Ok(vec![]);
        }
        let state = log.state();
        let Some(undo) = state.trees.get(&tree) else { return Ok(vec![]) };
        if *version < undo.lost {
            return Err(too_old());
        }
        let high = high.map_or(Bound::Unbounded, Bound::Excluded);
        let within = undo.records.range::<[u8], _>((Bound::Included(low), high));
        let seen = within.filter_map(|(key, records)| {
            let record = records.iter().find(|record| record.version > *version)?;
            Some((key.clone(), record.old.clone()))
        });
        Ok(seen.collect())
    }
}

impl UndoLog {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn leave(&self, version: u64) {
        let mut state = self.state();
        let count = state.views.get_mut(&version).expect("a read view is registered");
        *count -= 1;
        if *count == 0 {
            state.views.remove(&version);
            state.forget();
            self.newest.store(state.newest(), Ordering::Release);
        }
    }
}

impl State {
    fn newest(&self) -> u64 {
        self.keys.last_key_value().map_or(0, |(version, _)| *version)
    }

    fn record(&mut self, tree: TreeId, version: u64, key: &[u8], old: Option<&[u8]>) {
        let undo = self.trees.entry(tree).or_default();
        let key: Arc<[u8]> = key.into();
        let records = undo.records.entry(key.clone()).or_default();
        // A change that failed has left the same record, and the entry as it was.
        if records.last().is_some_and(|record| record.version >= version) {
            return;
        }
        self.bytes += size(&key, old);
        records.push(Record { version, old: old.map(Into::into) });
        self.keys.entry(version).or_default().push((tree, key));
    }

    /// Drops the records that no reader needs: those up to the oldest version that is read.
    fn forget(&mut self) {
        let oldest = self.views.first_key_value().map_or(u64::MAX, |(version, _)| *version);
        while self.keys.first_key_value().is_some_and(|(version, _)| *version <= oldest) {
            self.drop_oldest();
        }
        self.trees.retain(|_, undo| !undo.records.is_empty() || undo.lost > oldest);
    }

    /// Drops the oldest records before those of `version`, though there are readers that need them. The
    /// others stay: what made them is not visible yet, and everybody needs those.
    fn lose_before(&mut self, version: u64) {
        let oldest = |state: &State| state.keys.first_key_value().map(|(oldest, _)| *oldest);
        while let Some(first) = oldest(self).filter(|first| *first < version) {
            if self.bytes <= RECORD_BYTES_MAX / 2 {
                return;
            }
            for tree in self.drop_oldest() {
                let undo = self.trees.entry(tree).or_default();
                undo.lost = undo.lost.max(first);
            }
        }
    }

    /// Drops the records of the oldest version; the trees they are of.
    fn drop_oldest(&mut self) -> Vec<TreeId> {
        let Some((version, keys)) = self.keys.pop_first() else { return vec![] };
        let mut trees = vec![];
        for (tree, key) in keys {
            let undo = self.trees.get_mut(&tree).expect("the tree has records");
            let records = undo.records.get_mut(&key).expect("the key has records");
            let at = records.iter().position(|record| record.version == version);
            let record = records.remove(at.expect("the version has a record"));
            self.bytes -= size(&key, record.old.as_deref());
            if records.is_empty() {
                undo.records.remove(&key);
            }
            if trees.last() != Some(&tree) {
                trees.push(tree);
            }
        }
        trees
    }
}

fn size(key: &[u8], old: Option<&[u8]>) -> usize {
    RECORD_OVERHEAD_BYTES + key.len() + old.map_or(0, <[u8]>::len)
}

fn too_old() -> SqlError {
    SqlError::new(SqlState("72000"), "snapshot too old")
        .with_detail(format!(
            "What statements have replaced since this one began is kept up to {} MiB.",
            RECORD_BYTES_MAX >> 20
        ))
        .with_hint("Run the statement again; close cursors that are not read to their end.")
}

#[cfg(test)]
mod tests;
