//! Sort keys as comparable bytes, and rows that are sorted by them.

use std::sync::Arc;

use arrow_array::{Array, ArrayRef, BooleanArray, RecordBatch, UInt32Array, new_null_array};
use arrow_buffer::BooleanBuffer;
use arrow_row::{RowConverter, Rows, SortField};
use arrow_schema::{DataType, SortOptions};
use plan::expr::SortKey;
use types::SqlResult;
use types::equality::{canonical, canonical_type};

use crate::batch;
use crate::footprint::batch_bytes;

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
        let mut fields: Vec<SortField> = vec![];
        for key in keys {
            let ty = canonical_type(key.expr.data_type());
            let mut options =
                SortOptions { descending: key.descending, nulls_first: key.nulls_first };
            if parts_nulls(key) {
                fields.push(SortField::new_with_options(DataType::Boolean, options));
                options.nulls_first = options.descending;
            }
            fields.push(SortField::new_with_options(ty, options));
        }
        if fields.is_empty() {
            // No keys are one key that all rows share: the converter wants a column.
            fields.push(SortField::new(DataType::Boolean));
        }
        let converter = RowConverter::new(fields).map_err(batch::arrow)?;
        Ok(RowOrder { keys: keys.to_vec(), converter })
    }

    /// The keys of rows.
    pub(crate) fn encode(&self, rows: &RecordBatch) -> SqlResult<Rows> {
        let mut columns: Vec<ArrayRef> = vec![];
        for key in &self.keys {
            let values = canonical(&key.expr.evaluate(rows)?);
            if parts_nulls(key) {
                let nulls = values.logical_nulls();
                let all_true = BooleanBuffer::new_set(values.len());
                columns.push(Arc::new(BooleanArray::new(all_true, nulls)));
            }
            columns.push(values);
        }
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

/// True if a column of its own says which values are null: nulls among the elements of arrays are
/// greater than all others wherever nulls stand, and a converter has one place for both.
fn parts_nulls(key: &SortKey) -> bool {
    key.nulls_first != key.descending && matches!(key.expr.data_type(), DataType::List(_))
}
