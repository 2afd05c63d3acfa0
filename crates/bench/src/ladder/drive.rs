//! The table, and runs of transactions on it.

use std::cell::Cell;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use runtime::{Config, IoCounters, RingChoice, time};
use storage::{Store, StoreOptions, Tree, TreeId};
use types::SqlResult;

use super::commits::Commits;
use super::rung::Rung;
use super::{Options, failed, started};
use crate::device::cpu_seconds;

const PAGE_BYTES: u64 = 4096;
const VALUE_BYTES: usize = 128;

/// Changes before a measurement, for each frame of the pool: it is full of changed pages then.
const WARM_FACTOR: f64 = 1.5;

/// Transactions in flight that fill the pool, whatever the rung.
const WARM_IN_FLIGHT: usize = 128;

/// Transactions of the measurement without faults.
const IN_MEMORY_COUNT: u64 = 200_000;

/// The table, in the state of its only checkpoint: what a run changes is lost with it.
pub(super) struct Table {
    path: PathBuf,
    tree: TreeId,
    rows: u64,
    pages: u64,
    pool_percent: u64,
}

impl Table {
    pub fn make(folder: &Path, options: &Options) -> SqlResult<Table> {
        let (path, rows) = (folder.join("ladder.dovetail"), options.rows);
        let config =
            Config { workers: 1, attack: false, ring: RingChoice::Uring, ..Config::default() };
        let (made, layout) = (path.clone(), options.layout);
        let (tree, pages) = started(config)?.block_on(move || async move {
            let options = StoreOptions { log: true, layout, ..StoreOptions::default() };
            let store = Store::create(&made, options).await.map_err(failed)?;
            let id = store.create_tree().await.map_err(failed)?;
            let tree = store.tree(id).map_err(failed)?;
            let mut loader = tree.bulk_loader().await.map_err(failed)?;
            for row in 0..rows {
                loader.push(&key(row), &value(row)).await.map_err(failed)?;
            }
            loader.finish().await.map_err(failed)?;
            let stats = tree.stats();
            store.checkpoint().await.map_err(failed)?;
            store.close().await;
            SqlResult::Ok((id, stats.leaf_pages + stats.inner_pages))
        })?;
        Ok(Table { path, tree, rows, pages, pool_percent: options.pool_percent })
    }

    /// What the table is, in a line.
    pub fn describe(&self) -> String {
        let Table { rows, pages, pool_percent, .. } = self;
        format!("{rows} rows in {pages} pages, a pool for {pool_percent} % of them, one worker")
    }

    fn frames(&self) -> u64 {
        (self.pages * self.pool_percent / 100).max(1024)
    }

    async fn open(&self, path: PathBuf, frames: u64) -> SqlResult<(Store, Tree)> {
        let pool_bytes = (frames * PAGE_BYTES) as usize;
        let options = StoreOptions { pool_bytes, log: true, ..StoreOptions::default() };
        let store = Store::open(&path, options).await.map_err(failed)?;
        let tree = store.tree(self.tree).map_err(failed)?;
        Ok((store, tree))
    }
}

fn key(row: u64) -> [u8; 8] {
    row.to_be_bytes()
}

fn value(row: u64) -> [u8; VALUE_BYTES] {
    let mut value = [0; VALUE_BYTES];
    value[..8].copy_from_slice(&row.to_le_bytes());
    value
}

/// What a run did.
#[derive(Clone, Debug)]
pub(super) struct Outcome {
    transactions: u64,
    elapsed_s: f64,
    cpu_s: f64,
    reads: u64,
    pages_written: f64,
    /// What served the file.
    pub ring: String,
}

impl Outcome {
    pub fn per_s(&self) -> f64 {
        self.transactions as f64 / self.elapsed_s
    }

    pub fn cpu_us_each(&self) -> f64 {
        self.cpu_s * 1e6 / self.transactions as f64
    }

    pub fn reads_each(&self) -> f64 {
        self.reads as f64 / self.transactions as f64
    }

    pub fn reads_per_s(&self) -> f64 {
        self.reads as f64 / self.elapsed_s
    }

    pub fn pages_written_each(&self) -> f64 {
        self.pages_written / self.transactions as f64
    }

    pub fn bytes_written_each(&self) -> f64 {
        self.pages_written_each() * PAGE_BYTES as f64
    }
}

