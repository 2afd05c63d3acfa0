//! Tasks: outputs, panics, abortion, other workers, queues, timers, idleness.
#![allow(clippy::disallowed_methods, reason = "tests look at the system from outside")]

#[path = "support/rings.rs"]
mod rings;

use std::cell::RefCell;
use std::future::poll_fn;
use std::pin::Pin;
use std::rc::Rc;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use rings::{on_each, start};
use runtime::{
    Aborted, Config, RingChoice, Runtime, interleave, spawn, spawn_on, time, to_end,
    unless_panicked, yield_now,
};

#[test]
fn outputs_come_back() {
    on_each(2, |runtime| {
        let sum = runtime.block_on(|| async {
            let tasks: Vec<_> = (0..1000u64).map(|i| spawn(async move { i })).collect();
            let mut sum = 0;
            for task in tasks {
                sum += task.await.unwrap();
            }
            sum
        });
        assert_eq!(sum, 499_500);
    });
}

#[test]
fn tasks_run_on_the_worker_asked_for() {
    on_each(3, |runtime| {
        runtime.block_on(|| async {
            assert_eq!((runtime::worker(), runtime::worker_count()), (0, 3));
            for worker in 0..3 {
                let there = spawn_on(worker, || async {
                    // `Rc` shows that the future itself need not be `Send`.
                    let local = Rc::new(5);
                    yield_now().await;
                    (runtime::worker(), *local)
                });
                assert_eq!(there.await, Ok((worker, 5)));
            }
        });
    });
}

#[test]
fn a_panic_reaches_who_waits_and_nobody_else() {
    on_each(2, |runtime| {
        runtime.block_on(|| async {
            let bad = spawn(async { panic!("first {}", 1) });
            let good = spawn(async { 2 });
            let bad: Result<(), _> = bad.await;
            assert_eq!(bad, Err(Aborted::Panicked("first 1".to_owned())));
            assert_eq!(good.await, Ok(2));
            let far: Result<(), _> = spawn_on(1, || async { panic!("second") }).await;
            assert_eq!(far, Err(Aborted::Panicked("second".to_owned())));
        });
        let caught = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            runtime.block_on(|| async { panic!("third") })
        }));
        assert_eq!(caught.unwrap_err().downcast_ref::<String>().unwrap(), "third");
        assert_eq!(runtime.block_on(|| async { 4 }), 4);
    });
}

#[test]
fn what_has_begun_goes_to_its_end() {
    on_each(1, |runtime| {
        runtime.block_on(|| async {
            let told = Rc::new(RefCell::new(vec![]));
            let tell = |word| {
                let told = told.clone();
                move || told.borrow_mut().push(word)
            };
            // It begins where it is asked for, and is no task if it does not wait.
            let at_once = tell("at once");
            let mut first = Box::pin(to_end(async move { at_once() }));
            assert!(polled(first.as_mut()).await);
            assert_eq!(*told.borrow(), ["at once"]);
            // Work that has to wait goes on, also when nobody waits for it.
            let (begin, end) = (tell("begin"), tell("end"));
            let mut second = Box::pin(to_end(async move {
                begin();
                time::sleep(Duration::from_micros(1)).await;
                end();
            }));
            assert!(!polled(second.as_mut()).await);
            drop(second);
            while told.borrow().len() < 3 {
                yield_now().await;
            }
            assert_eq!(*told.borrow(), ["at once", "begin", "end"]);
            let panicked = |text: &str| Err(Aborted::Panicked(text.to_owned()));
            let early: Result<(), _> = to_end(async { panic!("early") }).await;
            assert_eq!(early, panicked("early"));
            let late: Result<(), _> = to_end(async {
                yield_now().await;
                panic!("late")
            })
            .await;
            assert_eq!(late, panicked("late"));
            let here: Result<(), _> = unless_panicked(async {
                yield_now().await;
                panic!("here")
            })
            .await;
            assert_eq!(here, panicked("here"));
            assert_eq!(unless_panicked(async { 5 }).await, Ok(5));
        });
    });
}

/// True if a future is done after one poll.
async fn polled<F: Future>(mut future: Pin<&mut F>) -> bool {
    poll_fn(|cx| Poll::Ready(future.as_mut().poll(cx).is_ready())).await
}

struct Noted(Rc<RefCell<Vec<&'static str>>>, &'static str);

impl Drop for Noted {
    fn drop(&mut self) {
        self.0.borrow_mut().push(self.1);
    }
}

