//! Tables in memory whose parts split and wait as those of a disk would.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering::SeqCst};
use std::time::Duration;

use arrow_array::{RecordBatch, UInt32Array};
use arrow_cast::display::array_value_to_string;
use arrow_select::take::take_record_batch;
use exec::{Access, Depth, LocalFuture, Lookup, Matches, Part, ScanFilter, Source, Step, Tables};
use plan::{LookupJoin, Scan};
use types::{SqlError, SqlResult};

/// What the tables do besides answering.
#[derive(Default)]
pub struct Behaviour {
    /// Fail the step or look-up of this number, from 1.
    pub fail_at: AtomicU64,
    /// Panic in the step or look-up of this number, from 1.
    pub panic_at: AtomicU64,
    /// Steps and look-ups begun.
    pub begun: AtomicU64,
    /// Of these, in work now.
    pub in_work: AtomicUsize,
    /// The most in work at once.
    pub in_work_max: AtomicUsize,
    /// The most suspensions per step.
    pub waits: u64,
    /// The longest wait for the "device" per step, in simulated microseconds.
    pub sleep_us_max: u64,
    /// Steps that saw `Depth::Many`.
    pub deep: AtomicUsize,
    /// Panic when this table is opened.
    pub cursed: Option<&'static str>,
    /// Never answer steps after this number (0: always answer).
    pub hang_after: AtomicU64,
}

/// A database in memory.
pub struct Memory {
    pub tables: HashMap<String, RecordBatch>,
    pub behaviour: Arc<Behaviour>,
    /// Rows of a part that is not split further.
    pub leaf_rows: usize,
}

/// In work until dropped, as a pin would be.
struct Pinned(Arc<Behaviour>);

impl Drop for Pinned {
    fn drop(&mut self) {
        self.0.in_work.fetch_sub(1, SeqCst);
    }
}

async fn work(behaviour: &Arc<Behaviour>, access: Access<'_>) -> SqlResult<()> {
    let number = behaviour.begun.fetch_add(1, SeqCst) + 1;
    let now = behaviour.in_work.fetch_add(1, SeqCst) + 1;
    let _pin = Pinned(Arc::clone(behaviour));
    behaviour.in_work_max.fetch_max(now, SeqCst);
    access.io.reads.fetch_add(1, SeqCst);
    if access.depth == Depth::Many {
        behaviour.deep.fetch_add(1, SeqCst);
    }
    if behaviour.waits > 0 {
        for _ in 0..runtime::random_u64() % (behaviour.waits + 1) {
            runtime::yield_now().await;
        }
    }
    if behaviour.sleep_us_max > 0 {
        let us = runtime::random_u64() % (behaviour.sleep_us_max + 1);
        runtime::time::sleep(Duration::from_micros(us)).await;
    }
    let hang_after = behaviour.hang_after.load(SeqCst);
    if hang_after > 0 && number > hang_after {
        std::future::pending::<()>().await;
    }
    assert_ne!(number, behaviour.panic_at.load(SeqCst), "a panic on purpose");
    if number == behaviour.fail_at.load(SeqCst) {
        return Err(SqlError::new(types::SqlState::IO_ERROR, "a failure on purpose"));
    }
    Ok(())
}

struct MemorySource {
    rows: RecordBatch,
    leaf_rows: usize,
    behaviour: Arc<Behaviour>,
}

impl Source for MemorySource {
    fn roots(&self) -> Vec<Part> {
        vec![Part(Box::new(0..self.rows.num_rows()))]
    }

    fn step<'a>(&'a self, part: Part, access: Access<'a>) -> LocalFuture<'a, SqlResult<Step>> {
        Box::pin(async move {
            work(&self.behaviour, access).await?;
            let range = *part.0.downcast::<Range<usize>>().expect("a part of this source");
            if range.len() <= self.leaf_rows {
                let rows = self.rows.slice(range.start, range.len());
                return Ok(Step { rows: Some(rows), parts: vec![] });
            }
            let third = range.len().div_ceil(3);
            let cut = |s: usize| Part(Box::new(s..(s + third).min(range.end)) as _);
            let parts = range.clone().step_by(third).map(cut).collect();
            Ok(Step { rows: None, parts })
        })
    }
}

struct MemoryLookup {
    rows: RecordBatch,
    by_key: HashMap<Vec<String>, Vec<u32>>,
    behaviour: Arc<Behaviour>,
}

/// The cells of a row, `None` if one is null.
fn key_of(batch: &RecordBatch, columns: &[usize], row: usize) -> Option<Vec<String>> {
    let cell = |&c: &usize| {
        let column = batch.column(c);
        (!column.is_null(row)).then(|| array_value_to_string(column, row).expect("printable"))
    };
    columns.iter().map(cell).collect()
}

impl Lookup for MemoryLookup {
    fn lookup<'a>(
        &'a self,
        keys: &'a RecordBatch,
        access: Access<'a>,
    ) -> LocalFuture<'a, SqlResult<Matches>> {
        Box::pin(async move {
            work(&self.behaviour, access).await?;
            let all: Vec<usize> = (0..keys.num_columns()).collect();
            let (mut outer, mut inner) = (Vec::new(), Vec::new());
            for row in 0..keys.num_rows() {
                let Some(key) = key_of(keys, &all, row) else { continue };
                for &found in self.by_key.get(&key).map_or(&[][..], Vec::as_slice) {
                    outer.push(row as u32);
                    inner.push(found);
                }
            }
            let inner = take_record_batch(&self.rows, &UInt32Array::from(inner));
            Ok(Matches { outer: outer.into(), inner: inner.expect("positions are in range") })
        })
    }
}

impl Memory {
    fn project(&self, table: &str, columns: &[usize]) -> SqlResult<RecordBatch> {
        let missing = || SqlError::internal(format!("no table {table}"));
        let rows = self.tables.get(table).ok_or_else(missing)?;
        Ok(rows.project(columns).expect("columns exist"))
    }
}

impl Tables for Memory {
    fn source(&self, scan: &Scan, _: &[ScanFilter]) -> SqlResult<Arc<dyn Source>> {
        assert_ne!(Some(&*scan.table.name), self.behaviour.cursed, "a panic on purpose");
        Ok(Arc::new(MemorySource {
            rows: self.project(&scan.table.name, &scan.columns)?,
            leaf_rows: self.leaf_rows,
            behaviour: Arc::clone(&self.behaviour),
        }))
    }

    fn lookup(&self, join: &LookupJoin) -> SqlResult<Arc<dyn Lookup>> {
        let all = &self.tables[&join.table.name];
        let key_columns = &join.index.key_columns(&join.table)[..join.keys.len()];
        let mut by_key: HashMap<_, Vec<u32>> = HashMap::new();
        for row in 0..all.num_rows() {
            if let Some(key) = key_of(all, key_columns, row) {
                by_key.entry(key).or_default().push(row as u32);
            }
        }
        let rows = self.project(&join.table.name, &join.columns)?;
        Ok(Arc::new(MemoryLookup { rows, by_key, behaviour: Arc::clone(&self.behaviour) }))
    }
}
