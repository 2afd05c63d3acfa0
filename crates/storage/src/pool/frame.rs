//! A frame: what it does, and for which page.

use stdx::sync::{AtomicU32, Ordering};

use super::state::StateWord;

/// A frame's state and the number of its page (a `PageId`; the model checker knows none). Who looks at the number has
/// pinned the frame, or keeps others from taking it from its page.
#[derive(Default)]
pub(super) struct PoolFrame {
    pub state: StateWord,
    pid: AtomicU32,
}

impl PoolFrame {
    #[inline]
    pub fn pid(&self) -> u32 {
        self.pid.load(Ordering::Relaxed)
    }

    /// Loading → Resident: the frame holds this page from now on, with so many pins. The number comes first:
    /// who pins a resident frame sees the number of its page.
    pub fn install(&self, pid: u32, pins: u64, dirty: bool) {
        self.pid.store(pid, Ordering::Relaxed);
        self.state.publish(pins, dirty);
    }
}
