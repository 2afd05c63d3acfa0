//! When a transaction that writes has ended, and how.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// The version of a transaction that has not ended: it is newer than all that are read.
const IN_FLIGHT: u64 = u64::MAX;

/// A transaction that writes, to those who look at what it has changed.
#[derive(Clone)]
pub(crate) struct Stamp(Arc<Outcome>);

struct Outcome {
    id: u64,
    /// [`IN_FLIGHT`], or the version that was made with its end.
    version: AtomicU64,
    is_undone: AtomicBool,
}

impl Stamp {
    pub(super) fn new(id: u64) -> Stamp {
        let (version, is_undone) = (AtomicU64::new(IN_FLIGHT), AtomicBool::new(false));
        Stamp(Arc::new(Outcome { id, version, is_undone }))
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

    /// It has ended with the version.
    pub(super) fn end(&self, version: u64, is_undone: bool) {
        assert!(self.version() == IN_FLIGHT, "a transaction ends once");
        self.0.is_undone.store(is_undone, Ordering::Release);
        self.0.version.store(version, Ordering::Release);
    }
}
