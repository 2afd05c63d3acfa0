//! Rows are sorted in short runs, and no more of them are kept than are wanted twice over.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use arrow_array::{ArrayRef, Int64Array, RecordBatch};
use plan::expr::SortKey;
use runtime::{Config, Runtime};
use sql::parse_expr;

use super::{RUN_BATCHES, SortSink};
use crate::memory::Grant;
use crate::progress::Progress;
use crate::scope::Scope;
use crate::sink::Sink;
use crate::source::{Access, Depth, Source};
use crate::spill::Spill;
use crate::workspace::Workspace;

const BATCH_ROWS: usize = 16;

fn sink(fetch: Option<usize>) -> SortSink {
    let space = Workspace {
        memory: Grant::unlimited().reserve("sort"),
        spill: Arc::new(Spill::new(None)),
        progress: Arc::new(Progress::new(1, 1)),
        node: 0,
        depth: Depth::One,
        worker_count: 1,
        lanes: 1,
        batch_rows: BATCH_ROWS,
    };
    let schema = batch(0).schema();
    let expr = parse_expr("x", &schema).unwrap();
    let keys = [SortKey { expr, descending: false, nulls_first: false }];
    SortSink::new(&keys, fetch, schema, space).unwrap()
}

/// Rows in no order.
fn batch(number: usize) -> RecordBatch {
    let value = |i: usize| ((number * BATCH_ROWS + i) * 7919 % 10_007) as i64;
    let column: ArrayRef = Arc::new(Int64Array::from_iter_values((0..BATCH_ROWS).map(value)));
    RecordBatch::try_from_iter_with_nullable([("x", column, true)]).unwrap()
}

#[test]
fn runs_are_short() {
    for fetch in [None, Some(20), Some(1_000_000)] {
        let sink = sink(fetch);
        for number in 0..100 {
            assert!(sink.push(0, batch(number)).unwrap().is_none());
            let local = sink.locals.of(0);
            let longest = local.runs.iter().map(|run| run.rows.num_rows()).max();
            assert!(longest.unwrap_or(0).max(local.row_count) <= RUN_BATCHES * BATCH_ROWS);
        }
    }
}

#[test]
fn only_what_is_wanted_is_kept() {
    let config = Config { workers: 1, ..Config::default() };
    let runtime = Runtime::start(config).expect("a runtime starts");
    runtime.block_on(|| async {
        let fetch = 200;
        let sink = sink(Some(fetch));
        let mut longest = 0;
        for number in 0..200 {
            let mut refused = sink.push(0, batch(number)).unwrap();
            while let Some(rows) = refused {
                sink.relieve(0).await.unwrap();
                refused = sink.push(0, rows).unwrap();
            }
            longest = longest.max(sink.locals.of(0).run_rows);
        }
        assert!(longest <= 2 * fetch + RUN_BATCHES * BATCH_ROWS, "{longest} rows are kept");
        let run = Scope::root();
        let sorted = sink.finish(&run).await.unwrap();
        let (mut part, mut found) = (sorted.roots().pop(), vec![]);
        let io = Default::default();
        let skips = Default::default();
        while let Some(rest) = part {
            let access = Access { depth: Depth::One, io: &io, skips: &skips };
            let mut step = sorted.step(rest, access).await.unwrap();
            part = step.parts.pop();
            let rows = step.rows.iter().map(|rows| rows.column(0).as_primitive::<Int64Type>());
            rows.for_each(|values| found.extend_from_slice(values.values()));
        }
        let mut all: Vec<i64> = vec![];
        for number in 0..200 {
            all.extend_from_slice(batch(number).column(0).as_primitive::<Int64Type>().values());
        }
        all.sort_unstable();
        assert_eq!(found, all[..fetch]);
    });
}
