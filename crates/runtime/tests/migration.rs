//! Tasks that have not started move to workers that have nothing to do, and only those.
#![allow(clippy::disallowed_methods, reason = "tests look at the system from outside")]

#[path = "support/rings.rs"]
mod rings;

use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use rings::on_each;
use runtime::sim::Disk;
use runtime::sync::Event;
use runtime::{
    Aborted, Account, Config, RingChoice, Runtime, spawn, spawn_anywhere, spawn_anywhere_detached,
    spawn_on, time, yield_now,
};

/// Keeps the core busy, as a query's computation does.
fn compute(duration: Duration) {
    let begin = std::time::Instant::now();
    while begin.elapsed() < duration {
        std::hint::spin_loop();
    }
}

fn with(ring: RingChoice, workers: usize, migrate: bool, attack: bool) -> Option<Runtime> {
    let config = Config { ring, workers, migrate, attack, ..Config::default() };
    Runtime::start(config).ok()
}

/// Spawns `count` tasks on worker 0 that compute for `each`; how many ran on each worker.
fn spread(runtime: &Runtime, count: usize, each: Duration) -> Vec<usize> {
    let workers = runtime.workers();
    runtime.block_on(move || async move {
        let task = move || async move {
            compute(each);
            runtime::worker()
        };
        let tasks: Vec<_> = (0..count).map(|_| spawn_anywhere(task)).collect();
        let mut counts = vec![0; workers];
        for task in tasks {
            counts[task.await.unwrap()] += 1;
        }
        counts
    })
}

#[test]
fn an_uneven_load_is_levelled() {
    for ring in [RingChoice::Uring, RingChoice::Threads] {
        for (count, each_us) in [(400, 200), (8, 10_000)] {
            let Some(runtime) = with(ring.clone(), 2, true, false) else { continue };
            let counts = spread(&runtime, count, Duration::from_micros(each_us));
            // Half each would be ideal; the machine may be busy with something else.
            assert!(counts.iter().all(|n| *n >= count / 8), "{counts:?}");
            let moved: u64 = runtime.stats().iter().map(|worker| worker.migrated_count).sum();
            assert!(moved >= counts[1] as u64, "{moved} moved, {counts:?}");
        }
    }
}

#[test]
fn nothing_moves_when_told_so_or_when_there_is_no_surplus() {
    for ring in [RingChoice::Uring, RingChoice::Threads] {
        let Some(runtime) = with(ring.clone(), 2, false, false) else { continue };
        assert_eq!(spread(&runtime, 100, Duration::from_micros(100)), [100, 0]);
        // As many short tasks as the window holds are no surplus.
        let Some(runtime) = with(ring, 2, true, false) else { continue };
        for _ in 0..20 {
            spread(&runtime, 10, Duration::ZERO);
        }
        let moved: u64 = runtime.stats().iter().map(|worker| worker.migrated_count).sum();
        assert!(moved < 100, "{moved} of 200 short tasks moved");
    }
}

#[test]
fn started_tasks_stay_where_they_are() {
    on_each(3, |runtime| {
        runtime.block_on(|| async {
            let task = |_| {
                spawn_anywhere(|| async {
                    let begun = runtime::worker();
                    // Not `Send`: it could not move.
                    let local = Rc::new(begun);
                    for _ in 0..5 {
                        compute(Duration::from_micros(20));
                        yield_now().await;
                        assert_eq!(runtime::worker(), *local);
                    }
                    time::sleep(Duration::from_micros(50)).await;
                    assert_eq!(runtime::worker(), *local);
                    begun
                })
            };
            let tasks: Vec<_> = (0..200).map(task).collect();
            let mut begun = [0; 3];
            for task in tasks {
                begun[task.await.unwrap()] += 1;
            }
            assert_eq!(begun.iter().sum::<usize>(), 200);
        });
    });
}

#[test]
fn unstarted_tasks_take_their_turn_among_others() {
    on_each(1, |runtime| {
        let order = runtime.block_on(|| async {
            let order = Arc::new(std::sync::Mutex::new(Vec::new()));
            let mut all: Vec<std::pin::Pin<Box<dyn Future<Output = ()>>>> = Vec::new();
            for i in 0..40 {
                let order = order.clone();
                if i % 2 == 0 {
                    let task = spawn(async move { order.lock().unwrap().push(i) });
                    all.push(Box::pin(async move { task.await.unwrap() }));
                } else {
                    let task = spawn_anywhere(move || async move { order.lock().unwrap().push(i) });
                    all.push(Box::pin(async move { task.await.unwrap() }));
                }
            }
            for task in all {
                task.await;
            }
            std::mem::take(&mut *order.lock().unwrap())
        });
        let mut sorted = order.clone();
        sorted.sort_unstable();
        assert_eq!(sorted, (0..40).collect::<Vec<_>>());
        // Debug builds shuffle on purpose.
        assert!(cfg!(debug_assertions) || order == sorted, "{order:?}");
    });
}

