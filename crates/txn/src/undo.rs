//! Undo records: what entries of trees were before transactions changed them in place, for those who do
//! not see these changes.
//!
//! A transaction that writes has a [`Stamp`]; its statements that change something are its steps. Before
//! one of them touches a tree it records what the entries are. Whoever does not see the change takes the
//! record in place of what the tree holds ([`crate::visible`]). When the transaction ends, its stamp gets
//! the number of the version that is made with it: those who read as of this version or a later one need
//! the records no more, and they go when nobody reads as of an older one. So a reader sees each
//! transaction whole or not at all, and only when it has been committed. One that is undone gets a version
//! as well, behind what it has put back: then the trees hold what its records say.
//!
//! Who writes trees anew records nothing but that: its readers have the old trees. Those of them that are
//! serializable come before it.

pub mod reads;
pub mod records;
pub mod serializable;
pub mod stamp;

use std::sync::Arc;
use std::sync::atomic::Ordering;

use storage::{TreeId, planted};
use types::{SqlError, SqlResult, SqlState};

use reads::ReadSet;
use records::{Changing, RECORD_BYTES_MAX, Record, UndoLog};
use stamp::Stamp;

/// The state of the trees that a reader sees: that of a version of the catalog, with what its own
/// transaction has done.
#[derive(Clone)]
pub struct ReadView(Arc<Registered>);

struct Registered {
    version: u64,
    own: Option<Own>,
    /// Of a transaction that is to be serializable, or of a query that locks rows: what it has read.
    reads: Option<Arc<ReadSet>>,
    /// It is of a query that locks rows.
    locks: bool,
    log: Arc<UndoLog>,
}

/// The steps of the own transaction that are seen.
#[derive(Clone)]
struct Own {
    stamp: Stamp,
    step: u32,
}

/// An entry as a reader sees it, or that it sees none.
pub type Seen = (Arc<[u8]>, Option<Arc<[u8]>>);

impl Default for ReadView {
    fn default() -> ReadView {
        let (reads, log) = (None, Arc::default());
        ReadView::new(Registered { version: 0, own: None, reads, locks: false, log })
    }
}

impl Drop for Registered {
    fn drop(&mut self) {
        self.log.leave(self.version);
    }
}

impl ReadView {
    fn new(registered: Registered) -> ReadView {
        registered.log.enter(registered.version);
        ReadView(Arc::new(registered))
    }

    /// That of the version which is made on top of this one.
    pub fn next(&self) -> ReadView {
        let (version, log) = (self.0.version + 1, self.0.log.clone());
        ReadView::new(Registered { version, own: None, reads: None, locks: false, log })
    }

    /// The same for a transaction that keeps it, and may note what it reads.
    pub fn pinned(&self, notes_reads: bool) -> ReadView {
        self.noting(notes_reads.then(Arc::default), false)
    }

    /// The same for a query that locks what it reads.
    pub fn locking(&self) -> ReadView {
        self.noting(Some(Arc::default()), true)
    }

    fn noting(&self, reads: Option<Arc<ReadSet>>, locks: bool) -> ReadView {
        let Registered { version, own, log, .. } = &*self.0;
        let (own, log) = (own.clone(), log.clone());
        ReadView::new(Registered { version: *version, own, reads, locks, log })
    }

    /// Whether it is of a query that locks what it reads.
    pub fn is_locking(&self) -> bool {
        self.0.locks
    }

    /// Whether what is read is noted.
    pub fn notes_reads(&self) -> bool {
        self.0.reads.is_some()
    }

    /// A transaction that begins to write.
    pub fn new_stamp(&self) -> Stamp {
        self.0.log.new_stamp()
    }

    /// The same with what a transaction has done up to a step.
    pub fn with_own(&self, stamp: &Stamp, step: u32) -> ReadView {
        let Registered { version, reads, log, .. } = &*self.0;
        let own = Some(Own { stamp: stamp.clone(), step });
        let reads = reads.clone().filter(|_| !planted::is("reads-lost-with-first-write"));
        let log = log.clone();
        ReadView::new(Registered { version: *version, own, reads, locks: false, log })
    }

