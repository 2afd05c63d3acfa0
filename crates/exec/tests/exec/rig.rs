//! Runs plans in every mode and compares; nothing may be left behind.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, Mutex};

use arrow_array::{
    ArrayRef, BooleanArray, Date32Array, Float64Array, Int32Array, Int64Array, RecordBatch,
    StringViewArray,
};
use exec::{Grant, LocalFuture, Mode, Output, Progress, Query, execute};
use plan::Plan;
use runtime::Runtime;
use runtime::sync::{Cancel, Permits};
use types::SqlResult;

use crate::build::table_schema;
use crate::memory::{Behaviour, Memory};
use crate::reference::{Cell, evaluate, rows};

/// Keeps what is pushed; wants no more than `wanted` rows.
pub struct Kept {
    pub batches: Mutex<Vec<RecordBatch>>,
    pub wanted: usize,
}

impl Output for Kept {
    fn push<'a>(&'a self, batch: RecordBatch) -> LocalFuture<'a, SqlResult<bool>> {
        Box::pin(async move {
            runtime::yield_now().await;
            let mut batches = self.batches.lock().unwrap();
            batches.push(batch);
            Ok(batches.iter().map(RecordBatch::num_rows).sum::<usize>() < self.wanted)
        })
    }
}

/// A small generator, so that a seed says everything.
pub struct Dice(pub u64);

impl Dice {
    pub fn roll(&mut self, sides: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        ((z ^ (z >> 31)) % sides as u64) as usize
    }

    pub fn chance(&mut self, percent: usize) -> bool {
        self.roll(100) < percent
    }

    pub fn pick<'a, T: ?Sized>(&mut self, of: &[&'a T]) -> &'a T {
        of[self.roll(of.len())]
    }
}

/// A runtime with so many workers.
pub fn runtime(workers: usize) -> Runtime {
    Runtime::start(runtime::Config { workers, ..Default::default() }).expect("a runtime starts")
}

/// A simulated runtime: the same seed gives the same run.
pub fn simulation(workers: usize, seed: u64) -> Runtime {
    let ring = runtime::RingChoice::Sim(runtime::sim::Disk::new(seed));
    Runtime::start(runtime::Config { workers, ring, seed, ..Default::default() })
        .expect("a simulation starts")
}

/// Rows of a test table: few distinct values, nulls, strings short and long.
pub fn random_rows(dice: &mut Dice, row_count: usize) -> RecordBatch {
    const STRINGS: [&str; 5] =
        ["", "x", "short", "a string longer than twelve bytes", "another long string, of course"];
    fn column<T>(dice: &mut Dice, n: usize, f: impl Fn(&mut Dice) -> T) -> Vec<Option<T>> {
        (0..n).map(|_| if dice.chance(12) { None } else { Some(f(dice)) }).collect()
    }
    let n = row_count;
    let columns: Vec<ArrayRef> = vec![
        Arc::new(Int32Array::from(column(dice, n, |d| d.roll(9) as i32))),
        Arc::new(Int64Array::from(column(dice, n, |d| d.roll(100) as i64 - 50))),
        Arc::new(StringViewArray::from(column(dice, n, |d| STRINGS[d.roll(5)]))),
        Arc::new(BooleanArray::from(column(dice, n, |d| d.chance(50)))),
        Arc::new(Float64Array::from(column(dice, n, |d| d.roll(7) as f64 / 2.0))),
        Arc::new(Date32Array::from(column(dice, n, |d| 10_000 + d.roll(4) as i32))),
    ];
    RecordBatch::try_new(table_schema().arrow(), columns).unwrap()
}

/// Tables t, u, v with up to `row_count` rows.
pub fn memory(dice: &mut Dice, row_count: usize) -> Memory {
    let mut tables = HashMap::new();
    for name in ["t", "u", "v"] {
        let n = if dice.chance(10) { 0 } else { dice.roll(row_count + 1) };
        tables.insert(name.to_owned(), random_rows(dice, n));
    }
    tables.insert("empty".into(), random_rows(dice, 0));
    let behaviour = Arc::new(Behaviour { waits: 2, ..Behaviour::default() });
    Memory { tables, behaviour, leaf_rows: 1 + dice.roll(9) }
}

/// One way to run.
#[derive(Clone, Copy, Debug)]
pub struct Way {
    pub mode: Mode,
    pub permits: usize,
    /// Operators spill whenever they can.
    pub spills: bool,
}

