//! Undo records: what entries of trees were before statements changed them in place, for those who
//! began to read before.
//!
//! Each version of the catalog has a number. Before a statement touches a tree it records what the
//! entries were, under the number of the version that it makes. Who reads as of an older version
//! takes the records in place of what the tree holds ([`crate::visible`]); so it sees each statement
//! whole or not at all, and only when it has been committed. Records go when nobody reads as of an
//! older version any more. A statement that writes trees anew records nothing: its readers have the
//! old trees.
//!
//! A transaction that keeps its snapshot reads as of one version all the time ([`ReadView::pinned`]). When
//! it writes, it does so on top of the newest version, and goes on to see the old one with what it has
//! changed itself ([`ReadView::over`]).

mod reads;

use std::collections::{BTreeMap, HashMap};
use std::ops::Bound;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use storage::TreeId;
use types::{SqlError, SqlResult, SqlState};

use reads::ReadSet;

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
    /// Of a transaction that keeps its snapshot and writes.
    base: Option<Base>,
    /// Of a transaction that is to be serializable: what it has read.
    reads: Option<ReadSet>,
    log: Arc<UndoLog>,
}

/// The snapshot that a transaction keeps, and the version on top of which it writes: it sees nothing of
/// what others have changed between the two.
#[derive(Clone)]
struct Base {
    view: ReadView,
    until: u64,
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
        ReadView::new(Registered { version, base: None, reads: None, log })
    }

    fn new(registered: Registered) -> ReadView {
        *registered.log.state().views.entry(registered.version).or_default() += 1;
        ReadView(Arc::new(registered))
    }

    /// That of the version which a statement on top of this one makes.
    pub(crate) fn next(&self) -> ReadView {
        let Registered { version, base, log, .. } = &*self.0;
        let (base, log) = (base.clone(), log.clone());
        ReadView::new(Registered { version: version + 1, base, reads: None, log })
    }

    /// The same for a transaction that keeps it, and may note what it reads.
    pub(crate) fn pinned(&self, notes_reads: bool) -> ReadView {
        let Registered { version, base, log, .. } = &*self.0;
        let (base, log) = (base.clone(), log.clone());
        let reads = notes_reads.then(ReadSet::default);
        ReadView::new(Registered { version: *version, base, reads, log })
    }

    /// That of a transaction which keeps this one and begins to write on top of a newer one.
    pub(crate) fn over(&self, newest: &ReadView) -> ReadView {
        let (version, log) = (newest.version(), newest.0.log.clone());
        let base = (self.version() < version).then(|| Base { view: self.clone(), until: version });
        ReadView::new(Registered { version, base, reads: None, log })
    }

    /// That of all who see this version: with what others have changed since a snapshot that is kept.
    pub(crate) fn of_all(&self) -> ReadView {
        ReadView::of(self.0.log.clone(), self.0.version)
    }

    /// Whether what is read is noted.
    pub(crate) fn notes_reads(&self) -> bool {
        self.0.reads.is_some()
    }

    /// Whether it leaves out what others have changed since a snapshot.
    pub(crate) fn has_base(&self) -> bool {
        self.0.base.is_some()
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
        let oldest = self.0.oldest();
        let log = &self.0.log;
        if log.newest.load(Ordering::Acquire) <= oldest || high.is_some_and(|high| high <= low) {
            return Ok(vec![]);
        }
        let state = log.state();
        let Some(undo) = state.trees.get(&tree) else { return Ok(vec![]) };
        if oldest < undo.lost {
            return Err(too_old());
        }
        let seen = undo.within(low, high).filter_map(|(key, records)| {
            let record = records.iter().find(|record| self.0.hides(record.version))?;
            Some((key.clone(), record.old.clone()))
        });
        Ok(seen.collect())
    }

    /// Notes that a transaction has read the entries with keys from `low` up to and without `high`, if it
    /// is one that wants to know.
    pub(crate) fn note_read(&self, tree: TreeId, low: &[u8], high: Option<&[u8]>) {
        if let Some(reads) = &self.0.reads {
            reads.note(tree, low, high);
        }
    }

    /// Whether others have changed, up to a newer version, something of what was noted as read.
    pub(crate) fn has_outdated_reads(&self, newer: &ReadView) -> bool {
        self.has_read_between(self.version(), newer.version())
    }

    /// The same of what a transaction that keeps its snapshot has read and wants to be as it is now.
    pub(crate) fn has_outdated_locks(&self) -> bool {
        let base = self.0.base.as_ref();
        base.is_some_and(|base| self.has_read_between(base.view.version(), base.until))
    }

    /// Whether something was noted as read that versions after the one, up to the other, have changed.
    fn has_read_between(&self, since: u64, until: u64) -> bool {
        let Registered { reads: Some(reads), log, .. } = &*self.0 else { return false };
        if log.newest.load(Ordering::Acquire) <= since {
            return false;
        }
        let state = log.state();
        reads.any(|tree, low, high| {
            state.trees.get(&tree).is_some_and(|undo| {
                let mut changed = undo.within(low, high).flat_map(|(_, records)| records);
                since < undo.lost || changed.any(|r| since < r.version && r.version <= until)
            })
        })
    }

    /// Whether others have changed one of the entries since the snapshot that a transaction keeps.
    pub(crate) fn is_outdated<'a>(
        &self,
        tree: TreeId,
        mut keys: impl Iterator<Item = &'a [u8]>,
    ) -> bool {
        let Registered { base: Some(base), log, .. } = &*self.0 else { return false };
        let state = log.state();
        let Some(undo) = state.trees.get(&tree) else { return false };
        let changed = |key: &[u8]| {
            let records = undo.records.get(key);
            records.is_some_and(|records| records.iter().any(|r| base.hides(r.version)))
        };
        base.view.version() < undo.lost || keys.any(changed)
    }

    /// Whether others have changed any entry of the tree since the snapshot that a transaction keeps.
    pub(crate) fn is_tree_outdated(&self, tree: TreeId) -> bool {
        let Registered { base: Some(base), log, .. } = &*self.0 else { return false };
        let state = log.state();
        state.trees.get(&tree).is_some_and(|undo| {
            let mut changed = undo.records.values().flatten();
            base.view.version() < undo.lost || changed.any(|record| base.hides(record.version))
        })
    }
}

impl Registered {
    /// The oldest version of which it sees something in place of what newer ones have made of it.
    fn oldest(&self) -> u64 {
        self.base.as_ref().map_or(self.version, |base| base.view.version())
    }

    /// Whether it does not see what this version has changed.
    fn hides(&self, version: u64) -> bool {
        version > self.version || self.base.as_ref().is_some_and(|base| base.hides(version))
    }
}

impl Base {
    fn hides(&self, version: u64) -> bool {
        self.view.version() < version && version <= self.until
    }
}

impl TreeUndo {
    /// The records of the keys from `low` up to and without `high`.
    fn within(
        &self,
        low: &[u8],
        high: Option<&[u8]>,
    ) -> impl Iterator<Item = (&Arc<[u8]>, &Vec<Record>)> {
        let is_empty = high.is_some_and(|high| high <= low);
        let high = high.map_or(Bound::Unbounded, Bound::Excluded);
        let range = (!is_empty).then_some((Bound::Included(low), high));
        range.into_iter().flat_map(|range| self.records.range::<[u8], _>(range))
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
