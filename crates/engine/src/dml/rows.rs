//! Rows with their row ids, and batches put together.

use std::sync::Arc;

use arrow_array::{Array, ArrayRef, Int64Array, RecordBatch, RecordBatchOptions, UInt32Array};
use arrow_schema::{Schema, SchemaRef};
use arrow_select::take::take_record_batch;
use types::SqlResult;
use types::key::KeyEncoder;

use crate::catalog::entry::TableEntry;
use crate::fault::internal;
use crate::load::keys::key_arrays;

/// Rows of a table: all its columns in order, and a row id for each.
#[derive(Clone)]
pub(crate) struct Rows {
    pub(crate) batch: RecordBatch,
    /// Meaningless in a table with a primary key.
    pub(crate) ids: ArrayRef,
}

impl Rows {
    /// No rows of the table.
    pub(crate) fn none(entry: &TableEntry) -> Rows {
        let batch = entry.no_rows().clone();
        Rows { batch, ids: Arc::new(Int64Array::from(Vec::<i64>::new())) }
    }

    /// The rows that a query found by `sql::dml`: the table's columns, its row id if it has one, and
    /// what else the query computed.
    pub(crate) fn found(entry: &TableEntry, found: &RecordBatch) -> SqlResult<Rows> {
        let schema = entry.schema();
        let count = schema.fields().len();
        let columns = found.columns()[..count].to_vec();
        let batch = batch(&schema, columns, found.num_rows())?;
        let ids = match entry.def.primary_key.is_empty() {
            true => found.column(count).clone(),
            false => Arc::new(Int64Array::from(vec![0; found.num_rows()])),
        };
        Ok(Rows { batch, ids })
    }

    /// Rows of the table, put together.
    pub(crate) fn all(entry: &TableEntry, rows: &[Rows]) -> SqlResult<Rows> {
        if let [rows] = rows {
            return Ok(rows.clone());
        }
        let batches: Vec<RecordBatch> = rows.iter().map(|rows| rows.batch.clone()).collect();
        let batch = concatenated(&entry.schema(), &batches)?;
        let ids: Vec<&dyn Array> = rows.iter().map(|rows| &*rows.ids).collect();
        if ids.is_empty() {
            return Ok(Rows::none(entry));
        }
        Ok(Rows { batch, ids: arrow_select::concat::concat(&ids).map_err(internal)? })
    }

    pub(crate) fn len(&self) -> usize {
        self.batch.num_rows()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The rows at these positions.
    pub(crate) fn take(&self, positions: &[u32]) -> SqlResult<Rows> {
        let positions = UInt32Array::from(positions.to_vec());
        let batch = taken(&self.batch, &positions)?;
        let ids = arrow_select::take::take(&self.ids, &positions, None).map_err(internal)?;
        Ok(Rows { batch, ids })
    }

    /// All rows of both.
    pub(crate) fn and(&self, more: &Rows) -> SqlResult<Rows> {
        let schema = self.batch.schema();
        let more_batch = batch(&schema, more.batch.columns().to_vec(), more.len())?;
        let batch = concatenated(&schema, &[self.batch.clone(), more_batch])?;
        let ids = arrow_select::concat::concat(&[&self.ids, &more.ids]).map_err(internal)?;
        Ok(Rows { batch, ids })
    }

    /// The keys of the rows in the clustered tree.
    pub(crate) fn keys(&self, entry: &TableEntry) -> SqlResult<Vec<Vec<u8>>> {
        let key = &entry.layout.key;
        let encoder = KeyEncoder::new(key, &key_arrays(key, &self.batch, &self.ids));
        let encode = |row| {
            let mut bytes = vec![];
            encoder.encode(row, &mut bytes)?;
            Ok(bytes)
        };
        (0..self.len()).map(encode).collect()
    }
}

/// The rows of a batch, which may have no columns, at these positions.
pub(super) fn taken(rows: &RecordBatch, positions: &UInt32Array) -> SqlResult<RecordBatch> {
    match rows.num_columns() {
        0 => batch(&rows.schema(), vec![], positions.len()),
        _ => take_record_batch(rows, positions).map_err(internal),
    }
}

/// A batch of this schema; nulls where it allows none are the caller's mistake.
pub(crate) fn batch(
    schema: &SchemaRef,
    columns: Vec<ArrayRef>,
    count: usize,
) -> SqlResult<RecordBatch> {
    let options = RecordBatchOptions::new().with_row_count(Some(count));
    RecordBatch::try_new_with_options(schema.clone(), columns, &options).map_err(internal)
}

/// All rows of the batches, whatever their schemas say of nulls.
pub(crate) fn concatenated(schema: &SchemaRef, batches: &[RecordBatch]) -> SqlResult<RecordBatch> {
    let is_strict = |columns: &[ArrayRef]| {
        columns.iter().zip(schema.fields()).all(|(c, f)| f.is_nullable() || c.null_count() == 0)
    };
    if let [one] = batches
        && is_strict(one.columns())
    {
        return batch(schema, one.columns().to_vec(), one.num_rows());
    }
    let open = schema.fields().iter().map(|f| f.as_ref().clone().with_nullable(true));
    let open: SchemaRef = Arc::new(Schema::new(open.collect::<Vec<_>>()));
    let same = |b: &RecordBatch| batch(&open, b.columns().to_vec(), b.num_rows());
    let batches = batches.iter().map(same).collect::<SqlResult<Vec<_>>>()?;
    let all = arrow_select::concat::concat_batches(&open, &batches).map_err(internal)?;
    match is_strict(all.columns()) {
        true => batch(schema, all.columns().to_vec(), all.num_rows()),
        false => Ok(all),
    }
}
