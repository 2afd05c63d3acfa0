//! Work that blocks, on a thread of its own, so that the worker goes on meanwhile.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex};

use crate::lock::lock;
use crate::stack;
use crate::sync::event::Event;
use crate::task::aborted::Aborted;
use crate::task::unwind::panic_text;
use crate::worker::{self, Worker};

struct Outcome<T> {
    value: Mutex<Option<Result<T, Aborted>>>,
    there: Event,
}

/// Runs `work` on a thread of its own and waits for its result. Dropping the future does not stop
/// the work. The caller bounds how many of these run at once: a thread costs some 20 µs. In a
/// simulation, which has one thread and whose clock stands still meanwhile, it is done at once.
///
/// # Errors
/// `Aborted` when the work panics or no thread can be had.
pub async fn offload<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, Aborted> {
    let run_here = |work| {
        catch_unwind(AssertUnwindSafe(work)).map_err(|panic| Aborted::Panicked(panic_text(&*panic)))
    };
    if worker::try_with(Worker::is_simulated).unwrap_or(false) {
        return run_here(work);
    }
    let result = Arc::new(Outcome { value: Mutex::default(), there: Event::new() });
    let theirs = result.clone();
    let run = move || {
        *lock(&theirs.value) = Some(run_here(work));
        theirs.there.set();
    };
    if let Err(error) = stack::start("dovetail-blocking".to_owned(), run) {
        return Err(Aborted::Panicked(format!("no thread can be had: {error}")));
    }
    result.there.wait().await;
    let outcome = lock(&result.value).take();
    outcome.expect("the result is there before the event")
}
