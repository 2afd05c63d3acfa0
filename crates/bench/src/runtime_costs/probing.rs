//! Index probing in memory: the same look-ups one at a time and in an interleave window.
//!
//! The table far exceeds the caches, so each level of a descent misses; a descent yields after
//! prefetching a node, and the other tasks of the window use the time. A second, small table stays
//! in the caches: there yielding can only cost.

use std::path::Path;
use std::rc::Rc;

use engine::{SqlError, SqlResult, SqlState};
use runtime::{IoCounters, Runtime, time};
use storage::{Store, StoreOptions, Tree};

use crate::figure::Figure;

/// Look-ups of one measurement.
const PROBE_COUNT: u64 = 400_000;

/// Tasks in the window.
const WINDOWS: [u64; 5] = [2, 4, 8, 12, 16];

/// The best window according to the paper, and the default of the runtime.
const WINDOW: u64 = 10;

/// Rows of the table that fits the caches: two levels, some 100 kB.
const SMALL_ROWS: u64 = 4_000;

/// Pages per row, generously: key 8, value 8, slot and fill.
const BYTES_PER_ROW: u64 = 40;

fn failed(what: impl std::fmt::Display) -> SqlError {
    SqlError::new(SqlState::IO_ERROR, format!("index probing: {what}"))
}

pub(super) fn run(
    runtime: &Runtime,
    n: usize,
    rows: u64,
    emit: &mut impl FnMut(Figure),
) -> SqlResult<()> {
    let folder = std::env::temp_dir().join(format!("dovetail-probing-{}", std::process::id()));
    std::fs::create_dir_all(&folder).map_err(failed)?;
    let result = both_tables(runtime, n, rows, &folder.join("probing.dovetail"), emit);
    std::fs::remove_dir_all(&folder).ok();
    result
}

fn both_tables(
    runtime: &Runtime,
    n: usize,
    rows: u64,
    path: &Path,
    emit: &mut impl FnMut(Figure),
) -> SqlResult<()> {
    let path = path.to_owned();
    let store = runtime.block_on(move || async move {
        let pool_bytes = ((rows + SMALL_ROWS) * BYTES_PER_ROW) as usize + (64 << 20);
        let options =
            StoreOptions { page_size: 4096, pool_bytes, direct: true, ..StoreOptions::default() };
        Store::create(&path, options).await.map_err(failed)
    })?;
    let small = filled(runtime, &store, SMALL_ROWS)?;
    let large = filled(runtime, &store, rows)?;
    probe(runtime, &large, rows, 1)?;
    for window in WINDOWS {
        ratio(runtime, &large, rows, window, n, "large", emit)?;
    }
    ratio(runtime, &large, rows, WINDOW, n, "large", emit)?;
    ratio(runtime, &small, SMALL_ROWS, 1, n, "cached", emit)?;
    ratio(runtime, &small, SMALL_ROWS, WINDOW, n, "cached", emit)?;
    runtime.block_on(move || async move { store.close().await });
    Ok(())
}

/// A tree of `rows` rows, all of it in the pool.
fn filled(runtime: &Runtime, store: &Store, rows: u64) -> SqlResult<Tree> {
    let store = store.clone();
    runtime.block_on(move || async move {
        let id = store.create_tree().await.map_err(failed)?;
        let tree = store.tree(id).map_err(failed)?;
        let mut loader = tree.bulk_loader().await.map_err(failed)?;
        for row in 0..rows {
            loader.push(&row.to_be_bytes(), &row.to_le_bytes()).await.map_err(failed)?;
        }
        loader.finish().await.map_err(failed)?;
        let io = IoCounters::default();
        for row in (0..rows).step_by(16) {
            tree.get(&row.to_be_bytes(), &io, |_| ()).await.map_err(failed)?;
        }
        Ok(tree)
    })
}

/// Interleaved against one at a time, in turn; the ratio of each pair.
fn ratio(
    runtime: &Runtime,
    tree: &Tree,
    rows: u64,
    window: u64,
    n: usize,
    name: &str,
    emit: &mut impl FnMut(Figure),
) -> SqlResult<()> {
    let (mut ratios, mut ns) = (vec![], vec![]);
    for _ in 0..n {
        let alone = probe(runtime, tree, rows, 0)?;
        let together = probe(runtime, tree, rows, window)?;
        ratios.push(alone / together);
        ns.push(together);
    }
    let detail = format!("{rows} rows, one at a time over a window of {window}");
    emit(Figure::of(format!("probing.{name}.window{window}"), "x", &ratios).with_detail(detail));
    emit(Figure::of(format!("probing.{name}.window{window}.time"), "ns", &ns));
    Ok(())
}

/// Nanoseconds per look-up; a window of 0 does not yield at all.
fn probe(runtime: &Runtime, tree: &Tree, rows: u64, window: u64) -> SqlResult<f64> {
    let tree = tree.clone().interleaved(window > 0);
    runtime.block_on(move || async move {
        let tree = Rc::new(tree);
        let tasks = window.max(1);
        let started = time::now();
        let look_up = |task| look_ups(tree.clone(), rows, task, PROBE_COUNT / tasks);
        let running: Vec<_> = (0..tasks).map(|task| runtime::spawn(look_up(task))).collect();
        let mut sum = 0u64;
        for task in running {
            sum = sum.wrapping_add(task.await.map_err(failed)??);
        }
        std::hint::black_box(sum);
        Ok(started.elapsed().as_nanos() as f64 / (PROBE_COUNT / tasks * tasks) as f64)
    })
}

async fn look_ups(tree: Rc<Tree>, rows: u64, task: u64, count: u64) -> SqlResult<u64> {
    let (mut sum, io) = (0u64, IoCounters::default());
    let mut random = stdx::Prng::new(task + 1);
    for _ in 0..count {
        let key = random.below(rows).to_be_bytes();
        let found = tree.get(&key, &io, |value| value[0]).await.map_err(failed)?;
        sum += u64::from(found.ok_or_else(|| failed("a row is missing"))?);
    }
    assert_eq!(io.reads.load(std::sync::atomic::Ordering::Relaxed), 0, "all pages are cached");
    Ok(sum)
}
