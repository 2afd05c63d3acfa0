//! The wish that some work should end.

use std::sync::{Arc, OnceLock};

use super::event::Event;
use crate::time::{self, Instant};

/// A token: all clones share one flag.
#[derive(Clone, Debug, Default)]
pub struct Cancel(Arc<Wish>);

#[derive(Debug, Default)]
struct Wish {
    event: Event,
    deadline: OnceLock<Instant>,
}

impl Cancel {
    /// A token that nobody has cancelled.
    pub fn new() -> Cancel {
        Cancel::default()
    }

    /// Asks the work to end. From any thread, any number of times.
    pub fn cancel(&self) {
        self.0.event.set();
    }

    /// Whether it was asked to end; to be looked at between operations.
    #[inline]
    pub fn is_cancelled(&self) -> bool {
        self.0.event.is_set()
    }

    /// Says until when the work may go on; once. Whoever waits for the wish is not told when the
    /// time is up: that is for work that computes without waiting, and may keep the one from its
    /// turn who would say so.
    pub fn set_deadline(&self, deadline: Instant) {
        self.0.deadline.set(deadline).ok();
    }

    /// True if the time is up, if there is a deadline.
    pub fn is_overdue(&self) -> bool {
        self.0.deadline.get().is_some_and(|deadline| time::now() >= *deadline)
    }

    /// Waits for the wish.
    pub async fn cancelled(&self) {
        self.0.event.wait().await;
    }
}
