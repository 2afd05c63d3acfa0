//! Runs a model, and futures inside of one.

use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll, Wake, Waker};

use loom::sync::Notify;

use crate::sync::put_fences;

/// Times that a thread loses its turn although it could go on: most mistakes need two at most (CHESS, Musuvathi
/// and Qadeer, 2007). `LOOM_MAX_PREEMPTIONS` sets another number.
const PREEMPTIONS: usize = 2;

/// Runs the model in every order that there is, with so many preemptions, and with fences before and behind;
/// prints how many orders those were.
pub fn check(name: &str, model: impl Fn() + Clone + Send + Sync + 'static) {
    let [before, behind] = [false, true].map(|behind| {
        put_fences(behind);
        orders(model.clone())
    });
    println!("{name}: {before} and {behind} orders");
}

fn orders(model: impl Fn() + Send + Sync + 'static) -> u64 {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = builder.preemption_bound.or(Some(PREEMPTIONS));
    builder.max_branches = 10_000;
    let count = Arc::new(AtomicU64::new(0));
    let counted = Arc::clone(&count);
    builder.check(move || {
        counted.fetch_add(1, Ordering::Relaxed);
        model();
    });
    let count = count.load(Ordering::Relaxed);
    assert!(count > 1, "there is more than one order");
    count
}

/// Wakes a thread of the model: `loom`'s `unpark` would also wake one that waits for a lock.
struct Bell(Notify);

impl Wake for Bell {
    fn wake(self: Arc<Self>) {
        self.0.notify();
    }
}

fn bell() -> (Arc<Bell>, Waker) {
    let bell = Arc::new(Bell(Notify::new()));
    (Arc::clone(&bell), Waker::from(bell))
}

/// Runs a future on a thread of the model. One that is never woken is a deadlock, which `loom` reports.
pub fn block_on<F: Future>(future: F) -> F::Output {
    let (mut future, (bell, waker)) = (pin!(future), bell());
    loop {
        match future.as_mut().poll(&mut Context::from_waker(&waker)) {
            Poll::Ready(value) => return value,
            Poll::Pending => bell.0.wait(),
        }
    }
}

/// Polls a future once and drops it.
pub fn poll_once<F: Future>(future: F) -> Option<F::Output> {
    match pin!(future).poll(&mut Context::from_waker(&bell().1)) {
        Poll::Ready(value) => Some(value),
        Poll::Pending => None,
    }
}
