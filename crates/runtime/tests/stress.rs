//! Futures dropped and tasks aborted at random points with I/O in flight: nothing leaks, nothing
//! is freed early, everything comes to rest.

#![allow(clippy::disallowed_methods, reason = "tests look at the system from outside")]

#[path = "support/rings.rs"]
mod rings;
#[path = "support/temp_dir.rs"]
mod temp_dir;

use std::ptr::NonNull;
use std::sync::Arc;
use std::time::Duration;

use rings::on_each;
use runtime::fs::{self, File, OpenOptions};
use runtime::sim::{Disk, FaultPlan};
use runtime::sync::{Gate, Semaphore};
use runtime::{
    Account, Arena, Config, IoBuf, JoinHandle, RingChoice, Runtime, interleave, random_u64, spawn,
    spawn_on, time, yield_now,
};
use temp_dir::TempDir;

const TASK_COUNT: usize = 20_000;
const BATCH_COUNT: usize = 250;
const PAGE: usize = 4096;

/// What the tasks share, and what must be whole again in the end.
#[derive(Clone)]
struct World {
    file: File,
    permits: Semaphore,
    gate: Gate,
    /// Owns every buffer of the tasks: its count tells how many are alive.
    arena: Arc<Vec<u8>>,
}

impl World {
    fn buffer(&self) -> IoBuf {
        let mut memory = IoBuf::alloc(PAGE);
        let ptr = NonNull::from(memory.as_mut_slice()).cast();
        let owner = Arc::new(Leased { _memory: memory, _arena: self.arena.clone() });
        // SAFETY: the memory lives as long as `owner`, and nobody else touches it.
        unsafe {
            if random_u64().is_multiple_of(2) {
                return IoBuf::from_arena(owner, ptr, PAGE);
            }
            // Announced: registered for its one transfer where that is switched on.
            IoBuf::of_arena(&Arena::new(owner, ptr, PAGE), 0, PAGE)
        }
    }
}

/// One piece of memory, freed with its last buffer: too early, and the kernel would scribble on
/// the heap.
struct Leased {
    _memory: IoBuf,
    _arena: Arc<Vec<u8>>,
}

async fn restless(world: World) {
    let _pass = world.gate.enter().expect("the gate is open");
    for _ in 0..1 + random_u64() % 4 {
        let offset = random_u64() % 64 * PAGE as u64;
        match random_u64() % 8 {
            0 => yield_now().await,
            1 => interleave().await,
            2 => time::sleep(Duration::from_micros(random_u64() % 300)).await,
            3 => {
                let bufs = (0..3).map(|_| world.buffer()).collect();
                drop(world.file.read_vectored_at(bufs, offset).await);
            }
            4 => drop(world.file.write_all_at(world.buffer(), offset).await),
            // Begun, and never awaited.
            5 => drop(world.file.read_at(world.buffer(), offset)),
            6 => {
                let read = world.file.read_at(world.buffer(), offset);
                let _ = time::timeout(Duration::from_micros(random_u64() % 200), read).await;
            }
            _ => {
                let _permit = world.permits.acquire().await;
                drop(world.file.read_at(world.buffer(), offset).await);
            }
        }
    }
}

async fn batch(world: &World) {
    let tasks: Vec<JoinHandle<()>> =
        (0..BATCH_COUNT).map(|_| spawn(restless(world.clone()))).collect();
    for _ in 0..random_u64() % 20 {
        yield_now().await;
    }
    for task in tasks {
        match random_u64() % 4 {
            0 => task.abort(),
            1 => drop(task),
            2 => {
                task.abort();
                let _ = task.await;
            }
            _ => assert!(task.await.is_ok()),
        }
        if random_u64().is_multiple_of(16) {
            yield_now().await;
        }
    }
}

async fn storm(path: std::path::PathBuf, batches: usize) -> World {
    // Direct, so that requests really are in flight for a while.
    let options =
        OpenOptions { read: true, write: true, create: true, direct: true, ..Default::default() };
    let file = File::open(&path, options).await.unwrap();
    file.set_len(64 * PAGE as u64).await.unwrap();
    let world =
        World { file, permits: Semaphore::new(5), gate: Gate::new(), arena: Arc::new(Vec::new()) };
    let share = world.clone();
    // The second worker has its own storm at the same time.
    let other = spawn_on(runtime::worker_count() - 1, move || async move {
        for _ in 0..batches / 2 {
            batch(&share).await;
        }
    });
    for _ in 0..batches / 2 {
        batch(&world).await;
    }
    other.await.unwrap();
    // Waits for the detached ones, and for the buffers of dropped reads.
    world.gate.close().await;
    while Arc::strong_count(&world.arena) > 1 {
        time::sleep(Duration::from_millis(1)).await;
    }
    world
}

