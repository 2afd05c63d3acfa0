//! `dovetail bench pagefault`: random look-ups in a tree on one core, with a pool that holds a share
//! of its pages: each page fault waited for, against many look-ups in flight (asynchronous I/O with
//! coroutines, section 5).

mod control;
mod machine;

use std::path::Path;
use std::rc::Rc;
use std::time::Duration;

use engine::{SqlError, SqlResult, SqlState};
use runtime::{IoCounters, RingChoice, Runtime, time};
use storage::{Depth, Tree};

use crate::device::cpu_seconds;
use crate::figure::Figure;
use machine::{Machine, Side};

const PAGE_BYTES: usize = 4096;

/// Leaves of the tree: a gigabyte.
const LEAF_COUNT: u64 = 250_000;

/// Rows that a leaf holds, about: a value of 100 bytes each.
const ROWS_PER_LEAF: u64 = 32;

/// Percent of the pages that fit the pool.
const SHARES: [u64; 6] = [0, 30, 60, 80, 90, 100];

/// Look-ups that a task descends together; the knee is looked for among these.
const BATCHES: [usize; 8] = [1, 2, 4, 8, 16, 32, 64, 128];

/// Page faults in flight of the asynchronous side: what the device needs for its limit.
const IN_FLIGHT: usize = 128;

/// Look-ups in flight, so that as many as that miss, and where nearly none do.
const LOOK_UP_COUNT_MAX: usize = 1024;

/// Page faults of the look-ups that a task descends together, and most of these: the knee.
const FAULTS: usize = 16;
const BATCH_MAX: usize = 64;

/// How many tasks descend how many look-ups each, when `share` percent of the pages are there.
fn tasks_and_batch(share: u64) -> (usize, usize) {
    let missing = (100 - share as usize).max(1);
    let batch = (FAULTS * 100 / missing).min(BATCH_MAX);
    ((IN_FLIGHT * 100 / missing).min(LOOK_UP_COUNT_MAX).div_ceil(batch), batch)
}

/// Length of one measurement.
const SLICE: Duration = Duration::from_millis(1000);

/// Look-ups per second, and CPU seconds per million of them.
#[derive(Clone, Copy)]
struct Speed {
    per_s: f64,
    cpu_s: f64,
}

fn failed(what: impl std::fmt::Display) -> SqlError {
    SqlError::new(SqlState::IO_ERROR, format!("page faults: {what}"))
}

/// Measures everything `n` times on a new file in `folder`.
pub fn run(folder: &Path, n: usize, mut emit: impl FnMut(Figure)) -> SqlResult<()> {
    let machines = [
        Machine::start(folder.join("pagefault.dovetail"), RingChoice::Auto)?,
        Machine::start(folder.join("threads.dovetail"), RingChoice::Threads)?,
    ];
    control::by_pread(&machines[0].path, n, &mut emit)?;
    for share in SHARES {
        let [own, threads] = [machines[0].opened(share)?, machines[1].opened(share)?];
        compare([&own, &threads], share, n, &mut emit)?;
        if share == 60 {
            knee(&own, n, &mut emit)?;
        }
        own.close();
        threads.close();
    }
    Ok(())
}

fn key(row: u64) -> [u8; 8] {
    row.to_be_bytes()
}

/// Fills the pool, by look-ups of all leaves in order and then at random.
fn warm(runtime: &Runtime, tree: &Tree, share: u64) -> SqlResult<()> {
    let own = tree.clone();
    runtime.block_on(move || async move {
        let io = IoCounters::default();
        let leaves: Vec<u64> = (0..LEAF_COUNT * share / 100).collect();
        for some in leaves.chunks(IN_FLIGHT) {
            let keys: Vec<_> = some.iter().map(|leaf| key(leaf * ROWS_PER_LEAF)).collect();
            own.get_batch(&keys, Depth::Many, &io, &mut |_, _| {}).await.map_err(failed)?;
        }
        SqlResult::Ok(())
    })?;
    let (tasks, batch) = tasks_and_batch(share);
    speed(runtime, tree, tasks, batch, Depth::Many).map(|_| ())
}

