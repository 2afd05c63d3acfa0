//! Operations on batches that also hold for batches without columns.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{
    Array, ArrayRef, BooleanArray, RecordBatch, RecordBatchOptions, UInt32Array, new_null_array,
};
use arrow_schema::{ArrowError, DataType, Field, Schema, SchemaRef};
use arrow_select::filter::FilterBuilder;
use plan::expr::{schema_of, widened};
use types::{SqlError, SqlResult};

/// An error of a vector kernel that only a bug of ours can cause.
pub(crate) fn arrow(error: ArrowError) -> SqlError {
    SqlError::internal(error.to_string())
}

/// The same columns, all nullable: joins add nulls, and the rows matter, not the declaration.
pub(crate) fn relaxed(schema: &Schema) -> SchemaRef {
    let field = |f: &Arc<Field>| Field::new(f.name(), f.data_type().clone(), true);
    Arc::new(Schema::new(schema.fields().iter().map(field).collect::<Vec<_>>()))
}

/// The columns of both, all nullable.
pub(crate) fn joined(left: &Schema, right: &Schema) -> SchemaRef {
    let fields = left.fields().iter().chain(right.fields().iter());
    let all = fields.map(|f| Field::new(f.name(), f.data_type().clone(), true));
    Arc::new(Schema::new(all.collect::<Vec<_>>()))
}

/// A batch of `row_count` rows; decimals may be of 64 bits where the schema has 128.
pub(crate) fn make(
    schema: &SchemaRef,
    columns: Vec<ArrayRef>,
    row_count: usize,
) -> SqlResult<RecordBatch> {
    let options = RecordBatchOptions::new().with_row_count(Some(row_count));
    RecordBatch::try_new_with_options(schema_of(schema, &columns), columns, &options).map_err(arrow)
}

/// The rows at `indices`; a null index gives a row of nulls.
pub(crate) fn take_column(column: &ArrayRef, indices: &UInt32Array) -> SqlResult<ArrayRef> {
    if column.is_empty() {
        // All indices must be null here.
        return Ok(new_null_array(column.data_type(), indices.len()));
    }
    arrow_select::take::take(column, indices, None).map_err(arrow)
}

/// The rows of `batch` at `indices`.
pub(crate) fn take(batch: &RecordBatch, indices: &UInt32Array) -> SqlResult<RecordBatch> {
    let columns = batch.columns().iter().map(|c| take_column(c, indices));
    make(&batch.schema(), columns.collect::<SqlResult<_>>()?, indices.len())
}

/// The rows of `batch` for which `mask` is true.
pub(crate) fn keep(batch: &RecordBatch, mask: &BooleanArray) -> SqlResult<RecordBatch> {
    let filter = FilterBuilder::new(mask).optimize().build();
    if filter.count() == batch.num_rows() {
        return Ok(batch.clone());
    }
    let columns = batch.columns().iter().map(|c| filter.filter(c).map_err(arrow));
    let columns = columns.collect::<SqlResult<Vec<_>>>()?;
    Ok(compact(make(&batch.schema(), columns, filter.count())?))
}

/// The columns at `positions` under another schema.
pub(crate) fn project(
    batch: &RecordBatch,
    positions: &[usize],
    schema: &SchemaRef,
) -> SqlResult<RecordBatch> {
    let columns = positions.iter().map(|&i| Arc::clone(batch.column(i))).collect();
    make(schema, columns, batch.num_rows())
}

/// The rows of all batches. Error: 54000 when places of 32 bits cannot name them.
pub(crate) fn row_count(batches: &[RecordBatch]) -> SqlResult<usize> {
    let row_count = batches.iter().map(RecordBatch::num_rows).sum();
    if u32::try_from(row_count).is_err() {
        let text = "more than 4294967295 rows in one intermediate result";
        return Err(SqlError::new(types::SqlState::PROGRAM_LIMIT_EXCEEDED, text));
    }
    Ok(row_count)
}