    /// With what its own transaction has done as far as it is seen, that of another version.
    pub fn moved_to(&self, version: &ReadView) -> ReadView {
        match &self.0.own {
            Some(own) => version.with_own(&own.stamp, own.step),
            None => version.clone(),
        }
    }

    /// The number of the version.
    pub fn version(&self) -> u64 {
        self.0.version
    }

    /// Whether there are more bytes of records, and nobody but those who read as of this version keeps those that
    /// are newer.
    pub fn keeps_more_than(&self, bytes: usize) -> bool {
        let mut state = self.0.log.state();
        // Records that nobody needs and that are still there are not kept by anybody.
        state.drop_unneeded() == 0 && state.bytes() > bytes && state.oldest() == self.0.version
    }

    /// From now on those who begin to read see this version.
    pub fn show(&self) {
        self.0.log.shown.fetch_max(self.0.version, Ordering::Release);
    }

    /// Records what entries of a tree are, before the next step of the own transaction changes them.
    ///
    /// # Panics
    /// Without one.
    pub fn record<'a>(&self, tree: TreeId, entries: impl Iterator<Item = Changing<'a>>) {
        let own = self.0.own.as_ref().expect("who records is a transaction");
        self.0.log.record(&own.stamp, own.step + 1, tree, entries);
    }

    /// Other trees take the place of these with this version, which is the newest one, or their tables have gone.
    pub fn note_replaced(&self, trees: &[TreeId]) {
        if !trees.is_empty() {
            self.0.log.replace(trees, self.0.version);
        }
    }

    /// The transaction was undone, and has ended with this version, which is the newest one.
    pub fn undo(&self, stamp: &Stamp) {
        let mut state = self.0.log.state();
        self.0.log.end(&mut state, stamp, self.0.version, None);
    }

    /// The entries with keys from `low` up to and without `high` that others have changed, as they are
    /// seen. To be asked after the tree was read: what changes later was not read.
    ///
    /// # Errors
    /// 72000 when the records are no more.
    pub fn replaced(&self, tree: TreeId, low: &[u8], high: Option<&[u8]>) -> SqlResult<Vec<Seen>> {
        let (version, log) = (self.0.version, &self.0.log);
        if log.newest.load(Ordering::Acquire) <= version || high.is_some_and(|high| high <= low) {
            return Ok(vec![]);
        }
        let state = log.state();
        let Some(undo) = state.tree(tree) else { return Ok(vec![]) };
        if version < undo.lost {
            return Err(too_old());
        }
        let seen = undo.within(low, high).filter_map(|(key, records)| {
            let record = self.0.first_hidden(records)?;
            Some((key.clone(), record.old.clone()))
        });
        Ok(seen.collect())
    }

    /// Notes that a transaction has read the entries with keys from `low` up to and without `high`, if it
    /// is one that wants to know.
    pub fn note_read(&self, tree: TreeId, low: &[u8], high: Option<&[u8]>) {
        if let Some(reads) = &self.0.reads {
            reads.note(tree, low, high);
        }
    }

    /// Whether others have committed a change of something that was noted as read.
    pub fn has_outdated_reads(&self) -> bool {
        let Registered { version, reads: Some(reads), log, .. } = &*self.0 else { return false };
        if log.newest.load(Ordering::Acquire) <= *version {
            return false;
        }
        let state = log.state();
        reads.any(|tree, low, high| {
            state.tree(tree).is_some_and(|undo| {
                let mut changed = undo.within(low, high).flat_map(|(_, records)| records);
                *version < undo.lost || changed.any(|record| self.0.is_overtaken_by(record))
            })
        })
    }

    /// Whether others have committed a change of one of the entries since the version.
    pub fn is_outdated<'a>(&self, tree: TreeId, keys: impl Iterator<Item = &'a [u8]>) -> bool {
        self.is_overtaken(tree, keys, |_| true)
    }

    /// True if others have deleted one of these rows since the version, or changed one of its
    /// unique keys: who refers to it is in the way of no other change.
    pub fn is_key_outdated<'a>(&self, tree: TreeId, keys: impl Iterator<Item = &'a [u8]>) -> bool {
        self.is_overtaken(tree, keys, |record| !record.keeps_key)
    }

    /// True if others have committed a change that counts of one of the entries since the version.
    fn is_overtaken<'a>(
        &self,
        tree: TreeId,
        mut keys: impl Iterator<Item = &'a [u8]>,
        counts: impl Fn(&Record) -> bool,
    ) -> bool {
        let (version, log) = (self.0.version, &self.0.log);
        if log.newest.load(Ordering::Acquire) <= version {
            return false;
        }
        let state = log.state();
        let Some(undo) = state.tree(tree) else { return false };
        let overtaken = |record: &Record| counts(record) && self.0.is_overtaken_by(record);
        version < undo.lost || keys.any(|key| undo.of_key(key).iter().any(overtaken))
    }

    /// Whether the own transaction has changed one of the entries, in a step that is not seen.
    pub fn is_changed_later<'a>(
        &self,
        tree: TreeId,
        mut keys: impl Iterator<Item = &'a [u8]>,
    ) -> bool {
        let state = self.0.log.state();
        let later = |record: &Record| self.0.sees_own(record) == Some(false);
        state.tree(tree).is_some_and(|undo| keys.any(|key| undo.of_key(key).iter().any(later)))
    }

    /// The same of any entry of the tree.
    pub fn is_tree_changed_later(&self, tree: TreeId) -> bool {
        let state = self.0.log.state();
        let later = |record: &Record| self.0.sees_own(record) == Some(false);
        let undo = state.tree(tree);
        undo.is_some_and(|undo| undo.within(b"", None).flat_map(|(_, all)| all).any(later))
    }

    /// Whether others have committed a change of any entry of the tree since the version.
    pub fn is_tree_outdated(&self, tree: TreeId) -> bool {
        let state = self.0.log.state();
        state.tree(tree).is_some_and(|undo| {
            let mut changed = undo.within(b"", None).flat_map(|(_, records)| records);
            self.0.version < undo.lost || changed.any(|record| self.0.is_overtaken_by(record))
        })
    }
}

