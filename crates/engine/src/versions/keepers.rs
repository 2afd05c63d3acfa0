//! Transactions that keep a version and may write. Definitions that change fail them (40001), which is what a
//! statement of a user may do, but not work that nobody has asked for.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use runtime::sync::{Cancel, WaitQueue};
use txn::waiting::unless_cancelled;
use types::SqlResult;

/// Those that are open, and whether new ones wait.
#[derive(Default)]
pub(crate) struct Keepers {
    state: Mutex<State>,
    opened: WaitQueue,
}

#[derive(Default)]
struct State {
    open: usize,
    is_closed: bool,
}

/// One that is open.
pub(crate) struct Keeper(Arc<Keepers>);

/// There is none, and new ones wait until this goes.
pub(crate) struct NoKeepers(Arc<Keepers>);

impl Keepers {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// One begins: before it takes its snapshot.
    ///
    /// # Errors
    /// 57014
    pub(crate) async fn enter(self: &Arc<Keepers>, cancel: &Cancel) -> SqlResult<Arc<Keeper>> {
        let enter = || {
            let mut state = self.state();
            let may_enter = !state.is_closed;
            state.open += usize::from(may_enter);
            may_enter.then(|| Arc::new(Keeper(self.clone())))
        };
        if let Some(keeper) = enter() {
            return Ok(keeper);
        }
        unless_cancelled(cancel, self.opened.wait(enter)).await
    }

    /// Whether there are none at this moment.
    pub(crate) fn is_empty(&self) -> bool {
        self.state().open == 0
    }

    /// Keeps out new ones, if none is open.
    pub(crate) fn close(self: &Arc<Keepers>) -> Option<NoKeepers> {
        let mut state = self.state();
        if state.open > 0 || state.is_closed {
            return None;
        }
        state.is_closed = true;
        drop(state);
        Some(NoKeepers(self.clone()))
    }
}

impl Drop for Keeper {
    fn drop(&mut self) {
        self.0.state().open -= 1;
    }
}

impl Drop for NoKeepers {
    fn drop(&mut self) {
        self.0.state().is_closed = false;
        self.0.opened.wake_all();
    }
}