fn check_rest(runtime: &Runtime, world: &World) {
    assert_eq!(world.permits.available(), 5, "no permit is held");
    assert_eq!(world.gate.inside(), 0, "nobody is inside");
    for stats in runtime.stats() {
        assert_eq!(stats.inflight_count, 0, "nothing is in flight");
        assert_eq!((stats.live_task_count, stats.frame_bytes), (0, 0), "no task is alive");
        assert_eq!(stats.spawn_count, stats.finish_count);
    }
}

#[test]
fn random_drops_leave_nothing_behind() {
    on_each(2, |runtime| {
        let dir = TempDir::new();
        let path = dir.file("storm");
        let world = runtime.block_on(|| storm(path, TASK_COUNT / BATCH_COUNT));
        // The workers publish their gauges after the slice that ended the last task.
        std::thread::sleep(Duration::from_millis(20));
        check_rest(runtime, &world);
    });
}

#[test]
fn random_drops_leave_nothing_behind_in_the_simulation() {
    for seed in 0..4 {
        let disk = Disk::new(seed);
        disk.faults(FaultPlan {
            read_error: 0.02,
            write_error: 0.02,
            ..FaultPlan::short_and_late()
        });
        let ring = RingChoice::Sim(disk);
        let config = Config { ring, workers: 2, seed, depth: 40, ..Config::default() };
        let runtime = Runtime::start(config).unwrap();
        let world = runtime.block_on(|| async {
            loop {
                // The open itself must not fail, so faults may strike again.
                match fs::exists("/").await {
                    Ok(_) => break storm("/storm".into(), 20).await,
                    Err(_) => continue,
                }
            }
        });
        runtime.block_on(|| time::sleep(Duration::from_secs(1)));
        check_rest_of_simulation(&runtime, &world);
    }
}

fn check_rest_of_simulation(runtime: &Runtime, world: &World) {
    assert_eq!(world.permits.available(), 5);
    assert_eq!(Arc::strong_count(&world.arena), 1);
    assert!(runtime.stats().iter().all(|stats| stats.inflight_count == 0));
}

#[test]
fn a_runtime_dropped_in_the_middle_waits_for_the_kernel() {
    for round in 0..20 {
        for ring in [RingChoice::Uring, RingChoice::Threads] {
            let Some(runtime) = rings::start(ring, 2) else { continue };
            let dir = TempDir::new();
            let path = dir.file("dropped");
            let arena = Arc::new(Vec::new());
            let shared = arena.clone();
            runtime.block_on(move || async move {
                let options = OpenOptions {
                    read: true,
                    write: true,
                    create: true,
                    direct: true,
                    ..Default::default()
                };
                let file = File::open(&path, options).await.unwrap();
                file.set_len(64 * PAGE as u64).await.unwrap();
                let world =
                    World { file, permits: Semaphore::new(5), gate: Gate::new(), arena: shared };
                for _ in 0..200 + round {
                    drop(spawn(restless(world.clone())));
                }
                yield_now().await;
            });
            drop(runtime);
            assert_eq!(Arc::strong_count(&arena), 1, "every buffer is freed");
        }
    }
}

#[test]
fn a_backlog_beyond_the_depth_is_served_and_may_be_dropped() {
    for ring in [RingChoice::Uring, RingChoice::Threads] {
        let config = Config { ring, workers: 1, depth: 4, ..Config::default() };
        let Ok(runtime) = Runtime::start(config) else { continue };
        let dir = TempDir::new();
        let path = dir.file("backlog");
        runtime.block_on(move || async move {
            let options =
                OpenOptions { read: true, write: true, create: true, ..Default::default() };
            let file = File::open(&path, options).await.unwrap();
            file.write_all_at(IoBuf::alloc(PAGE), 0).await.0.unwrap();
            let reads: Vec<_> = (0..500).map(|_| file.read_at(IoBuf::alloc(PAGE), 0)).collect();
            for (i, read) in reads.into_iter().enumerate() {
                match i % 3 {
                    0 => drop(read),
                    _ => assert_eq!(read.await.0.unwrap(), PAGE),
                }
            }
        });
        std::thread::sleep(Duration::from_millis(10));
        assert!(runtime.stats()[0].pool_thread_count <= 4, "no more threads than the depth");
    }
}

