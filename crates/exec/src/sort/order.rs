//! Sort keys as comparable bytes, and rows that are sorted by them.

use std::sync::Arc;

use arrow_array::{ArrayRef, RecordBatch, UInt32Array, new_null_array};
use arrow_row::{RowConverter, Rows, SortField};
use arrow_schema::{DataType, SortOptions};
use sql::plan::SortKey;
use types::SqlResult;

use crate::batch;
use crate::footprint::batch_bytes;
use crate::keys::canonical;

/// Sorted rows with their encoded keys.
pub(super) struct Run {
    pub(super) rows: RecordBatch,
    pub(super) keys: Rows,
}

/// The order of rows.
pub(crate) struct RowOrder {
    keys: Vec<SortKey>,
    converter: RowConverter,
}

impl Run {
    /// Bytes that it takes.
    pub(super) fn bytes(&self) -> usize {
        batch_bytes(&self.rows) + self.keys.size()
    }
}

impl RowOrder {
    pub(crate) fn new(keys: &[SortKey]) -> SqlResult<RowOrder> {
        let field = |k: &SortKey| {
            let options = SortOptions { descending: k.descending, nulls_first: k.nulls_first };
            SortField::new_with_options(k.expr.data_type().clone(), options)
        };
        let mut fields: Vec<SortField> = keys.iter().map(field).collect();
        if fields.is_empty() {
            // No keys are one key that all rows share: the converter wants a column.
            fields.push(SortField::new(DataType::Boolean));
        }
        let converter = RowConverter::new(fields).map_err(batch::arrow)?;
        Ok(RowOrder { keys: keys.to_vec(), converter })
    }

    /// The keys of rows.
    pub(crate) fn encode(&self, rows: &RecordBatch) -> SqlResult<Rows> {
        let columns = self.keys.iter().map(|k| Ok(canonical(&k.expr.evaluate(rows)?)));
        let mut columns = columns.collect::<SqlResult<Vec<ArrayRef>>>()?;
        if columns.is_empty() {
            columns.push(Arc::new(new_null_array(&DataType::Boolean, rows.num_rows())));
        }
        self.converter.convert_columns(&columns).map_err(batch::arrow)
    }

    /// The first `fetch` of `rows` in order; rows with equal keys stay in input order.
    pub(super) fn sorted(&self, rows: &RecordBatch, fetch: Option<usize>) -> SqlResult<Run> {
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