/// All rows of `batches` in one batch.
pub(crate) fn concat(schema: &SchemaRef, batches: &[RecordBatch]) -> SqlResult<RecordBatch> {
    let row_count = row_count(batches)?;
    if batches.is_empty() {
        return Ok(RecordBatch::new_empty(Arc::clone(schema)));
    }
    let column = |i: usize| {
        let parts: Vec<ArrayRef> = batches.iter().map(|b| Arc::clone(b.column(i))).collect();
        let ty = parts[0].data_type();
        let parts = match parts.iter().all(|part| part.data_type() == ty) {
            true => parts,
            false => parts.iter().map(widened).collect(),
        };
        let parts: Vec<&dyn Array> = parts.iter().map(AsRef::as_ref).collect();
        arrow_select::concat::concat(&parts).map_err(arrow)
    };
    let columns = (0..schema.fields().len()).map(column).collect::<SqlResult<Vec<_>>>()?;
    Ok(compact(make(schema, columns, row_count)?))
}

/// As [`concat`], but gives the parts of a column back before it copies the next column.
pub(crate) fn concat_owned(
    schema: &SchemaRef,
    batches: Vec<RecordBatch>,
) -> SqlResult<RecordBatch> {
    if batches.len() < 2 {
        return concat(schema, &batches);
    }
    let row_count = row_count(&batches)?;
    let columns = parts_of_columns(schema, batches).into_iter().map(whole);
    make(schema, columns.collect::<SqlResult<Vec<_>>>()?, row_count)
}

/// The parts of each column of some batches.
pub(crate) fn parts_of_columns(
    schema: &SchemaRef,
    batches: Vec<RecordBatch>,
) -> Vec<Vec<ArrayRef>> {
    let mut columns: Vec<Vec<ArrayRef>> =
        (0..schema.fields().len()).map(|_| Vec::with_capacity(batches.len())).collect();
    for batch in batches {
        let (_, parts, _) = batch.into_parts();
        columns.iter_mut().zip(parts).for_each(|(column, part)| column.push(part));
    }
    columns
}

/// The column of these parts, of which there is one at least.
pub(crate) fn whole(parts: Vec<ArrayRef>) -> SqlResult<ArrayRef> {
    let parts: Vec<&dyn Array> = parts.iter().map(AsRef::as_ref).collect();
    arrow_select::concat::concat(&parts).map(tidy).map_err(arrow)
}

/// Rows under `schema` instead of their own (types agree, names and nullability need not).
pub(crate) fn retitle(batch: &RecordBatch, schema: &SchemaRef) -> SqlResult<RecordBatch> {
    make(schema, batch.columns().to_vec(), batch.num_rows())
}

/// Cuts a batch into slices of at most `row_count` rows, in order, without copying.
pub(crate) fn slices(batch: &RecordBatch, row_count: usize) -> Vec<RecordBatch> {
    let total = batch.num_rows();
    let cut = |at: usize| batch.slice(at, row_count.min(total - at));
    (0..total).step_by(row_count.max(1)).map(cut).collect()
}

/// Copies strings out of buffers of which they use less than half (or that are many), so that few
/// rows do not keep the decoded pages of many alive.
pub(crate) fn compact(batch: RecordBatch) -> RecordBatch {
    if !batch.columns().iter().any(is_wasteful) {
        return batch;
    }
    let columns: Vec<ArrayRef> = batch.columns().iter().cloned().map(tidy).collect();
    let options = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
    RecordBatch::try_new_with_options(batch.schema(), columns, &options).unwrap_or(batch)
}

fn tidy(column: ArrayRef) -> ArrayRef {
    match is_wasteful(&column) {
        true => Arc::new(column.as_string_view().gc()),
        false => column,
    }
}

fn is_wasteful(column: &ArrayRef) -> bool {
    // Below this a copy costs more than the memory is worth.
    const SMALL_BYTES: usize = 4096;
    if column.data_type() != &DataType::Utf8View {
        return false;
    }
    let strings = column.as_string_view();
    let held: usize = strings.data_buffers().iter().map(|b| b.len()).sum();
    held > SMALL_BYTES
        && (held > 2 * strings.total_buffer_bytes_used() || strings.data_buffers().len() > 16)
}

/// The value of a predicate as a mask.
pub(crate) fn mask(array: &ArrayRef) -> SqlResult<&BooleanArray> {
    array
        .as_boolean_opt()
        .ok_or_else(|| SqlError::internal(format!("a predicate of type {}", array.data_type())))
}
