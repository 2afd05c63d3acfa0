//! Who gets which lock, and when.

use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::task::Wake;

use super::*;

const KEY: Key = Key::One(7);

fn wish(key: Key, shared: bool) -> Wish {
    Wish { key, shared, in_transaction: false }
}

struct Count(AtomicUsize);

impl Wake for Count {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, SeqCst);
    }
}

/// A waiting session, and how often it was woken.
struct Waiter(Pin<Box<Obtain>>, Arc<Count>);

impl Waiter {
    fn new(locks: &Arc<AdvisoryLocks>, session: u64, wish: Wish) -> Waiter {
        Waiter(Box::pin(locks.obtain(session, wish)), Arc::new(Count(AtomicUsize::new(0))))
    }

    fn poll(&mut self) -> Poll<SqlResult<()>> {
        let waker = Waker::from(self.1.clone());
        self.0.as_mut().poll(&mut Context::from_waker(&waker))
    }

    fn woken(&self) -> usize {
        self.1.0.load(SeqCst)
    }
}

#[test]
fn one_holds_it_as_often_as_it_likes() {
    let locks = AdvisoryLocks::default();
    assert!(locks.try_take(1, wish(KEY, false)));
    assert!(locks.try_take(1, wish(KEY, false)));
    assert!(!locks.try_take(2, wish(KEY, false)));
    assert!(!locks.try_take(2, wish(KEY, true)));
    assert!(locks.try_take(2, wish(Key::Two(0, 7), false)), "another key");
    assert!(locks.release(1, KEY, false));
    assert!(!locks.try_take(2, wish(KEY, false)));
    assert!(locks.release(1, KEY, false));
    assert!(!locks.release(1, KEY, false));
    assert!(locks.try_take(2, wish(KEY, false)));
}

#[test]
fn many_share_it() {
    let locks = AdvisoryLocks::default();
    assert!(locks.try_take(1, wish(KEY, true)) && locks.try_take(2, wish(KEY, true)));
    assert!(!locks.try_take(3, wish(KEY, false)));
    locks.end_session(1);
    locks.end_session(2);
    assert!(locks.try_take(3, wish(KEY, false)));
}

#[test]
fn they_get_it_in_the_order_of_their_arrival() {
    let locks = Arc::new(AdvisoryLocks::default());
    assert!(locks.try_take(1, wish(KEY, false)));
    let mut second = Waiter::new(&locks, 2, wish(KEY, false));
    let mut third = Waiter::new(&locks, 3, wish(KEY, true));
    assert!(second.poll().is_pending() && third.poll().is_pending());
    locks.end_session(1);
    assert_eq!((second.woken(), third.woken()), (1, 1));
    assert!(third.poll().is_pending(), "the second came first");
    assert!(second.poll().is_ready());
    assert!(third.poll().is_pending());
    assert!(locks.release(2, KEY, false));
    assert!(third.poll().is_ready());
    locks.end_session(3);
    assert!(locks.shown().is_empty());
}

#[test]
fn who_leaves_the_queue_lets_others_by() {
    let locks = Arc::new(AdvisoryLocks::default());
    assert!(locks.try_take(1, wish(KEY, true)));
    let mut second = Waiter::new(&locks, 2, wish(KEY, false));
    let mut third = Waiter::new(&locks, 3, wish(KEY, true));
    assert!(second.poll().is_pending() && third.poll().is_pending());
    drop(second);
    assert_eq!(third.woken(), 1);
    assert!(third.poll().is_ready());
}

#[test]
fn those_who_wait_for_each_other_are_told() {
    let locks = Arc::new(AdvisoryLocks::default());
    let other = Key::Two(1, 2);
    assert!(locks.try_take(1, wish(KEY, false)) && locks.try_take(2, wish(other, false)));
    let mut first = Waiter::new(&locks, 1, wish(other, false));
    let mut second = Waiter::new(&locks, 2, wish(KEY, false));
    assert!(first.poll().is_pending());
    let Poll::Ready(Err(error)) = second.poll() else { panic!("it waits") };
    assert_eq!(error.state.0, "40P01");
    locks.end_session(2);
    assert!(first.poll().is_ready());
}

#[test]
fn those_of_a_transaction_end_with_it() {
    let locks = AdvisoryLocks::default();
    assert!(locks.try_take(1, Wish { in_transaction: true, ..wish(KEY, false) }));
    assert!(!locks.release(1, KEY, false));
    locks.release_session(1);
    assert!(!locks.try_take(2, wish(KEY, false)));
    locks.end_transaction(1);
    assert!(locks.try_take(2, wish(KEY, false)));
    assert_eq!(locks.in_transaction.load(SeqCst), 0);
}
