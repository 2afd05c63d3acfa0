//! Semaphores, gates, events, permits, cancellation.
#![allow(clippy::disallowed_methods, reason = "tests look at the system from outside")]

#[path = "support/rings.rs"]
mod rings;

use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use rings::on_each;
use runtime::sync::{Cancel, Event, Gate, Permits, Semaphore, WaitQueue};
use runtime::{Config, RingChoice, Runtime, spawn, spawn_on, time, yield_now};

/// One worker whose ready queue keeps its order.
fn orderly() -> Runtime {
    let config =
        Config { workers: 1, attack: false, ring: RingChoice::Threads, ..Config::default() };
    Runtime::start(config).unwrap()
}

#[test]
fn a_semaphore_serves_in_order_of_arrival() {
    orderly().block_on(|| async {
        let semaphore = Semaphore::new(2);
        let order = Rc::new(RefCell::new(Vec::new()));
        let held = semaphore.acquire_many(2).await;
        // The second one is large: the small ones behind it must not overtake.
        let task = |(i, count): (usize, usize)| {
            let (semaphore, order) = (semaphore.clone(), order.clone());
            spawn(async move {
                let _permit = semaphore.acquire_many(count).await;
                order.borrow_mut().push(i);
                yield_now().await;
            })
        };
        let tasks: Vec<_> = [1, 2, 1, 1].into_iter().enumerate().map(task).collect();
        yield_now().await;
        assert!(semaphore.try_acquire().is_none());
        drop(held);
        for task in tasks {
            task.await.unwrap();
        }
        assert_eq!(*order.borrow(), [0, 1, 2, 3]);
        assert_eq!(semaphore.available(), 2);
    });
}

#[test]
fn who_leaves_a_semaphore_keeps_nothing() {
    orderly().block_on(|| async {
        let semaphore = Semaphore::new(1);
        let held = semaphore.acquire().await;
        let waiting = semaphore.clone();
        let waiter = spawn(async move { drop(waiting.acquire().await) });
        yield_now().await;
        // Granted, and then dropped before it could notice.
        drop(held);
        waiter.abort();
        waiter.await.unwrap_err();
        assert_eq!(semaphore.available(), 1);
    });
}

#[test]
fn a_semaphore_works_across_workers() {
    on_each(4, |runtime| {
        let most = runtime.block_on(|| async {
            let semaphore = Semaphore::new(3);
            let permits = Permits::new(100);
            let tasks: Vec<_> = (0..400)
                .map(|i| {
                    let (semaphore, permits) = (semaphore.clone(), permits.clone());
                    spawn_on(i % 4, move || async move {
                        let _turn = semaphore.acquire().await;
                        let _inside = permits.try_acquire().unwrap();
                        yield_now().await;
                    })
                })
                .collect();
            for task in tasks {
                task.await.unwrap();
            }
            assert_eq!((semaphore.available(), permits.taken()), (3, 0));
            permits.high_water()
        });
        assert!((1..=3).contains(&most), "{most} inside at once");
    });
}

#[test]
fn a_gate_closes_when_all_have_left() {
    on_each(2, |runtime| {
        runtime.block_on(|| async {
            let gate = Gate::new();
            let pass = gate.enter().unwrap();
            let closing = gate.clone();
            let closed = spawn_on(1, move || async move { closing.close().await });
            while !gate.is_closed() {
                yield_now().await;
            }
            assert!(gate.enter().is_none());
            time::sleep(Duration::from_millis(2)).await;
            assert!(!closed.is_finished());
            drop(pass);
            closed.await.unwrap();
        });
    });
}

#[test]
fn permits_are_refused_beyond_the_limit() {
    let permits = Permits::new(2);
    let (a, b) = (permits.try_acquire(), permits.try_acquire());
    assert!(a.is_some() && b.is_some() && permits.try_acquire().is_none());
    drop(a);
    assert!(permits.try_acquire().is_some());
    assert_eq!((permits.taken(), permits.high_water(), permits.limit()), (1, 2, 2));
}

