//! Tasks that borrow from the ordinary thread that waits for them.

use std::future::Future;
use std::pin::Pin;
use std::sync::{Mutex, mpsc};
use std::task::{Context, Poll};

use crate::inbox::lock;

type Work<'a> = Pin<Box<dyn Future<Output = ()> + 'a>>;

/// Makes a task's future on its worker.
pub(crate) type Make<'a> = Box<dyn FnOnce() -> Lent<'a> + Send + 'a>;

/// Something lent, and the word that it is gone, which is given last: fields are dropped in order.
struct Held<T> {
    lent: T,
    _gone: mpsc::Sender<()>,
}

/// The future of a task that borrows.
pub(crate) struct Lent<'a>(Held<Work<'a>>);

impl Future for Lent<'_> {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        self.0.lent.as_mut().poll(cx)
    }
}

/// Tells when everything that was lent is gone.
pub(crate) struct Gone(mpsc::Receiver<()>);

impl Gone {
    /// Blocks the calling ordinary thread until then.
    pub(crate) fn wait(self) {
        // Nobody sends: the senders go, which is the end.
        let _ = self.0.recv();
    }
}

/// Work whose output goes to `output`, and the word of its end.
pub(crate) fn lend<'a: 'b, 'b, T: Send + 'a>(
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

/// The same work without a bound on how long it may live.
///
/// # Safety
/// The caller does not return, nor unwind, before [`Gone`] says that the work is gone.
pub(crate) unsafe fn unbounded(make: Make<'_>) -> Make<'static> {
    // SAFETY: only the lifetime changes; by the caller's promise nothing of it outlives what it borrows.
    unsafe { std::mem::transmute::<Make<'_>, Make<'static>>(make) }
}
