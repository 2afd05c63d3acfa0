//! A budget that never waits: who gets no permit does the work another way.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

#[derive(Debug)]
struct State {
    limit: usize,
    taken: AtomicUsize,
    high: AtomicUsize,
}

/// So many permits, shared by all clones.
#[derive(Clone, Debug)]
pub struct Permits(Arc<State>);

/// One permit; given back when dropped.
#[derive(Debug)]
#[must_use = "a permit is given back when it is dropped"]
pub struct Permit(Arc<State>);

impl Permits {
    /// A budget of `limit` permits.
    pub fn new(limit: usize) -> Permits {
        let (taken, high) = (AtomicUsize::new(0), AtomicUsize::new(0));
        Permits(Arc::new(State { limit, taken, high }))
    }

    /// A permit, if one is left.
    pub fn try_acquire(&self) -> Option<Permit> {
        let state = &self.0;
        let mut taken = state.taken.load(Ordering::Relaxed);
        while taken < state.limit {
            let order = (Ordering::AcqRel, Ordering::Relaxed);
            match state.taken.compare_exchange_weak(taken, taken + 1, order.0, order.1) {
                Err(now) => taken = now,
                Ok(_) => {
                    state.high.fetch_max(taken + 1, Ordering::Relaxed);
                    return Some(Permit(state.clone()));
                }
            }
        }
        None
    }

    /// Permits out now.
    pub fn taken(&self) -> usize {
        self.0.taken.load(Ordering::Relaxed)
    }

    /// The most that were ever out at once.
    pub fn high_water(&self) -> usize {
        self.0.high.load(Ordering::Relaxed)
    }

    /// The size of the budget.
    pub fn limit(&self) -> usize {
        self.0.limit
    }
}

impl Drop for Permit {
    fn drop(&mut self) {
        let before = self.0.taken.fetch_sub(1, Ordering::AcqRel);
        assert!(before > 0, "more permits given back than taken");
    }
}
