//! A turnstile: many may pass together, or one alone, first come, first served.
//!
//! Writers pass together and a checkpoint passes alone; so a checkpoint that waits is not overtaken
//! for ever.

use std::collections::VecDeque;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use stdx::sync::{Mutex, MutexGuard};

/// The turnstile. Waiting for it suspends the task.
#[derive(Default)]
pub(crate) struct Turnstile {
    inner: Mutex<Inner>,
}

#[derive(Default)]
struct Inner {
    together: usize,
    alone: bool,
    queue: VecDeque<Arc<Visitor>>,
}

struct Visitor {
    alone: bool,
    state: Mutex<VisitorState>,
}

#[derive(Default)]
struct VisitorState {
    admitted: bool,
    waker: Option<Waker>,
}

/// Leave to be inside; leaving is dropping it.
pub(crate) struct Pass<'t> {
    turnstile: &'t Turnstile,
    alone: bool,
}

impl Turnstile {
    pub fn new() -> Turnstile {
        Turnstile::default()
    }

    /// Enters together with others.
    pub fn together(&self) -> Enter<'_> {
        self.enter(false)
    }

    /// Enters together with others, `None` if that takes waiting.
    pub fn try_together(&self) -> Option<Pass<'_>> {
        let mut inner = self.inner.lock().expect("turnstile");
        if !inner.queue.is_empty() || !inner.may_enter(false) {
            return None;
        }
        inner.count_in(false);
        Some(Pass { turnstile: self, alone: false })
    }

    /// Enters when everybody else has left.
    pub fn alone(&self) -> Enter<'_> {
        self.enter(true)
    }

    fn enter(&self, alone: bool) -> Enter<'_> {
        Enter { turnstile: self, alone, visitor: None }
    }

    fn leave(&self, alone: bool) {
        let mut inner = self.inner.lock().expect("turnstile");
        if alone {
            assert!(inner.alone, "nobody is alone inside");
            inner.alone = false;
        } else {
            assert!(inner.together > 0, "nobody is inside");
            inner.together -= 1;
        }
        self.admit(inner);
    }

    /// Lets in from the head of the queue whoever may be inside with those who are.
    fn admit(&self, mut inner: MutexGuard<'_, Inner>) {
        let mut admitted = Vec::new();
        while let Some(first) = inner.queue.front() {
            if !inner.may_enter(first.alone) {
                break;
            }
            let visitor = inner.queue.pop_front().expect("the queue has a first");
            inner.count_in(visitor.alone);
            visitor.state.lock().expect("visitor").admitted = true;
            admitted.push(visitor);
        }
        drop(inner);
        for visitor in admitted {
            let waker = visitor.state.lock().expect("visitor").waker.take();
            waker.into_iter().for_each(Waker::wake);
        }
    }
}

impl Inner {
    fn may_enter(&self, alone: bool) -> bool {
        !self.alone && (!alone || self.together == 0)
    }

    fn count_in(&mut self, alone: bool) {
        assert!(self.may_enter(alone), "the turnstile is closed");
        if alone {
            self.alone = true;
        } else {
            self.together += 1;
        }
    }
}

/// Waits at the turnstile.
pub(crate) struct Enter<'t> {
    turnstile: &'t Turnstile,
    alone: bool,
    visitor: Option<Arc<Visitor>>,
}

impl<'t> Future for Enter<'t> {
    type Output = Pass<'t>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Pass<'t>> {
        if let Some(visitor) = &self.visitor {
            let mut state = visitor.state.lock().expect("visitor");
            if !state.admitted {
                state.waker = Some(cx.waker().clone());
                return Poll::Pending;
            }
            drop(state);
            self.visitor = None;
            return Poll::Ready(Pass { turnstile: self.turnstile, alone: self.alone });
        }
        let mut inner = self.turnstile.inner.lock().expect("turnstile");
        if inner.queue.is_empty() && inner.may_enter(self.alone) {
            inner.count_in(self.alone);
            return Poll::Ready(Pass { turnstile: self.turnstile, alone: self.alone });
        }
        let state = VisitorState { admitted: false, waker: Some(cx.waker().clone()) };
        let visitor = Arc::new(Visitor { alone: self.alone, state: Mutex::new(state) });
        inner.queue.push_back(Arc::clone(&visitor));
        drop(inner);
        self.visitor = Some(visitor);
        Poll::Pending
    }
}

impl Drop for Enter<'_> {
    fn drop(&mut self) {
        let Some(visitor) = self.visitor.take() else { return };
        let mut inner = self.turnstile.inner.lock().expect("turnstile");
        inner.queue.retain(|other| !Arc::ptr_eq(other, &visitor));
        if visitor.state.lock().expect("visitor").admitted {
            drop(inner);
            self.turnstile.leave(self.alone);
        } else {
            // The one who left may have been all that held the others back.
            self.turnstile.admit(inner);
        }
    }
}

impl Drop for Pass<'_> {
    fn drop(&mut self) {
        self.turnstile.leave(self.alone);
    }
}