impl Way {
    const fn of(mode: Mode, permits: usize, spills: bool) -> Way {
        Way { mode, permits, spills }
    }
}

pub const WAYS: [Way; 10] = [
    Way::of(Mode::Serial, 64, false),
    Way::of(Mode::Static { partitions: 1 }, 64, false),
    Way::of(Mode::Static { partitions: 5 }, 0, false),
    Way::of(Mode::OutOfOrder, 0, false),
    Way::of(Mode::OutOfOrder, 1, false),
    Way::of(Mode::OutOfOrder, 64, false),
    Way::of(Mode::Serial, 64, true),
    Way::of(Mode::Static { partitions: 3 }, 0, true),
    Way::of(Mode::OutOfOrder, 0, true),
    Way::of(Mode::OutOfOrder, 64, true),
];

/// A name for a temporary file that no other query has.
fn spill_path() -> PathBuf {
    static NUMBER: AtomicUsize = AtomicUsize::new(0);
    let number = NUMBER.fetch_add(1, SeqCst);
    std::env::temp_dir().join(format!("dovetail-exec-{}-{number}", std::process::id()))
}

/// What a run left.
pub struct Outcome {
    pub result: SqlResult<()>,
    pub rows: Vec<Vec<Cell>>,
    pub progress: Arc<Progress>,
}

/// A query with odd batch sizes.
pub fn query(plan: &Plan, workers: usize, way: Way) -> Query {
    let progress = Arc::new(Progress::new(plan.node_count, workers));
    let query = Query::new(way.mode, Permits::new(way.permits), Cancel::new(), progress);
    let memory = if way.spills { Grant::spilling() } else { Grant::unlimited() };
    let spill_path = way.spills.then(spill_path);
    Query { lookup_batch_rows: 3, batch_rows: 7, parts_per_worker: 3, memory, spill_path, ..query }
}

/// Runs to the end and checks that nothing is left.
pub fn run(runtime: &Runtime, plan: &Arc<Plan>, memory: &Arc<Memory>, query: Query) -> Outcome {
    run_for(runtime, plan, memory, query, usize::MAX)
}

/// The same, with an output that wants `wanted` rows.
pub fn run_for(
    runtime: &Runtime,
    plan: &Arc<Plan>,
    memory: &Arc<Memory>,
    query: Query,
    wanted: usize,
) -> Outcome {
    let kept = Arc::new(Kept { batches: Mutex::default(), wanted });
    let query = Arc::new(query);
    let result = {
        let (plan, memory) = (Arc::clone(plan), Arc::clone(memory));
        let (query, kept) = (Arc::clone(&query), Arc::clone(&kept));
        runtime.block_on(move || async move {
            let result = execute(plan, memory, Arc::clone(&query), kept).await;
            nothing_left(&query);
            result
        })
    };
    assert_eq!(memory.behaviour.in_work.load(SeqCst), 0, "pins left");
    let rows = rows(&kept.batches.lock().unwrap());
    Outcome { result, rows, progress: Arc::clone(&query.progress) }
}

/// No task and no permit.
pub fn nothing_left(query: &Query) {
    let tasks = query.progress.tasks();
    assert_eq!((tasks.running, tasks.waiting), (0, 0), "tasks left");
    assert_eq!(tasks.created, tasks.done);
    assert_eq!(query.permits.taken(), 0, "permits left");
}

/// Runs in all ways with one and two workers and compares with the reference; `ordered` compares
/// sequences, otherwise sets with repetitions.
pub fn check(
    runtimes: &[(usize, Runtime)],
    plan: &Arc<Plan>,
    memory: &Arc<Memory>,
    ordered: bool,
    name: &str,
) {
    let mut expected = rows(&[evaluate(&plan.root, memory)]);
    if !ordered {
        expected.sort();
    }
    for (workers, runtime) in runtimes {
        for way in WAYS {
            let outcome = run(runtime, plan, memory, query(plan, *workers, way));
            let text = || format!("{name}: {way:?}, {workers} workers\n{:?}", plan.root);
            assert_eq!(outcome.result, Ok(()), "{}", text());
            let mut got = outcome.rows;
            if !ordered {
                got.sort();
            }
            assert_eq!(got, expected, "{}", text());
        }
    }
}

/// Runtimes with one and with two workers.
pub fn runtimes() -> Vec<(usize, Runtime)> {
    vec![(1, runtime(1)), (2, runtime(2))]
}