#[test]
fn abortion_drops_the_future_and_detaching_does_not() {
    on_each(2, |runtime| {
        runtime.block_on(|| async {
            let notes = Rc::new(RefCell::new(Vec::new()));
            let (a, b) = (Noted(notes.clone(), "aborted"), Noted(notes.clone(), "ran on"));
            let aborted = spawn(async move {
                let _a = a;
                time::sleep(Duration::from_secs(1000)).await;
            });
            let detached = spawn(async move {
                time::sleep(Duration::from_millis(1)).await;
                drop(b);
            });
            yield_now().await;
            aborted.abort();
            drop(detached);
            assert_eq!(aborted.await, Err(Aborted::Cancelled));
            assert_eq!(*notes.borrow(), ["aborted"]);
            while notes.borrow().len() < 2 {
                time::sleep(Duration::from_millis(1)).await;
            }
            let far = spawn_on(1, || time::sleep(Duration::from_secs(1000)));
            far.abort();
            assert_eq!(far.await, Err(Aborted::Cancelled));
        });
    });
}

#[test]
fn timers_fire_in_the_order_of_their_deadlines() {
    on_each(1, |runtime| {
        runtime.block_on(|| async {
            let order = Rc::new(RefCell::new(Vec::new()));
            let sleeper = |ms: u64| {
                let order = order.clone();
                spawn(async move {
                    time::sleep(Duration::from_millis(ms)).await;
                    order.borrow_mut().push(ms);
                })
            };
            let tasks: Vec<_> = [60, 20, 80, 40].map(sleeper).into_iter().collect();
            let begin = time::now();
            for task in tasks {
                task.await.unwrap();
            }
            assert_eq!(*order.borrow(), [20, 40, 60, 80]);
            assert!(begin.elapsed() >= Duration::from_millis(80));
        });
    });
}

#[test]
fn a_timeout_drops_what_is_late() {
    on_each(1, |runtime| {
        runtime.block_on(|| async {
            let late = time::sleep(Duration::from_secs(1000));
            assert!(time::timeout(Duration::from_millis(5), late).await.is_err());
            assert_eq!(time::timeout(Duration::from_secs(1000), async { 1 }).await, Ok(1));
        });
    });
}

/// Runs on one worker without attack, where queues have an exact order.
fn orderly(window: usize) -> Runtime {
    let config = Config {
        workers: 1,
        window,
        attack: false,
        ring: RingChoice::Threads,
        ..Config::default()
    };
    Runtime::start(config).unwrap()
}

#[test]
fn the_window_bounds_how_many_tasks_interleave() {
    for window in [1, 4] {
        let runtime = orderly(window);
        let most = runtime.block_on(|| async {
            let begun = Rc::new(RefCell::new((0usize, 0usize)));
            let task = |_| {
                let begun = begun.clone();
                spawn(async move {
                    {
                        let mut begun = begun.borrow_mut();
                        begun.0 += 1;
                        begun.1 = begun.1.max(begun.0);
                    }
                    // Fewer turns than one slice of the scheduler has polls.
                    for _ in 0..5 {
                        interleave().await;
                    }
                    begun.borrow_mut().0 -= 1;
                })
            };
            let tasks: Vec<_> = (0..10).map(task).collect();
            for task in tasks {
                task.await.unwrap();
            }
            begun.borrow().1
        });
        // At the end of a slice one task of a full window changes places with the ready queue. All
        // turns fit one slice, unless the kernel takes the core away; three times is very unlucky.
        assert!((window..=window + 3).contains(&most), "{most} begun, window {window}");
    }
}

#[test]
fn tasks_that_interleave_for_ever_starve_nobody() {
    let runtime = orderly(2);
    runtime.block_on(|| async {
        let stop = Rc::new(std::cell::Cell::new(false));
        let spinner = |_| {
            let stop = stop.clone();
            spawn(async move {
                while !stop.get() {
                    interleave().await;
                }
            })
        };
        let tasks: Vec<_> = (0..8).map(spinner).collect();
        time::sleep(Duration::from_millis(10)).await;
        stop.set(true);
        for task in tasks {
            task.await.unwrap();
        }
    });
}

#[test]
fn interleaving_works_inside_of_a_combinator() {
    on_each(1, |runtime| {
        runtime.block_on(|| async {
            let inner = async {
                interleave().await;
                yield_now().await;
                3
            };
            assert_eq!(time::timeout(Duration::from_secs(1000), inner).await, Ok(3));
        });
    });
}

