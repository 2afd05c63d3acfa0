//! The sink of sort and top-k: sorted runs per worker, merged at the end.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use arrow_array::{Array, RecordBatch, UInt32Array};
use arrow_row::{Row, RowConverter, Rows, SortField};
use arrow_schema::{SchemaRef, SortOptions};
use arrow_select::interleave::interleave;
use sql::plan::SortKey;
use types::SqlResult;

use crate::batch;
use crate::keys::canonical;
use crate::scope::Scope;
use crate::sink::{Locals, Sink};
use crate::stage::go_on;

/// Batches sorted in one go, without giving way: some ten milliseconds.
const RUN_BATCHES: usize = 32;

/// Sorts rows; with `fetch` keeps only the first.
pub(crate) struct SortSink {
    order: RowOrder,
    fetch: Option<usize>,
    schema: SchemaRef,
    locals: Locals<Local>,
    batch_rows: usize,
}

#[derive(Default)]
struct Local {
    batches: Vec<RecordBatch>,
    row_count: usize,
    runs: Vec<Run>,
}

/// Sorted rows with their encoded keys.
struct Run {
    rows: RecordBatch,
    keys: Rows,
}

/// Sort keys as comparable bytes.
struct RowOrder {
    keys: Vec<SortKey>,
    converter: RowConverter,
}

impl RowOrder {
    fn new(keys: &[SortKey]) -> SqlResult<RowOrder> {
        let field = |k: &SortKey| {
            let options = SortOptions { descending: k.descending, nulls_first: k.nulls_first };
            SortField::new_with_options(k.expr.data_type().clone(), options)
        };
        let converter = RowConverter::new(keys.iter().map(field).collect());
        Ok(RowOrder { keys: keys.to_vec(), converter: converter.map_err(batch::arrow)? })
    }

    fn encode(&self, rows: &RecordBatch) -> SqlResult<Rows> {
        let columns = self.keys.iter().map(|k| Ok(canonical(&k.expr.evaluate(rows)?)));
        let columns = columns.collect::<SqlResult<Vec<_>>>()?;
        self.converter.convert_columns(&columns).map_err(batch::arrow)
    }

    /// The first `fetch` of `rows` in order; rows with equal keys stay in input order.
    fn sorted(&self, rows: &RecordBatch, fetch: Option<usize>) -> SqlResult<Run> {
        let encoded = self.encode(rows)?;
        let mut order: Vec<u32> = (0..rows.num_rows() as u32).collect();
        let compare = |&a: &u32, &b: &u32| {
            encoded.row(a as usize).cmp(&encoded.row(b as usize)).then(a.cmp(&b))
        };
        if let Some(fetch) = fetch.filter(|&f| f < order.len()) {
            if fetch > 0 {
                order.select_nth_unstable_by(fetch - 1, compare);
            }
            order.truncate(fetch);
        }
        order.sort_unstable_by(compare);
        let mut keys = self.converter.empty_rows(order.len(), 0);
        order.iter().for_each(|&i| keys.push(encoded.row(i as usize)));
        let rows = batch::compact(batch::take(rows, &UInt32Array::from(order))?);
        Ok(Run { rows, keys })
    }
}

impl SortSink {
    pub(crate) fn new(
        keys: &[SortKey],
        fetch: Option<usize>,
        schema: SchemaRef,
        worker_count: usize,
        batch_rows: usize,
    ) -> SqlResult<SortSink> {
        let order = RowOrder::new(keys)?;
        Ok(SortSink { order, fetch, schema, locals: Locals::new(worker_count), batch_rows })
    }

    /// All rows (or the first) in order.
    pub(crate) async fn finish(&self, scope: &Scope) -> SqlResult<Vec<RecordBatch>> {
        let mut runs = Vec::new();
        for mut local in self.locals.take() {
            go_on(scope).await?;
            self.end_run(&mut local)?;
            runs.append(&mut local.runs);
        }
        match <[Run; 1]>::try_from(runs) {
            Ok([run]) => Ok(batch::slices(&run.rows, self.batch_rows)),
            Err(runs) => self.merge(runs, scope).await,
        }
    }

    /// Merges sorted runs, a batch at a time.
    async fn merge(&self, runs: Vec<Run>, scope: &Scope) -> SqlResult<Vec<RecordBatch>> {
        let mut heads = BinaryHeap::new();
        let head = |run: usize, row: usize| -> Option<Reverse<(Row<'_>, usize, usize)>> {
            let keys = &runs[run].keys;
            (row < keys.num_rows()).then(|| Reverse((keys.row(row), run, row)))
        };
        heads.extend((0..runs.len()).filter_map(|run| head(run, 0)));
        let mut left = self.fetch.unwrap_or(usize::MAX);
        let mut out = Vec::new();
        while left > 0 && !heads.is_empty() {
            go_on(scope).await?;
            let mut picked = Vec::new();
            while picked.len() < self.batch_rows.max(1).min(left)
                && let Some(Reverse((_, run, row))) = heads.pop()
            {
                picked.push((run, row));
                heads.extend(head(run, row + 1));
            }
            left -= picked.len();
            out.push(self.gather(&runs, &picked)?);
        }
        Ok(out)
    }

    fn gather(&self, runs: &[Run], picked: &[(usize, usize)]) -> SqlResult<RecordBatch> {
        let column = |i: usize| {
            let parts: Vec<&dyn Array> = runs.iter().map(|r| r.rows.column(i).as_ref()).collect();
            interleave(&parts, picked).map_err(batch::arrow)
        };
        let columns = (0..self.schema.fields().len()).map(column).collect::<SqlResult<Vec<_>>>()?;
        batch::make(&self.schema, columns, picked.len())
    }

    /// Sorts what has gathered since the last run.
    fn end_run(&self, local: &mut Local) -> SqlResult<()> {
        if local.row_count > 0 {
            let rows = batch::concat(&self.schema, &std::mem::take(&mut local.batches))?;
            local.row_count = 0;
            local.runs.push(self.order.sorted(&rows, self.fetch)?);
        }
        Ok(())
    }

    /// Keeps the best rows only, once there are several times as many as wanted.
    fn prune(&self, local: &mut Local, fetch: usize) -> SqlResult<()> {
        // Sorting twice as many rows as are kept halves the work per row; a batch is the least.
        if local.row_count < (2 * fetch).max(fetch + self.batch_rows) {
            return Ok(());
        }
        let rows = batch::concat(&self.schema, &std::mem::take(&mut local.batches))?;
        let best = self.order.sorted(&rows, Some(fetch))?.rows;
        local.row_count = best.num_rows();
        local.batches.push(best);
        Ok(())
    }
}

impl Sink for SortSink {
    fn push(&self, worker: usize, rows: RecordBatch) -> SqlResult<()> {
        let mut local = self.locals.of(worker);
        local.row_count += rows.num_rows();
        local.batches.push(batch::compact(rows));
        let run_rows = RUN_BATCHES * self.batch_rows;
        match self.fetch.filter(|&f| f < run_rows / 2) {
            Some(fetch) => self.prune(&mut local, fetch),
            None if local.row_count >= run_rows => self.end_run(&mut local),
            None => Ok(()),
        }
    }
}
