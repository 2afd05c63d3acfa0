//! Which versions of tables at a store are still read.

use std::sync::{Arc, Mutex, PoisonError, Weak};

/// Lists that were replaced, as long as somebody still reads by them.
#[derive(Default)]
pub(crate) struct Leases(Mutex<Vec<(String, Weak<()>)>>);

impl Leases {
    /// Takes note of a list that is being replaced.
    pub(crate) fn note(&self, location: &str, lease: &Arc<()>) {
        let mut leases = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        leases.retain(|(_, lease)| lease.strong_count() > 0);
        leases.push((location.to_owned(), Arc::downgrade(lease)));
    }

    /// Whether somebody in this process still reads by a list of the location that was replaced.
    pub(crate) fn are_held(&self, location: &str) -> bool {
        let leases = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        leases.iter().any(|(of, lease)| of == location && lease.strong_count() > 0)
    }
}
