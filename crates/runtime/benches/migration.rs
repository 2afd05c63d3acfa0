//! What migration gives and costs: all work spawned on one worker of two, with and without.
//!
//! `cargo bench -p runtime --bench migration [-- --rounds=5]`
#![allow(clippy::disallowed_methods, reason = "a measurement looks at the clock")]

#[path = "support/figures.rs"]
mod figures;

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use runtime::sync::Event;
use runtime::{
    Config, RemoteHandle, Runtime, spawn, spawn_anywhere, spawn_anywhere_detached, spawn_on,
};

/// Loads of about a quarter of a second each: how many tasks, and how long each computes.
const LOADS: [(usize, Duration); 4] = [
    (250_000, Duration::from_micros(1)),
    (25_000, Duration::from_micros(10)),
    (2_500, Duration::from_micros(100)),
    (25, Duration::from_millis(10)),
];
/// Tasks alive at once: as many as a query's permits.
const WAVE: usize = 1000;

fn main() {
    let runtime = |migrate| {
        let config = Config { workers: 2, migrate, ..Config::default() };
        Runtime::start(config).expect("two workers")
    };
    let (with, without) = (runtime(true), runtime(false));
    for (count, each) in LOADS {
        let (mut on, mut off, mut ratio, mut moved) = (vec![], vec![], vec![], vec![]);
        for _ in 0..figures::rounds() {
            let (slow, before) = (uneven(&without, count, each), migrated(&with));
            let fast = uneven(&with, count, each);
            moved.push((migrated(&with) - before) as f64 / count as f64);
            on.push(fast * 1e3);
            off.push(slow * 1e3);
            ratio.push(slow / fast);
        }
        let name = format!("migration.{}us", each.as_micros());
        let load = format!("{count} tasks that compute, all spawned on one of two workers");
        figures::print(&format!("{name}.off"), "ms", &off, &load);
        figures::print(&format!("{name}.on"), "ms", &on, "");
        figures::print(&format!("{name}.speedup"), "x", &ratio, "");
        figures::print(&format!("{name}.moved"), "share", &moved, "of the tasks");
    }
    costs(&without);
}

fn migrated(runtime: &Runtime) -> u64 {
    runtime.stats().iter().map(|worker| worker.migrated_count).sum()
}

fn compute(each: Duration) {
    let begin = Instant::now();
    while begin.elapsed() < each {
        std::hint::spin_loop();
    }
}

/// Seconds that `count` tasks take, spawned in waves by a task of worker 0.
fn uneven(runtime: &Runtime, count: usize, each: Duration) -> f64 {
    runtime.block_on(move || async move {
        let begin = Instant::now();
        for wave in (0..count).step_by(WAVE) {
            let task = |_| spawn_anywhere(move || async move { compute(each) });
            join((wave..count.min(wave + WAVE)).map(task).collect()).await;
        }
        begin.elapsed().as_secs_f64()
    })
}

async fn join(tasks: Vec<RemoteHandle<()>>) {
    for task in tasks {
        task.await.expect("a task that only computes");
    }
}

/// What a task costs that does nothing, spawned in each way on the same worker.
fn costs(runtime: &Runtime) {
    let [mut local, mut remote, mut anywhere, mut detached] = [const { Vec::new() }; 4];
    for _ in 0..figures::rounds() {
        local.push(each_ns(runtime, || async {
            for task in (0..WAVE).map(|_| spawn(async {})).collect::<Vec<_>>() {
                task.await.expect("an empty task");
            }
        }));
        remote.push(each_ns(runtime, || async {
            join((0..WAVE).map(|_| spawn_on(0, || async {})).collect()).await;
        }));
        detached.push(each_ns(runtime, || async {
            let left = Arc::new(AtomicUsize::new(WAVE));
            let all = Arc::new(Event::new());
            for _ in 0..WAVE {
                let (left, all) = (left.clone(), all.clone());
                spawn_anywhere_detached(move || async move {
                    if left.fetch_sub(1, Ordering::Relaxed) == 1 {
                        all.set();
                    }
                });
            }
            all.wait().await;
        }));
        anywhere.push(each_ns(runtime, || async {
            join((0..WAVE).map(|_| spawn_anywhere(|| async {})).collect()).await;
        }));
    }
    let note = "spawn, run and join a task on the same worker, waves of 1000";
    figures::print("spawn", "ns", &local, note);
    figures::print("spawn_anywhere_detached", "ns", &detached, note);
    figures::print("spawn_on.self", "ns", &remote, note);
    figures::print("spawn_anywhere", "ns", &anywhere, note);
}

fn each_ns<F: Future<Output = ()> + 'static>(
    runtime: &Runtime,
    wave: impl Fn() -> F + Send + 'static,
) -> f64 {
    const WAVE_COUNT: usize = 200;
    runtime.block_on(move || async move {
        let begin = Instant::now();
        for _ in 0..WAVE_COUNT {
            wave().await;
        }
        begin.elapsed().as_nanos() as f64 / (WAVE_COUNT * WAVE) as f64
    })
}
