//! The sink of sort and top-k.

use arrow_array::{RecordBatch, UInt32Array};
use arrow_row::{RowConverter, SortField};
use arrow_schema::{SchemaRef, SortOptions};
use sql::plan::SortKey;
use types::SqlResult;

use crate::batch;
use crate::keys::canonical;
use crate::sink::{Locals, Sink};

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

    /// The positions of the first `fetch` rows in order; rows with equal keys in input order.
    fn sorted(&self, rows: &RecordBatch, fetch: Option<usize>) -> SqlResult<UInt32Array> {
        let columns = self.keys.iter().map(|k| Ok(canonical(&k.expr.evaluate(rows)?)));
        let columns = columns.collect::<SqlResult<Vec<_>>>()?;
        let encoded = self.converter.convert_columns(&columns).map_err(batch::arrow)?;
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
        Ok(order.into())
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
    pub(crate) fn finish(&self) -> SqlResult<Vec<RecordBatch>> {
        let batches: Vec<RecordBatch> =
            self.locals.take().into_iter().flat_map(|l| l.batches).collect();
        let rows = batch::concat(&self.schema, &batches)?;
        drop(batches);
        let order = self.order.sorted(&rows, self.fetch)?;
        let size = self.batch_rows.max(1);
        let cut = |at: usize| batch::take(&rows, &order.slice(at, size.min(order.len() - at)));
        (0..order.len()).step_by(size).map(cut).collect()
    }

    /// Keeps the best rows only, once there are several times as many as wanted.
    fn prune(&self, local: &mut Local, fetch: usize) -> SqlResult<()> {
        // Sorting twice as many rows as are kept halves the work per row; a batch is the least.
        if local.row_count < (2 * fetch).max(fetch + self.batch_rows) {
            return Ok(());
        }
        let rows = batch::concat(&self.schema, &std::mem::take(&mut local.batches))?;
        let best = batch::compact(batch::take(&rows, &self.order.sorted(&rows, Some(fetch))?)?);
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
        match self.fetch {
            Some(fetch) => self.prune(&mut local, fetch),
            None => Ok(()),
        }
    }
}
