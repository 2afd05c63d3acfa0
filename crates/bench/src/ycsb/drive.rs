//! Runs of many transactions on each worker, one after the other or in a window.

use std::cell::{Cell, RefCell};
use std::fmt;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll, Waker};

use runtime::{IoCounters, Runtime, time};
use storage::{Depth, Tree};
use types::SqlResult;

use super::failed;
use super::keys::{Distribution, KEY_LEN_MAX, KeyForm};
use super::mix::{Mix, number};
use super::table::Table;

/// Look-ups of a ring of state machines.
const BATCH_ROWS: usize = 4096;

/// One transaction of so many is timed: a look at the clock costs as much as a step of a search.
const TIMED_OF: usize = 8;

/// How transactions follow each other on a worker.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Side {
    /// One after the other, and no look-up gives way.
    Sequential,
    /// So many take turns, and each look-up gives way where it would miss the caches.
    Window(usize),
    /// The same coroutines in an array, polled in turn by one task: what the scheduler costs is the
    /// difference.
    Flat(usize),
    /// Look-ups in batches of so many, which a loop without coroutines prefetches for.
    ByHand(usize),
    /// So many state machines in a ring, without coroutines.
    Amac(usize),
}

impl fmt::Display for Side {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Side::Sequential => f.write_str("sequential"),
            Side::Window(size) => write!(f, "window{size}"),
            Side::Flat(size) => write!(f, "flat{size}"),
            Side::ByHand(size) => write!(f, "by_hand{size}"),
            Side::Amac(size) => write!(f, "amac{size}"),
        }
    }
}

/// All transactions of a measurement, drawn beforehand.
#[derive(Clone)]
pub(super) struct Plan {
    tree: Tree,
    pub form: KeyForm,
    mix: Mix,
    /// The first number that no row has.
    next_row: Arc<AtomicU64>,
    /// The rows of each worker's transactions, one transaction behind the other.
    rows: Vec<Arc<[u64]>>,
}

impl Plan {
    pub fn new(
        table: &Table,
        form: KeyForm,
        mix: Mix,
        distribution: Distribution,
        operations: u64,
        workers: usize,
    ) -> Plan {
        let count = (operations / mix.rows_per_key()).max(mix.row_count() as u64);
        let rows = (0..workers as u64).map(|worker| distribution.draw(table.rows, count, worker));
        let rows = rows.map(Arc::from).collect();
        let (tree, next_row) = (table.tree(form), table.next_row(form));
        Plan { tree, form, mix, next_row, rows }
    }
}

/// What a run took.
#[derive(Clone, Debug, Default)]
pub(super) struct Outcome {
    operations: u64,
    elapsed_ns: u64,
    cpu_ns: u64,
    /// Of single transactions, ascending.
    latencies_ns: Vec<u64>,
    pub frame_bytes: usize,
}

impl Outcome {
    pub fn operations_per_s(&self) -> f64 {
        self.operations as f64 * 1e9 / self.elapsed_ns as f64
    }

    pub fn cpu_ns_per_operation(&self) -> f64 {
        self.cpu_ns as f64 / self.operations as f64
    }

    /// The latency of a transaction that this share of all stays below.
    pub fn latency_ns(&self, share: f64) -> f64 {
        let last = self.latencies_ns.len() - 1;
        self.latencies_ns[(last as f64 * share) as usize] as f64
    }
}

/// Runs all transactions of `plan`.
pub(super) fn run(runtime: &Runtime, plan: &Plan, side: Side) -> SqlResult<Outcome> {
    let tree = plan.tree.clone().interleaved(side != Side::Sequential);
    let (form, mix, rows) = (plan.form, plan.mix, plan.rows.clone());
    let next_row = plan.next_row.clone();
    runtime.block_on(move || async move {
        let began = time::now();
        let on_worker = |(worker, rows)| {
            let (tree, next_row) = (tree.clone(), next_row.clone());
            runtime::spawn_on(worker, move || Work::run((tree, next_row), form, mix, rows, side))
        };
        let running: Vec<_> = rows.into_iter().enumerate().map(on_worker).collect();
        let mut all = Outcome::default();
        for worker in running {
            let one = worker.await.map_err(failed)??;
            all.operations += one.operations;
            all.cpu_ns += one.cpu_ns;
            all.frame_bytes = one.frame_bytes;
            all.latencies_ns.extend(one.latencies_ns);
        }
        all.elapsed_ns = began.elapsed().as_nanos() as u64;
        all.latencies_ns.sort_unstable();
        Ok(all)
    })
}

/// What the transactions of one worker share.
struct Work {
    tree: Tree,
    form: KeyForm,
    mix: Mix,
    next_row: Arc<AtomicU64>,
    rows: Arc<[u64]>,
    /// Transactions that have begun.
    begun: Cell<usize>,
    sum: Cell<u64>,
    latencies_ns: RefCell<Vec<u64>>,
    io: IoCounters,
}