impl Registered {
    /// Whether a record is of the own transaction, and if so, whether of a step that is seen.
    fn sees_own(&self, record: &Record) -> Option<bool> {
        let own = self.own.as_ref().filter(|own| own.stamp.is(&record.stamp))?;
        Some(record.step + u32::from(planted::is("own-step-unseen")) <= own.step)
    }

    /// Whether it does not see the change.
    fn hides(&self, record: &Record) -> bool {
        match self.sees_own(record) {
            Some(is_seen) => !is_seen,
            None if planted::is("in-flight-seen") => record.stamp.is_committed_after(self.version),
            None => record.stamp.version() > self.version,
        }
    }

    /// The first change that it does not see. What was undone does not count when another transaction has
    /// changed the entry afterwards: that has found it as it was before.
    fn first_hidden<'a>(&self, records: &'a [Record]) -> Option<&'a Record> {
        let is_over = |at: usize, record: &Record| {
            let later = records[at + 1..].iter().any(|later| !later.stamp.is(&record.stamp));
            later && record.stamp.is_undone() && !planted::is("undone-hides-own")
        };
        let mut hidden = records.iter().enumerate().filter(|(_, record)| self.hides(record));
        hidden.find(|(at, record)| !is_over(*at, record)).map(|(_, record)| record)
    }

    /// Whether the change is one that others have committed since.
    fn is_overtaken_by(&self, record: &Record) -> bool {
        self.sees_own(record).is_none() && record.stamp.is_committed_after(self.version)
    }
}

/// The state of the error of who looks at what is kept no longer.
pub const SNAPSHOT_TOO_OLD: SqlState = SqlState("72000");

fn too_old() -> SqlError {
    SqlError::new(SNAPSHOT_TOO_OLD, "snapshot too old")
        .with_detail(format!(
            "What statements have replaced since this one began is kept up to {} MiB.",
            RECORD_BYTES_MAX >> 20
        ))
        .with_hint("Run the statement again; close cursors that are not read to their end.")
}

#[cfg(test)]
mod tests;