/// Runs a rung for about `slice`.
pub(super) fn run(table: &Table, rung: Rung, log: bool, slice: Duration) -> SqlResult<Outcome> {
    let runtime = started(rung.config())?;
    let report = &runtime.rings()[0];
    let ring = format!("{} ({})", report.kind, report.reason);
    let (path, frames, rows) = (table.path.clone(), table.frames(), table.rows);
    let table = Table { path: path.clone(), ..*table };
    runtime.block_on(move || async move {
        let (store, tree) = table.open(path, frames).await?;
        if !store.backend().direct {
            return Err(failed(
                "the page cache cannot be bypassed here: the device cannot be seen",
            ));
        }
        let warm = Work::new(&store, &tree, rows, false);
        let count = (frames as f64 * WARM_FACTOR) as u64;
        warm.run(WARM_IN_FLIGHT, &|done| done >= count).await?;
        store.write_in_batches_of(rung.write_batch());
        let work = Work::new(&store, &tree, rows, log);
        let mut outcome = measured(&work, rung.in_flight(), slice).await?;
        outcome.ring = format!("{ring}, file by {}", store.backend().kind);
        drop((warm, work, tree));
        store.close().await;
        Ok(outcome)
    })
}

async fn measured(work: &Rc<Work>, in_flight: usize, slice: Duration) -> SqlResult<Outcome> {
    let (began, cpu, written) = (time::now(), cpu_seconds()?, written_bytes()?);
    work.run(in_flight, &|_| began.elapsed() >= slice).await?;
    Ok(Outcome {
        transactions: work.done.get(),
        elapsed_s: began.elapsed().as_secs_f64(),
        cpu_s: cpu_seconds()? - cpu,
        reads: work.io.reads.load(Ordering::Relaxed),
        pages_written: (written_bytes()? - written) / PAGE_BYTES as f64,
        ring: String::new(),
    })
}

/// Processor time of a transaction that finds all pages in the pool, in nanoseconds.
pub(super) fn in_memory(table: &Table) -> SqlResult<f64> {
    let runtime = started(Rung::Registered.config())?;
    let (path, rows) = (table.path.clone(), table.rows);
    // Changed pages are written in advance once they are a quarter of the frames.
    let frames = table.pages * 5;
    let table = Table { path: path.clone(), ..*table };
    runtime.block_on(move || async move {
        let (store, tree) = table.open(path, frames).await?;
        let warm = Work::new(&store, &tree, rows, false);
        warm.run(WARM_IN_FLIGHT, &|done| done >= 4 * rows / 10).await?;
        let work = Work::new(&store, &tree, rows, false);
        let cpu = time::thread_cpu();
        work.run(1, &|done| done >= IN_MEMORY_COUNT).await?;
        let cpu_ns = (time::thread_cpu() - cpu).as_nanos() as f64;
        drop((warm, work, tree));
        store.close().await;
        Ok(cpu_ns / IN_MEMORY_COUNT as f64)
    })
}

/// What the transactions of a run share.
struct Work {
    tree: Tree,
    rows: u64,
    commits: Option<Rc<Commits>>,
    done: Cell<u64>,
    io: IoCounters,
}

impl Work {
    fn new(store: &Store, tree: &Tree, rows: u64, log: bool) -> Rc<Work> {
        let commits = log.then(|| Rc::new(Commits::new(store.clone())));
        let (done, io) = (Cell::new(0), IoCounters::default());
        Rc::new(Work { tree: tree.clone(), rows, commits, done, io })
    }

    /// Runs transactions, so many in flight, until `ends` says so of the number that is done.
    async fn run(self: &Rc<Work>, in_flight: usize, ends: &dyn Fn(u64) -> bool) -> SqlResult<()> {
        let stop = Rc::new(Cell::new(false));
        let client = |_| {
            let (work, stop) = (self.clone(), stop.clone());
            runtime::spawn(async move {
                let mut random = stdx::Prng::new(runtime::random_u64());
                while !stop.get() {
                    work.transaction(&mut random).await?;
                    // What finds all pages in the pool does not wait for anything.
                    if runtime::need_preempt() {
                        runtime::yield_now().await;
                    }
                }
                SqlResult::Ok(())
            })
        };
        let clients: Vec<_> = (0..in_flight).map(client).collect();
        while !ends(self.done.get()) && !clients.iter().any(|client| client.is_finished()) {
            time::sleep(Duration::from_millis(1)).await;
        }
        stop.set(true);
        for client in clients {
            client.await.map_err(failed)??;
        }
        Ok(())
    }

    async fn transaction(&self, random: &mut stdx::Prng) -> SqlResult<()> {
        let row = random.below(self.rows);
        let (key, value) = (key(row), value(random.next_u64()));
        if !self.tree.replace(&key, &value, &self.io).await.map_err(failed)? {
            return Err(failed("a row is missing"));
        }
        if let Some(commits) = &self.commits {
            commits.commit(self.tree.id(), &key, &value).await?;
        }
        self.done.set(self.done.get() + 1);
        Ok(())
    }
}

/// Bytes that this process has given to devices to be written.
fn written_bytes() -> SqlResult<f64> {
    let io = std::fs::read_to_string("/proc/self/io").map_err(failed)?;
    let bytes = io.lines().find_map(|line| line.strip_prefix("write_bytes: ")?.parse().ok());
    bytes.ok_or_else(|| failed("/proc/self/io does not say what was written"))
}
