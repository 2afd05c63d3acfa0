//! Long work beside short: who has had many turns goes behind, and keeps a share. By counts of turns, not
//! by the clock.

use std::cell::Cell;
use std::rc::Rc;

use runtime::sim::Disk;
use runtime::{Account, Config, RingChoice, Runtime, interleave, spawn, yield_now};

/// More turns than short work has.
const LONG_TURNS: u64 = 300;

/// Runs on one worker of the machine and of a simulation, without attack: queues have an exact order.
fn on_each(test: impl Fn(&Runtime)) {
    for ring in [RingChoice::Threads, RingChoice::Sim(Disk::new(3))] {
        let config = Config { workers: 1, attack: false, pin: false, ring, ..Config::default() };
        test(&Runtime::start(config).unwrap());
    }
}

/// Takes so many turns, each noted.
async fn turns(count: u64, taken: Rc<Cell<u64>>) {
    for _ in 0..count {
        taken.set(taken.get() + 1);
        yield_now().await;
    }
}

/// Tasks of one query, which take turns until they are told to stop.
struct Query {
    taken: Rc<Cell<u64>>,
    stop: Rc<Cell<bool>>,
}

impl Query {
    async fn of(task_count: usize) -> Query {
        let query = Query { taken: Rc::default(), stop: Rc::default() };
        let (taken, stop) = (query.taken.clone(), query.stop.clone());
        let begin = async move {
            for _ in 0..task_count {
                let (taken, stop) = (taken.clone(), stop.clone());
                drop(spawn(async move {
                    while !stop.get() {
                        turns(1, taken.clone()).await;
                    }
                }));
            }
        };
        Account::new().enter(begin).await;
        query
    }

    /// Waits until it has had so many turns.
    async fn had(&self, count: u64) {
        while self.taken.get() < count {
            yield_now().await;
        }
    }
}

/// Short work: a task of a query of its own.
async fn short(count: u64, taken: Rc<Cell<u64>>) {
    Account::new().enter(async move { spawn(turns(count, taken)).await.unwrap() }).await;
}

#[test]
fn short_work_does_not_wait_for_all_tasks_of_long_work() {
    on_each(|runtime| {
        let passed = runtime.block_on(|| async {
            let long = Query::of(32).await;
            long.had(LONG_TURNS).await;
            let before = long.taken.get();
            short(64, Rc::default()).await;
            let passed = long.taken.get() - before;
            long.stop.set(true);
            passed
        });
        // Among others that are ready all 32 would have had a turn for each of the 64. It has a turn after
        // eight of them, and this test's own task has some.
        assert!(passed <= 64 / 8 + 8, "{passed} turns of long work");
    });
}

#[test]
fn long_work_keeps_a_share_beside_any_amount_of_short_work() {
    on_each(|runtime| {
        let (short_turns, long_turns) = runtime.block_on(|| async {
            let long = Query::of(1).await;
            long.had(LONG_TURNS).await;
            let (before, taken) = (long.taken.get(), Rc::<Cell<u64>>::default());
            // Each is short; together they are ready all the time.
            let streams: Vec<_> = (0..16)
                .map(|_| {
                    let taken = taken.clone();
                    spawn(async move {
                        for _ in 0..20 {
                            short(50, taken.clone()).await;
                        }
                    })
                })
                .collect();
            for stream in streams {
                stream.await.unwrap();
            }
            long.stop.set(true);
            (taken.get(), long.taken.get() - before)
        });
        assert_eq!(short_turns, 16 * 20 * 50);
        assert!(long_turns >= short_turns / 10, "{long_turns} beside {short_turns}");
    });
}

#[test]
fn who_waits_for_a_cache_line_does_not_wait_for_all_turns_of_who_computes() {
    const HOPS: u64 = 10;
    on_each(|runtime| {
        let passed = runtime.block_on(|| async {
            let taken = Rc::<Cell<u64>>::default();
            let computing = spawn(turns(10_000, taken.clone()));
            let hopping = async {
                for _ in 0..HOPS {
                    interleave().await;
                }
            };
            spawn(hopping).await.unwrap();
            let passed = taken.get();
            computing.await.unwrap();
            passed
        });
        assert!(passed <= 2 * HOPS, "{passed} turns of another task");
    });
}
