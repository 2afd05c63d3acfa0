//! When a transaction that writes has ended, and how.

use std::sync::Arc;

use stdx::sync::{AtomicBool, AtomicU64, Ordering};

/// The version of a transaction that has not ended: it is newer than all that are read.
const IN_FLIGHT: u64 = u64::MAX;

/// A transaction that writes, to those who look at what it has changed.
#[derive(Clone)]
pub struct Stamp(Arc<Outcome>);

struct Outcome {
    id: u64,
    /// [`IN_FLIGHT`], or the version that was made with its end.
    version: AtomicU64,
    is_undone: AtomicBool,
    first_successor: AtomicU64,
}

impl Stamp {
    pub(super) fn new(id: u64) -> Stamp {
        let (version, is_undone) = (AtomicU64::new(IN_FLIGHT), AtomicBool::new(false));
        Stamp(Arc::new(Outcome { id, version, is_undone, first_successor: AtomicU64::new(0) }))
    }

    pub(super) fn id(&self) -> u64 {
        self.0.id
    }

    pub(super) fn is(&self, other: &Stamp) -> bool {
        self.0.id == other.0.id
    }

    pub(super) fn version(&self) -> u64 {
        self.0.version.load(Ordering::Acquire)
    }

    /// Whether it was committed, and later than this version.
    pub(super) fn is_committed_after(&self, version: u64) -> bool {
        let own = self.version();
        own != IN_FLIGHT && own > version && !self.is_undone()
    }

    /// Whether it has ended and was not committed.
    pub(super) fn is_undone(&self) -> bool {
        self.0.is_undone.load(Ordering::Acquire)
    }

    /// The first version that it comes before, of one that was committed: its own, or that of one which has
    /// replaced what it read. 0 where that is not known.
    pub(super) fn first_successor(&self) -> u64 {
        self.0.first_successor.load(Ordering::Acquire)
    }

    /// The same where it is known.
    pub(super) fn known_successor(&self) -> Option<u64> {
        Some(self.first_successor()).filter(|first| *first > 0)
    }

    /// It has ended with the version: it was undone, or has a first successor.
    pub(super) fn end(&self, version: u64, successor: Option<u64>) {
        assert!(self.version() == IN_FLIGHT, "a transaction ends once");
        assert!(successor.is_none_or(|first| first <= version), "it comes before itself at most");
        self.0.is_undone.store(successor.is_none(), Ordering::Release);
        self.0.first_successor.store(successor.unwrap_or(0), Ordering::Release);
        self.0.version.store(version, Ordering::Release);
    }
}
