//! Tasks that borrow from the ordinary thread that waits for them.

use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::pin::Pin;
use std::sync::{Mutex, mpsc};
use std::task::{Context, Poll};

use super::remote::{Urgency, promise, send_task};
use crate::inbox::Inbox;
use crate::lock::lock;
use crate::task::aborted::Aborted;

type Work<'a> = Pin<Box<dyn Future<Output = ()> + 'a>>;

/// Makes a task's future on its worker.
type Make<'a> = Box<dyn FnOnce() -> Lent<'a> + Send + 'a>;

/// Something lent, and the word that it is gone, which is given last: fields are dropped in order.
struct Held<T> {
    lent: T,
    _gone: mpsc::Sender<()>,
}

/// The future of a task that borrows.
struct Lent<'a>(Held<Work<'a>>);

impl Future for Lent<'_> {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        self.0.lent.as_mut().poll(cx)
    }
}

/// Tells when everything that was lent is gone.
struct Gone(mpsc::Receiver<()>);

impl Gone {
    /// Blocks the calling ordinary thread until then.
    fn wait(self) {
        // Nobody sends: the senders go, which is the end.
        let _ = self.0.recv();
    }
}

/// Work whose output goes to `output`, and the word of its end.
fn lend<'a: 'b, 'b, T: Send + 'a>(
    work: impl FnOnce() -> Pin<Box<dyn Future<Output = T> + 'a>> + Send + 'a,
    output: &'b Mutex<Option<T>>,
) -> (Make<'b>, Gone) {
    let (sender, receiver) = mpsc::channel();
    let held = Held { lent: work, _gone: sender };
    let make = move || {
        // As a whole: its fields are to be dropped in their order.
        let Held { lent: work, _gone } = { held };
        let future = work();
        let lent: Work<'b> = Box::pin(async move {
            let done = future.await;
            *lock(output) = Some(done);
        });
        Lent(Held { lent, _gone })
    };
    (Box::new(make), Gone(receiver))
}

/// Runs work on the worker of this inbox while the calling ordinary thread does `beside` and then waits;
/// what the work gave. A panic of `beside` is raised again when the work has ended.
pub(crate) fn run<'a, T: Send + 'a>(
    inbox: &Inbox,
    work: impl FnOnce() -> Pin<Box<dyn Future<Output = T> + 'a>> + Send + 'a,
    beside: impl FnOnce(),
) -> Result<T, Aborted> {
    let output = Mutex::new(None);
    let (make, gone) = lend(work, &output);
    let (promise, ended) = promise();
    // SAFETY: only the lifetime changes. Nothing between here and the end of `gone.wait` unwinds or
    // returns, and then closure and future are dropped, so that nothing refers to what they borrow.
    let make = unsafe { std::mem::transmute::<Make<'_>, Make<'static>>(make) };
    send_task(inbox, None, Urgency::Awaited, promise, make);
    let beside = catch_unwind(AssertUnwindSafe(beside));
    gone.wait();
    let ended = ended.wait();
    if let Err(panic) = beside {
        resume_unwind(panic);
    }
    ended.map(|()| lock(&output).take().expect("work that ended has an output"))
}

#[cfg(test)]
mod tests;