/// Counts how many of its kind live.
struct Live(Arc<AtomicUsize>);

impl Live {
    fn new(count: &Arc<AtomicUsize>) -> Live {
        count.fetch_add(1, Ordering::SeqCst);
        Live(count.clone())
    }
}

impl Drop for Live {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}

#[test]
fn an_unstarted_task_that_is_aborted_is_never_made() {
    on_each(1, |runtime| {
        runtime.block_on(|| async {
            let (made, live) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
            let task = |_| {
                let (made, held) = (made.clone(), Live::new(&live));
                spawn_anywhere(move || {
                    made.fetch_add(1, Ordering::SeqCst);
                    async move { drop(held) }
                })
            };
            let tasks: Vec<_> = (0..30).map(task).collect();
            tasks.iter().step_by(3).for_each(|task| task.abort());
            for (i, task) in tasks.into_iter().enumerate() {
                let wanted = if i % 3 == 0 { Err(Aborted::Cancelled) } else { Ok(()) };
                assert_eq!(task.await, wanted);
            }
            assert_eq!(made.load(Ordering::SeqCst), 20);
            assert_eq!(live.load(Ordering::SeqCst), 0);
        });
    });
}

#[test]
fn a_moved_task_is_aborted_and_its_panic_is_told() {
    on_each(2, |runtime| {
        runtime.block_on(|| async {
            let task = |i: usize| {
                spawn_anywhere(move || async move {
                    compute(Duration::from_micros(100));
                    assert!(i.is_multiple_of(2), "odd");
                    time::sleep(Duration::from_secs(1000)).await;
                })
            };
            let tasks: Vec<_> = (0..60).map(task).collect();
            for (i, task) in tasks.into_iter().enumerate() {
                task.abort();
                let ended = task.await;
                let panicked = matches!(&ended, Err(Aborted::Panicked(text)) if text == "odd");
                let right = ended == Err(Aborted::Cancelled) || (i % 2 == 1 && panicked);
                assert!(right, "{i}: {ended:?}");
            }
        });
    });
}

#[test]
fn a_stopped_runtime_drops_what_never_started() {
    for workers in [1, 2] {
        for ring in [RingChoice::Uring, RingChoice::Threads, RingChoice::Sim(Disk::new(3))] {
            let Some(runtime) = with(ring, workers, true, true) else { continue };
            let live = Arc::new(AtomicUsize::new(0));
            let (held, told) = (live.clone(), Arc::new(AtomicUsize::new(0)));
            let hearing = told.clone();
            runtime.block_on(move || async move {
                let never = Arc::new(Event::new());
                let task = |_| {
                    let (held, never) = (Live::new(&held), never.clone());
                    // A destructor that spawns is refused, not kept.
                    let rude = Rude(Live::new(&held.0));
                    spawn_anywhere(move || async move {
                        let _held = (held, rude);
                        never.wait().await;
                    })
                };
                let tasks: Vec<_> = (0..500).map(task).collect();
                drop(spawn(async move {
                    for task in tasks {
                        let _ = task.await;
                    }
                    hearing.fetch_add(1, Ordering::SeqCst);
                }));
            });
            drop(runtime);
            assert_eq!(live.load(Ordering::SeqCst), 0);
            assert_eq!(told.load(Ordering::SeqCst), 0, "who waits is dropped too");
        }
    }
}

struct Rude(Live);

impl Drop for Rude {
    fn drop(&mut self) {
        let held = Live::new(&self.0.0);
        drop(spawn_anywhere(move || async move { drop(held) }));
    }
}

