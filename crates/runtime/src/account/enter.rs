//! What runs under an account.

use std::future::Future;
use std::pin::Pin;
use std::rc::Rc;
use std::sync::Arc;
use std::task::{Context, Poll};

use crate::account::{Account, LocalAccount};
use crate::worker::{self, Worker};

/// Runs `f` with its time charged to `account`.
pub(crate) fn within<T>(
    worker: &Worker,
    account: Option<Arc<Account>>,
    f: impl FnOnce() -> T,
) -> T {
    let local = account.map(|account| worker.accounting.intern(&account, worker.index));
    let before = worker.accounting.current();
    worker.account_to(local.as_ref());
    let out = f();
    worker.account_to(before.as_ref());
    out
}

/// A future that runs under an account; see [`Account::enter`].
pub struct Enter<F> {
    account: Arc<Account>,
    local: Option<Rc<LocalAccount>>,
    future: F,
}

impl Account {
    /// Runs a future under this account, and so all tasks that it spawns.
    pub fn enter<F: Future>(self: &Arc<Self>, future: F) -> Enter<F> {
        Enter { account: self.clone(), local: None, future }
    }
}

impl<F: Future> Future for Enter<F> {
    type Output = F::Output;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<F::Output> {
        // SAFETY: `future` is pinned structurally: never moved out, and dropped in place.
        let (account, local, future) = unsafe {
            let this = self.get_unchecked_mut();
            (&this.account, &mut this.local, Pin::new_unchecked(&mut this.future))
        };
        worker::with(|w| {
            let local = local.get_or_insert_with(|| w.accounting.intern(account, w.index)).clone();
            let before = w.accounting.current();
            w.account_to(Some(&local));
            let polled = future.poll(cx);
            w.account_to(before.as_ref());
            polled
        })
    }
}
