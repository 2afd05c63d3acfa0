//! Where work gives others their turn.

use types::SqlResult;

use crate::scope::{Scope, halted};

/// Gives other tasks their turn when the time slice is used up.
pub(crate) async fn breathe() {
    if runtime::need_preempt() {
        runtime::yield_now().await;
    }
}

/// Gives other tasks their turn; an error when the work is not wanted any more.
pub(crate) async fn go_on(scope: &Scope) -> SqlResult<()> {
    breathe().await;
    if scope.is_stopped() { Err(halted()) } else { Ok(()) }
}