#[test]
fn accounts_count_tasks_and_io_of_all_workers() {
    on_each(2, |runtime| {
        let dir = TempDir::new();
        let path = dir.file("account");
        let account = Account::new();
        let inner = account.clone();
        runtime.block_on(move || async move {
            let options =
                OpenOptions { read: true, write: true, create: true, ..Default::default() };
            let file = File::open(&path, options).await.unwrap();
            file.write_all_at(IoBuf::alloc(4 * PAGE), 0).await.0.unwrap();
            let query = async move {
                let tasks: Vec<_> = (0..10)
                    .map(|i| {
                        let file = file.clone();
                        spawn_on(i % 2, move || async move {
                            let child = spawn(async move {
                                file.read_exact_at(IoBuf::alloc(PAGE), 0).await.0.unwrap();
                                let begin = time::thread_cpu();
                                while time::thread_cpu() - begin < Duration::from_millis(1) {}
                            });
                            child.await.unwrap();
                        })
                    })
                    .collect();
                for task in tasks {
                    task.await.unwrap();
                }
            };
            inner.enter(query).await;
            // Outside of the account: must not be counted.
            spawn(yield_now()).await.unwrap();
        });
        std::thread::sleep(Duration::from_millis(5));
        let sum = account.snapshot();
        assert_eq!((sum.created, sum.done, sum.running, sum.waiting), (20, 20, 0, 0));
        assert_eq!((sum.reads, sum.read_bytes, sum.writes), (10, 10 * PAGE as u64, 0));
        assert_eq!(sum.inflight, 0);
        // A slice in which the thread loses its core is shared out by wall time: half is sure.
        assert!(sum.cpu_ns >= 5_000_000, "{} ns of CPU", sum.cpu_ns);
    });
}

#[test]
fn accounts_are_charged_processor_time() {
    on_each(1, |runtime| {
        let account = Account::new();
        let inner = account.clone();
        runtime.block_on(move || async move {
            // Blocks the worker as a core would that is given to another program.
            let blocked = async {
                for _ in 0..10 {
                    std::thread::sleep(Duration::from_millis(5));
                    yield_now().await;
                }
            };
            inner.enter(blocked).await;
            // The slice with the last of it ends, and what follows settles it.
            time::sleep(Duration::from_millis(1)).await;
        });
        let sum = account.snapshot();
        assert!(sum.cpu_ns < 25_000_000, "{} ns of CPU for 50 ms asleep", sum.cpu_ns);
    });
}

#[test]
fn an_account_tells_waiting_from_running() {
    on_each(1, |runtime| {
        runtime.block_on(|| async {
            let account = Account::new();
            let event = Arc::new(runtime::sync::Event::new());
            let waiter = event.clone();
            let spawned = account.enter(async move {
                // In a tuple: it is handed out unfinished, to be looked at from outside.
                (spawn(async move { waiter.wait().await }),)
            });
            let (task,) = spawned.await;
            assert_eq!(account.snapshot().running, 1, "spawned, and ready");
            time::sleep(Duration::from_millis(1)).await;
            let sum = account.snapshot();
            assert_eq!((sum.running, sum.waiting, sum.done), (0, 1, 0));
            event.set();
            task.await.unwrap();
            let sum = account.snapshot();
            assert_eq!((sum.running, sum.waiting, sum.done), (0, 0, 1));
        });
    });
}

#[test]
fn a_hundred_thousand_tasks_fit() {
    let runtime = rings::start(RingChoice::Threads, 1).unwrap();
    let handle = runtime.handle();
    let (bytes, expected) = runtime.block_on(|| async move {
        let event = Arc::new(runtime::sync::Event::new());
        let task = |event: Arc<runtime::sync::Event>| async move { event.wait().await };
        let one = runtime::frame_bytes(&task(event.clone()));
        let tasks: Vec<_> = (0..100_000).map(|_| spawn(task(event.clone()))).collect();
        time::sleep(Duration::from_millis(1)).await;
        let stats = handle.stats()[0];
        assert!(stats.live_task_count >= 100_000);
        event.set();
        for task in tasks {
            task.await.unwrap();
        }
        (stats.frame_bytes, one as u64 * 100_000)
    });
    assert!(bytes >= expected && bytes < expected * 2, "{bytes} against {expected}");
}

#[test]
fn many_accounts_come_and_go() {
    on_each(1, |runtime| {
        let accounts: Vec<Arc<Account>> = (0..400).map(|_| Account::new()).collect();
        let shared = accounts.clone();
        runtime.block_on(|| async move {
            for pair in shared.chunks(2) {
                let (outer, inner) = (pair[0].clone(), pair[1].clone());
                let query = async move {
                    let child = spawn(inner.enter(yield_now()));
                    yield_now().await;
                    child.await.unwrap();
                };
                spawn(outer.enter(query)).await.unwrap();
            }
        });
        let created: Vec<u64> = accounts.iter().map(|a| a.snapshot().created).collect();
        // The child belongs to who spawned it; what it enters pays only for what is polled there.
        assert!(created.chunks(2).all(|pair| pair == [1, 0]), "{created:?}");
    });
}
