//! The wish that some work should end.

use std::sync::Arc;

use super::event::Event;

/// A token: all clones share one flag.
#[derive(Clone, Debug, Default)]
pub struct Cancel(Arc<Event>);

impl Cancel {
    /// A token that nobody has cancelled.
    pub fn new() -> Cancel {
        Cancel::default()
    }

    /// Asks the work to end. From any thread, any number of times.
    pub fn cancel(&self) {
        self.0.set();
    }

    /// Whether it was asked to end; to be looked at between operations.
    #[inline]
    pub fn is_cancelled(&self) -> bool {
        self.0.is_set()
    }

    /// Waits for the wish.
    pub async fn cancelled(&self) {
        self.0.wait().await;
    }
}
