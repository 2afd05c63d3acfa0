//! A gate that work passes through until it is closed; closing waits for those inside.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use super::wait_queue::WaitQueue;

/// The top bit says closed, the others count those inside.
const CLOSED: u64 = 1 << 63;

#[derive(Debug, Default)]
struct State {
    word: AtomicU64,
    empty: WaitQueue,
}

/// Clones are the same gate.
#[derive(Clone, Debug, Default)]
pub struct Gate(Arc<State>);

/// Somebody inside; leaves when dropped.
#[derive(Debug)]
#[must_use = "a pass is given back when it is dropped"]
pub struct Pass(Arc<State>);

impl Gate {
    /// An open gate with nobody inside.
    pub fn new() -> Gate {
        Gate::default()
    }

    /// Enters; `None` when the gate is closed.
    pub fn enter(&self) -> Option<Pass> {
        let enter = |word: u64| (word & CLOSED == 0).then_some(word + 1);
        let order = (Ordering::SeqCst, Ordering::SeqCst);
        self.0.word.fetch_update(order.0, order.1, enter).ok()?;
        Some(Pass(self.0.clone()))
    }

    /// How many are inside.
    pub fn inside(&self) -> u64 {
        self.0.word.load(Ordering::SeqCst) & !CLOSED
    }

    /// Whether it was closed.
    pub fn is_closed(&self) -> bool {
        self.0.word.load(Ordering::SeqCst) & CLOSED != 0
    }

    /// Lets nobody in from now on, and waits until nobody is inside.
    pub async fn close(&self) {
        self.0.word.fetch_or(CLOSED, Ordering::SeqCst);
        self.0.empty.wait(|| (self.inside() == 0).then_some(())).await;
    }
}

impl Drop for Pass {
    fn drop(&mut self) {
        let before = self.0.word.fetch_sub(1, Ordering::SeqCst);
        assert!(before & !CLOSED > 0, "more passes given back than taken");
        if before == CLOSED | 1 {
            self.0.empty.wake_all();
        }
    }
}