fn compare(
    [own, threads]: [&Side<'_>; 2],
    share: u64,
    n: usize,
    emit: &mut impl FnMut(Figure),
) -> SqlResult<()> {
    let (mut ratios, mut slow, mut fast, mut slow_cpu, mut fast_cpu) =
        (vec![], vec![], vec![], vec![], vec![]);
    let (mut batched, mut over_threads) = (vec![], vec![]);
    let (tasks, batch) = tasks_and_batch(share);
    for _ in 0..n {
        let one = own.speed(1, 1, Depth::One)?;
        let many = own.speed(tasks, batch, Depth::Many)?;
        batched.push(own.speed(1, batch, Depth::One)?.per_s / one.per_s);
        over_threads.push(many.per_s / threads.speed(tasks, batch, Depth::Many)?.per_s);
        ratios.push(many.per_s / one.per_s);
        slow.push(one.per_s);
        fast.push(many.per_s);
        slow_cpu.push(one.cpu_s);
        fast_cpu.push(many.cpu_s);
    }
    let name = |what: &str| format!("pagefault.pool{share}.{what}");
    let detail = format!("{tasks} tasks of {batch} look-ups over one at a time");
    emit(Figure::of(name("async_over_sync"), "x", &ratios).with_detail(detail));
    let detail = format!("control: {batch} look-ups at once, one read in flight");
    emit(Figure::of(name("batch_over_sync"), "x", &batched).with_detail(detail));
    let detail = "as many look-ups with a pool of threads that wait in system calls";
    emit(Figure::of(name("async_over_threads"), "x", &over_threads).with_detail(detail));
    emit(Figure::of(name("sync"), "1/s", &slow));
    emit(Figure::of(name("async"), "1/s", &fast));
    emit(Figure::of(name("sync.cpu"), "s", &slow_cpu).with_detail("per million look-ups"));
    emit(Figure::of(name("async.cpu"), "s", &fast_cpu).with_detail("per million look-ups"));
    Ok(())
}

/// How many look-ups one task should descend together.
fn knee(own: &Side<'_>, n: usize, emit: &mut impl FnMut(Figure)) -> SqlResult<()> {
    for batch in BATCHES {
        let runs: SqlResult<Vec<f64>> =
            (0..n.min(3)).map(|_| Ok(own.speed(1, batch, Depth::Many)?.per_s)).collect();
        let name = format!("pagefault.pool60.batch{batch}");
        emit(Figure::of(name, "1/s", &runs?).with_detail("one task"));
    }
    Ok(())
}

/// The speed of `tasks` tasks that each look up `batch` random keys at a time.
fn speed(
    runtime: &Runtime,
    tree: &Tree,
    tasks: usize,
    batch: usize,
    depth: Depth,
) -> SqlResult<Speed> {
    let (tree, cpu_before) = (tree.clone(), cpu_seconds()?);
    let (count, elapsed) = runtime.block_on(move || async move {
        let (tree, started) = (Rc::new(tree), time::now());
        let work = |task| look_ups(tree.clone(), task as u64, batch, depth, started + SLICE);
        let running: Vec<_> = (0..tasks).map(|task| runtime::spawn(work(task))).collect();
        let mut count = 0;
        for task in running {
            count += task.await.map_err(failed)??;
        }
        SqlResult::Ok((count, started.elapsed().as_secs_f64()))
    })?;
    let cpu_s = (cpu_seconds()? - cpu_before) * 1e6 / count as f64;
    Ok(Speed { per_s: count as f64 / elapsed, cpu_s })
}

async fn look_ups(
    tree: Rc<Tree>,
    task: u64,
    batch: usize,
    depth: Depth,
    until: time::Instant,
) -> SqlResult<u64> {
    let (io, mut count) = (IoCounters::default(), 0);
    let mut random = stdx::Prng::new(task + runtime::random_u64());
    while time::now() < until {
        if batch == 1 {
            let key = key(random.below(LEAF_COUNT * ROWS_PER_LEAF));
            let found = tree.get(&key, &io, |value| value[0]).await.map_err(failed)?;
            count += u64::from(found.is_some());
            continue;
        }
        let keys: Vec<_> =
            (0..batch).map(|_| key(random.below(LEAF_COUNT * ROWS_PER_LEAF))).collect();
        let mut visit = |_: usize, _: &[u8]| count += 1;
        tree.get_batch(&keys, depth, &io, &mut visit).await.map_err(failed)?;
    }
    Ok(count)
}
