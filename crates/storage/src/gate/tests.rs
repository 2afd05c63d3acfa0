//! The fair lock: who has it with whom, in which order, and what dropped waiters leave behind.

use std::cell::RefCell;
use std::rc::Rc;

use runtime::sim::Disk;
use runtime::{Config, RingChoice, Runtime, yield_now};

use super::fair_lock::FairLock;

fn simulated<F: Future<Output = ()> + 'static>(test: impl FnOnce() -> F + Send + 'static) {
    let ring = RingChoice::Sim(Disk::new(1));
    let config = Config { workers: 1, ring, attack: false, ..Config::default() };
    Runtime::start(config).expect("a simulated runtime starts").block_on(test);
}

#[test]
fn one_who_wants_it_exclusively_is_not_overtaken() {
    simulated(|| async {
        let lock = Rc::new(FairLock::new());
        let order = Rc::new(RefCell::new(Vec::new()));
        let first = lock.shared().await;
        let mut running = Vec::new();
        for (name, alone) in [("alone", true), ("second", false), ("third", false)] {
            let (lock, order) = (lock.clone(), order.clone());
            running.push(runtime::spawn(async move {
                let guard = if alone { lock.exclusive().await } else { lock.shared().await };
                order.borrow_mut().push(name);
                yield_now().await;
                order.borrow_mut().push("left");
                drop(guard);
            }));
            yield_now().await;
        }
        yield_now().await;
        assert!(order.borrow().is_empty(), "all wait for the first");
        drop(first);
        for task in running {
            task.await.unwrap();
        }
        assert_eq!(*order.borrow(), ["alone", "left", "second", "third", "left", "left"]);
    });
}

#[test]
fn a_waiter_that_gives_up_lets_the_others_in() {
    simulated(|| async {
        let lock = Rc::new(FairLock::new());
        let first = lock.shared().await;
        let waiting = lock.clone();
        let alone = runtime::spawn(async move { drop(waiting.exclusive().await) });
        yield_now().await;
        let waiting = lock.clone();
        let together = runtime::spawn(async move { drop(waiting.shared().await) });
        yield_now().await;
        assert!(!together.is_finished(), "the one who wants to be alone is first");
        alone.abort();
        together.await.unwrap();
        drop(first);
        drop(lock.exclusive().await);
    });
}