impl Work {
    async fn run(
        (tree, next_row): (Tree, Arc<AtomicU64>),
        form: KeyForm,
        mix: Mix,
        rows: Arc<[u64]>,
        side: Side,
    ) -> SqlResult<Outcome> {
        let (count, begun, sum) = (rows.len() / mix.row_count(), Cell::new(0), Cell::new(0));
        let latencies_ns = RefCell::new(Vec::with_capacity(count / TIMED_OF + 1));
        let io = IoCounters::default();
        let work = Work { tree, form, mix, next_row, rows, begun, sum, latencies_ns, io };
        let work = Rc::new(work);
        let cpu = time::thread_cpu();
        let frame_bytes = runtime::frame_bytes(&work.clone().slot());
        match side {
            Side::Sequential => work.clone().slot().await?,
            Side::Window(size) => work.clone().in_tasks(size).await?,
            Side::Flat(size) => work.clone().in_array(size).await?,
            Side::ByHand(size) => work.clone().by_hand(size, size).await?,
            // A ring that is filled anew only when all of it is done would run empty at each end.
            Side::Amac(size) => work.clone().by_hand(BATCH_ROWS, size).await?,
        }
        let cpu_ns = (time::thread_cpu() - cpu).as_nanos() as u64;
        std::hint::black_box(work.sum.get());
        if work.io.reads.load(Ordering::Relaxed) > 0 {
            return Err(failed("a page was read: the pool is too small"));
        }
        let operations = (count * work.mix.row_count()) as u64 * work.mix.rows_per_key();
        let latencies_ns = work.latencies_ns.take();
        Ok(Outcome { operations, elapsed_ns: 0, cpu_ns, latencies_ns, frame_bytes })
    }

    async fn in_tasks(self: Rc<Work>, size: usize) -> SqlResult<()> {
        let running: Vec<_> = (0..size).map(|_| runtime::spawn(self.clone().slot())).collect();
        for slot in running {
            slot.await.map_err(failed)??;
        }
        Ok(())
    }

    async fn in_array(self: Rc<Work>, size: usize) -> SqlResult<()> {
        let mut slots: Vec<_> = (0..size).map(|_| Box::pin(self.clone().slot())).collect();
        let mut cx = Context::from_waker(Waker::noop());
        let mut outcome = Ok(());
        while !slots.is_empty() {
            slots.retain_mut(|slot| match slot.as_mut().poll(&mut cx) {
                Poll::Pending => true,
                Poll::Ready(ended) => {
                    outcome = outcome.clone().and(ended);
                    false
                }
            });
        }
        outcome
    }

    /// Look-ups `count` at a time, in one batch, or in a ring where `window` is less than that.
    async fn by_hand(self: Rc<Work>, count: usize, window: usize) -> SqlResult<()> {
        let mut place = [0; KEY_LEN_MAX];
        let mut keys: Vec<Vec<u8>> = vec![vec![]; count];
        for (index, rows) in self.rows.chunks(count).enumerate() {
            let began = index.is_multiple_of(TIMED_OF).then(time::now);
            keys.truncate(rows.len());
            for (key, row) in keys.iter_mut().zip(rows) {
                key.clear();
                key.extend_from_slice(self.form.key(*row, &mut place));
            }
            let (mut sum, mut found) = (self.sum.get(), 0);
            let mut add = |_: usize, value: &[u8]| {
                sum = sum.wrapping_add(number(value));
                found += 1;
            };
            let (tree, io) = (&self.tree, &self.io);
            match window < count {
                true => tree.get_by_state_machines(&keys, window, io, &mut add).await,
                false => tree.get_batch(&keys, Depth::Many, io, &mut add).await,
            }
            .map_err(failed)?;
            self.sum.set(sum);
            if found < rows.len() {
                return Err(failed("a row is missing"));
            }
            if let Some(began) = began {
                self.latencies_ns.borrow_mut().push(began.elapsed().as_nanos() as u64);
            }
        }
        Ok(())
    }

    /// A place of the window: as soon as a transaction ends, the next one begins.
    async fn slot(self: Rc<Work>) -> SqlResult<()> {
        let per_transaction = self.mix.row_count();
        loop {
            let index = self.begun.get();
            let first = index * per_transaction;
            let Some(rows) = self.rows.get(first..first + per_transaction) else { return Ok(()) };
            self.begun.set(index + 1);
            let began = index.is_multiple_of(TIMED_OF).then(time::now);
            let read = self.mix.run(&self.tree, self.form, rows, &self.next_row, &self.io).await?;
            self.sum.set(self.sum.get().wrapping_add(read));
            if let Some(began) = began {
                self.latencies_ns.borrow_mut().push(began.elapsed().as_nanos() as u64);
            }
        }
    }
}