#[test]
fn wakes_cross_workers_and_threads() {
    on_each(4, |runtime| {
        runtime.block_on(|| async {
            let events: Arc<Vec<_>> =
                Arc::new((0..=200).map(|_| runtime::sync::Event::new()).collect());
            // A chain through all workers: each waits for the one before it.
            for i in 0..200usize {
                let events = events.clone();
                drop(spawn_on(i % 4, move || async move {
                    events[i].wait().await;
                    events[i + 1].set();
                }));
            }
            let first = events.clone();
            std::thread::spawn(move || first[0].set());
            events[200].wait().await;
        });
    });
}

fn cpu_ns_of_thread() -> u64 {
    let mut spec = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `spec` is a valid place for the answer.
    unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &mut spec) };
    spec.tv_sec as u64 * 1_000_000_000 + spec.tv_nsec as u64
}

#[test]
fn an_idle_worker_uses_no_cpu() {
    on_each(1, |runtime| {
        let used_ns = runtime.block_on(|| async {
            let before = cpu_ns_of_thread();
            time::sleep(Duration::from_millis(200)).await;
            cpu_ns_of_thread() - before
        });
        assert!(used_ns < 5_000_000, "{used_ns} ns of CPU while asleep");
    });
}

#[test]
fn a_stopped_runtime_drops_tasks_and_tells_their_handles() {
    let runtime = start(RingChoice::Threads, 2).unwrap();
    let handle = runtime.handle();
    let endless = handle.spawn_on(1, || time::sleep(Duration::from_secs(1000)));
    drop(runtime);
    assert!(endless.is_finished());
    let late = std::panic::catch_unwind(move || handle.block_on(|| async {}));
    assert_eq!(*late.unwrap_err().downcast_ref::<&str>().unwrap(), "the runtime has stopped");
}

#[test]
fn bad_settings_are_refused() {
    for config in [
        Config { workers: 0, ..Config::default() },
        Config { window: 0, ..Config::default() },
        Config { depth: 0, ..Config::default() },
    ] {
        assert!(Runtime::start(config).is_err());
    }
}

/// Begins I/O and spawns in its destructor, when the runtime stops.
struct Rude(runtime::fs::File);

impl Drop for Rude {
    fn drop(&mut self) {
        drop(self.0.read_at(runtime::IoBuf::alloc(64), 0));
        let file = self.0.clone();
        drop(spawn(async move { file.sync_data().await }));
    }
}

#[test]
fn destructors_may_begin_what_they_like_when_the_runtime_stops() {
    for ring in [RingChoice::Uring, RingChoice::Threads] {
        let Some(runtime) = start(ring, 2) else { continue };
        let path = std::env::current_exe().unwrap();
        runtime.block_on(|| async move {
            let read = runtime::fs::OpenOptions { read: true, ..Default::default() };
            let rude = Rude(runtime::fs::File::open(path, read).await.unwrap());
            drop(spawn(async move {
                let _rude = rude;
                std::future::pending::<()>().await;
            }));
            yield_now().await;
        });
        drop(runtime);
    }
}

#[test]
fn a_long_computation_that_gives_way_holds_nobody_up() {
    for ring in [RingChoice::Uring, RingChoice::Threads] {
        let config = Config { workers: 1, ring, attack: false, ..Config::default() };
        let Ok(runtime) = Runtime::start(config) else { continue };
        let path = std::env::current_exe().unwrap();
        runtime.block_on(|| async move {
            let done = Rc::new(std::cell::Cell::new(false));
            let seen = done.clone();
            let computation = spawn(async move {
                let begin = time::now();
                let mut turns = 0u64;
                while !seen.get() {
                    turns += 1;
                    if runtime::need_preempt() {
                        yield_now().await;
                    }
                    assert!(begin.elapsed() < Duration::from_secs(20), "the reader starves");
                }
                turns
            });
            let read = runtime::fs::OpenOptions { read: true, ..Default::default() };
            let file = runtime::fs::File::open(path, read).await.unwrap();
            for page in 0..50 {
                file.read_at(runtime::IoBuf::alloc(4096), page * 4096).await.0.unwrap();
                time::sleep(Duration::from_micros(50)).await;
            }
            done.set(true);
            assert!(computation.await.unwrap() > 1000);
        });
    }
}