#[test]
fn cancellation_reaches_all_workers() {
    on_each(3, |runtime| {
        runtime.block_on(|| async {
            let cancel = Cancel::new();
            let tasks: Vec<_> = (0..3)
                .map(|worker| {
                    let cancel = cancel.clone();
                    spawn_on(worker, move || async move { cancel.cancelled().await })
                })
                .collect();
            assert!(!cancel.is_cancelled());
            let from_outside = cancel.clone();
            std::thread::spawn(move || from_outside.cancel());
            for task in tasks {
                task.await.unwrap();
            }
            assert!(cancel.is_cancelled());
        });
    });
}

#[test]
fn a_call_to_a_waiter_that_left_goes_to_the_next() {
    orderly().block_on(|| async {
        let queue = Arc::new(WaitQueue::new());
        let open = Rc::new(std::cell::Cell::new(false));
        let waiter = || {
            let (queue, open) = (queue.clone(), open.clone());
            spawn(async move { queue.wait(|| open.get().then_some(())).await })
        };
        let (first, second) = (waiter(), waiter());
        yield_now().await;
        assert_eq!(queue.len(), 2);
        open.set(true);
        assert!(queue.wake_one());
        first.abort();
        first.await.unwrap_err();
        second.await.unwrap();
        assert!(queue.is_empty());
    });
}

#[test]
fn an_event_can_be_reset() {
    orderly().block_on(|| async {
        let event = Event::new();
        event.set();
        event.wait().await;
        event.reset();
        assert!(time::timeout(Duration::from_millis(1), event.wait()).await.is_err());
    });
}

#[test]
fn waiters_that_leave_from_the_middle_keep_nobody_from_being_called() {
    orderly().block_on(|| async {
        let queue = Arc::new(WaitQueue::new());
        let called = Rc::new(RefCell::new(Vec::new()));
        let waiter = |i: usize| {
            let (queue, called) = (queue.clone(), called.clone());
            spawn(async move {
                let mut polls = 0;
                let ready = || {
                    polls += 1;
                    // Asked before and after queueing up; the third time it was called.
                    (polls > 2).then_some(())
                };
                queue.wait(ready).await;
                called.borrow_mut().push(i);
            })
        };
        let tasks: Vec<_> = (0..300).map(waiter).collect();
        yield_now().await;
        for (i, task) in tasks.iter().enumerate() {
            if i % 3 != 0 {
                task.abort();
            }
        }
        yield_now().await;
        assert_eq!(queue.len(), 100);
        while queue.wake_one() {
            yield_now().await;
        }
        let expected: Vec<usize> = (0..300).filter(|i| i % 3 == 0).collect();
        assert_eq!(*called.borrow(), expected);
    });
}

#[test]
fn no_wake_is_lost_between_workers_that_fall_asleep() {
    on_each(2, |runtime| {
        let rounds = runtime.block_on(|| async {
            let turn = Arc::new(std::sync::atomic::AtomicU64::new(0));
            let queue = Arc::new(WaitQueue::new());
            let player = |me: u64| {
                let (turn, queue) = (turn.clone(), queue.clone());
                move || async move {
                    for round in 0..3000u64 {
                        let mine = round * 2 + me;
                        let now = || turn.load(std::sync::atomic::Ordering::SeqCst);
                        queue.wait(|| (now() == mine).then_some(())).await;
                        turn.store(mine + 1, std::sync::atomic::Ordering::SeqCst);
                        queue.wake_all();
                    }
                }
            };
            let (a, b) = (spawn_on(0, player(0)), spawn_on(1, player(1)));
            a.await.unwrap();
            b.await.unwrap();
            turn.load(std::sync::atomic::Ordering::SeqCst)
        });
        assert_eq!(rounds, 6000);
    });
}