#[test]
fn the_account_goes_along() {
    on_each(2, |runtime| {
        let account = Account::new();
        let here = account.clone();
        let moved = runtime.block_on(move || async move {
            let work = async {
                let task = || async {
                    compute(Duration::from_millis(1));
                    // What it spawns is charged too.
                    spawn(async { compute(Duration::from_micros(10)) }).await.unwrap();
                    runtime::worker()
                };
                let tasks: Vec<_> = (0..60).map(|_| spawn_anywhere(task)).collect();
                let mut moved = 0;
                for task in tasks {
                    moved += usize::from(task.await.unwrap() != 0);
                }
                moved
            };
            here.enter(work).await
        });
        // The output of a task on another worker is there a moment before the task has ended.
        while account.snapshot().done < 120 {
            std::thread::yield_now();
        }
        let sum = account.snapshot();
        assert_eq!((sum.created, sum.done), (120, 120), "{moved} moved");
        // It computes for 60 ms by the clock on the wall; how much of that its cores were its own nobody knows.
        assert!(sum.cpu_ns >= 10_000_000, "{} ns", sum.cpu_ns);
    });
}

fn simulated(seed: u64) -> (Vec<usize>, u64, u64) {
    let disk = Disk::new(seed);
    let ring = RingChoice::Sim(disk.clone());
    let config = Config { ring, seed, workers: 3, ..Config::default() };
    let runtime = Runtime::start(config).unwrap();
    let places = runtime.block_on(|| async {
        let task = |i: u64| {
            move || async move {
                let other = spawn_anywhere(|| async { runtime::worker() });
                time::sleep(Duration::from_nanos(runtime::random_u64() % 2000 * i)).await;
                [runtime::worker(), other.await.unwrap()]
            }
        };
        let tasks: Vec<_> = (0..100).map(|i| spawn_anywhere(task(i))).collect();
        let busy = spawn_on(1, || time::sleep(Duration::from_micros(70)));
        let mut places = Vec::new();
        for task in tasks {
            places.extend(task.await.unwrap());
        }
        busy.await.unwrap();
        places
    });
    let moved = runtime.stats().iter().map(|worker| worker.migrated_count).sum();
    (places, moved, disk.trace_hash())
}

/// Rounds of tasks after which one worker has had the other's core for no innocent reason.
const ROUNDS_MAX: u64 = 100;

/// How long a worker may take to count a panic, whatever else the machine does.
const COUNTED_MAX: Duration = Duration::from_secs(20);

#[test]
fn detached_tasks_run_wherever_and_their_panics_harm_nobody() {
    on_each(2, |runtime| {
        let rounds = runtime.block_on(|| async {
            let places = Arc::new(AtomicUsize::new(0));
            // The machine may keep one of the cores for itself through a whole round.
            for round in 1..=ROUNDS_MAX {
                detach_90(&places).await;
                if places.load(Ordering::SeqCst) == 0b11 {
                    return round;
                }
            }
            panic!("{ROUNDS_MAX} rounds on workers {:#b}", places.load(Ordering::SeqCst));
        });
        // A task has ended, with what it holds, a moment before its worker counts the panic.
        let panics = || runtime.stats().iter().map(|worker| worker.panic_count).sum::<u64>();
        let begin = std::time::Instant::now();
        while panics() < 60 * rounds && begin.elapsed() < COUNTED_MAX {
            std::thread::sleep(Duration::from_millis(1));
        }
        assert_eq!(panics(), 60 * rounds);
    });
}

/// Runs 90 tasks, of which two in three panic, to their end; `places` gets the workers that ran them.
async fn detach_90(places: &Arc<AtomicUsize>) {
    let ended = Arc::new(AtomicUsize::new(0));
    for i in 0..90 {
        let (held, places) = (Ended(ended.clone()), places.clone());
        spawn_anywhere_detached(move || {
            assert!(i % 3 != 0, "never made");
            async move {
                let _held = held;
                compute(Duration::from_micros(300));
                places.fetch_or(1 << runtime::worker(), Ordering::SeqCst);
                assert!(i % 3 != 1, "in the middle");
            }
        });
    }
    while ended.load(Ordering::SeqCst) < 90 {
        time::sleep(Duration::from_millis(1)).await;
    }
}

/// Counts ends.
struct Ended(Arc<AtomicUsize>);

impl Drop for Ended {
    fn drop(&mut self) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }
}

#[test]
fn a_simulation_moves_the_same_tasks_each_time() {
    let mut hashes = std::collections::BTreeSet::new();
    for seed in 1..30 {
        let first = simulated(seed);
        assert_eq!(first, simulated(seed), "seed {seed}");
        assert!(first.1 > 0, "nothing moved with seed {seed}");
        assert!((0..3).all(|worker| first.0.contains(&worker)), "seed {seed}: {:?}", first.0);
        hashes.insert(first.2);
    }
    assert_eq!(hashes.len(), 29);
}
