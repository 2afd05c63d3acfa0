//! Spawn, switch, wake, frames, and very many tasks alive.

use std::rc::Rc;
use std::sync::Arc;

use runtime::sync::Event;
use runtime::{Runtime, time};

use crate::figure::Figure;

/// Tasks or turns per measurement: some milliseconds each.
const TURN_COUNT: u64 = 100_000;

/// Tasks alive at once in the last measurement.
const ALIVE_COUNT: usize = 100_000;

/// Tasks that take turns: CoroBase's best window.
const WINDOW: u64 = 8;

pub(super) fn run(runtime: &Runtime, n: usize, emit: &mut impl FnMut(Figure)) {
    let mut repeat = |name: &str, detail: &str, measure: fn() -> Measure| {
        let runs: Vec<f64> = (0..n).map(|_| runtime.block_on(measure)).collect();
        emit(Figure::of(format!("runtime.{name}"), "ns", &runs).with_detail(detail));
    };
    repeat("spawn", "spawn, run and join a task, waves of 1000", || Box::pin(spawn()));
    repeat("switch.interleave", "8 tasks take turns in the window", || Box::pin(interleave()));
    repeat("switch.yield", "8 tasks take turns in the ready queue", || Box::pin(yield_now()));
    repeat("wake.local", "two tasks wake each other in turn", || Box::pin(wake_local()));
    repeat("wake.remote", "two workers wake each other in turn", || Box::pin(wake_remote()));
    alive(runtime, n, emit);
}

type Measure = std::pin::Pin<Box<dyn Future<Output = f64>>>;

fn per_turn(started: time::Instant, turns: u64) -> f64 {
    started.elapsed().as_nanos() as f64 / turns as f64
}

async fn spawn() -> f64 {
    let started = time::now();
    for _ in 0..TURN_COUNT / 1000 {
        let tasks: Vec<_> = (0..1000).map(|i| runtime::spawn(async move { i })).collect();
        for task in tasks {
            std::hint::black_box(task.await.expect("the task ends"));
        }
    }
    per_turn(started, TURN_COUNT)
}

async fn interleave() -> f64 {
    let started = time::now();
    let turn = || async {
        for _ in 0..TURN_COUNT {
            runtime::interleave().await;
        }
    };
    let tasks: Vec<_> = (0..WINDOW).map(|_| runtime::spawn(turn())).collect();
    for task in tasks {
        task.await.expect("the task ends");
    }
    per_turn(started, TURN_COUNT * WINDOW)
}

async fn yield_now() -> f64 {
    let started = time::now();
    let turn = || async {
        for _ in 0..TURN_COUNT {
            runtime::yield_now().await;
        }
    };
    let tasks: Vec<_> = (0..WINDOW).map(|_| runtime::spawn(turn())).collect();
    for task in tasks {
        task.await.expect("the task ends");
    }
    per_turn(started, TURN_COUNT * WINDOW)
}

/// Waits for `mine`, sets `other`, `turns` times.
async fn play(mine: Arc<Event>, other: Arc<Event>, turns: u64) {
    for _ in 0..turns {
        mine.wait().await;
        mine.reset();
        other.set();
    }
}

async fn wake_local() -> f64 {
    let (a, b) = (Arc::new(Event::new()), Arc::new(Event::new()));
    let partner = runtime::spawn(play(b.clone(), a.clone(), TURN_COUNT));
    let started = time::now();
    b.set();
    play(a, b, TURN_COUNT).await;
    partner.await.expect("the partner ends");
    per_turn(started, 2 * TURN_COUNT)
}

/// Across workers a wake passes through the kernel: fewer turns are enough.
async fn wake_remote() -> f64 {
    const TURNS: u64 = TURN_COUNT / 20;
    let (a, b) = (Arc::new(Event::new()), Arc::new(Event::new()));
    let (mine, other) = (b.clone(), a.clone());
    let partner = runtime::spawn_on(1, move || play(mine, other, TURNS));
    let started = time::now();
    b.set();
    play(a, b, TURNS).await;
    partner.await.expect("the partner ends");
    per_turn(started, 2 * TURNS)
}

/// A small task that waits, as most tasks of a query do.
async fn waiter(event: Rc<Event>) -> u64 {
    let started = time::now();
    event.wait().await;
    started.as_ns()
}

fn alive(runtime: &Runtime, n: usize, emit: &mut impl FnMut(Figure)) {
    let frame = runtime::frame_bytes(&waiter(Rc::default()));
    let detail = "a task that waits for an event, header included";
    emit(Figure::of("runtime.frame", "bytes", &[frame as f64]).with_detail(detail));
    let (mut bytes, mut ns) = (vec![], vec![]);
    for _ in 0..n {
        let (per_task_bytes, per_task_ns) = runtime.block_on(all_alive);
        bytes.push(per_task_bytes);
        ns.push(per_task_ns);
    }
    let detail = format!("resident memory per task, {ALIVE_COUNT} alive; first run allocates");
    let first = &bytes[..1];
    emit(Figure::of("runtime.alive.memory", "bytes", first).with_detail(detail));
    let detail = format!("spawn, wait, wake and end, per task of {ALIVE_COUNT}");
    emit(Figure::of("runtime.alive.time", "ns", &ns).with_detail(detail));
}

async fn all_alive() -> (f64, f64) {
    let event = Rc::new(Event::new());
    let (before, started) = (resident_bytes(), time::now());
    let tasks: Vec<_> = (0..ALIVE_COUNT).map(|_| runtime::spawn(waiter(event.clone()))).collect();
    runtime::yield_now().await;
    let memory = resident_bytes().saturating_sub(before);
    event.set();
    for task in tasks {
        task.await.expect("the task ends");
    }
    (memory as f64 / ALIVE_COUNT as f64, per_turn(started, ALIVE_COUNT as u64))
}

/// Resident memory of the process.
pub(super) fn resident_bytes() -> u64 {
    let statm = std::fs::read_to_string("/proc/self/statm").unwrap_or_default();
    let pages = statm.split(' ').nth(1).and_then(|p| p.parse::<u64>().ok());
    pages.unwrap_or(0) * 4096
}
