//! Decimals of batches in 64 bits. In a plan decimals have 128; a batch may have a column of them
//! as `Decimal64` of the same precision and scale, where whoever reads it does so by
//! [`crate::expr::Expr`]: programs and aggregates of ours read such words as they are, and all else
//! is given 128 bits.

use std::borrow::Cow;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{Decimal64Type, Decimal128Type};
use arrow_array::{Array, ArrayRef, PrimitiveArray, RecordBatch, RecordBatchOptions};
use arrow_schema::{DataType, FieldRef, Schema, SchemaRef};
use types::SqlResult;

use crate::error::from_arrow;

/// The type of a column's words; `None` for what is no decimal of the plan.
pub fn as_words(ty: &DataType) -> Option<DataType> {
    match ty {
        DataType::Decimal128(precision, scale) => Some(DataType::Decimal64(*precision, *scale)),
        _ => None,
    }
}

/// True if arrays of the type may stand where the plan has `ty`.
pub fn is_of(found: &DataType, ty: &DataType) -> bool {
    found == ty || as_words(ty).is_some_and(|words| *found == words)
}

fn are_words(column: &ArrayRef) -> bool {
    matches!(column.data_type(), DataType::Decimal64(..))
}

/// The column as the plan has it.
pub fn widened(column: &ArrayRef) -> ArrayRef {
    let DataType::Decimal64(precision, scale) = column.data_type() else {
        return Arc::clone(column);
    };
    let words = column.as_primitive::<Decimal64Type>();
    let wide: Vec<i128> = words.values().iter().map(|word| i128::from(*word)).collect();
    let wide = PrimitiveArray::<Decimal128Type>::new(wide.into(), words.nulls().cloned());
    Arc::new(wide.with_data_type(DataType::Decimal128(*precision, *scale)))
}

/// The batch with these of its columns as the plan has them; `read` names them, where there are
/// words at all.
///
/// # Errors
/// XX000 if the columns are not those of a batch.
pub fn widened_columns(
    batch: &RecordBatch,
    read: impl FnOnce() -> Vec<usize>,
) -> SqlResult<Cow<'_, RecordBatch>> {
    if !batch.columns().iter().any(are_words) {
        return Ok(Cow::Borrowed(batch));
    }
    let mut columns = batch.columns().to_vec();
    for at in read() {
        if let Some(column) = columns.get_mut(at) {
            *column = widened(column);
        }
    }
    let rows = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
    let schema = schema_of(&batch.schema(), &columns);
    RecordBatch::try_new_with_options(schema, columns, &rows).map(Cow::Owned).map_err(from_arrow)
}

/// The schema of rows with these columns, whose decimals may be of 64 bits where `schema` has 128,
/// or the reverse.
pub fn schema_of(schema: &SchemaRef, columns: &[ArrayRef]) -> SchemaRef {
    let is_other = |(field, column): (&FieldRef, &ArrayRef)| {
        let (told, found) = (field.data_type(), column.data_type());
        told != found && (is_of(found, told) || is_of(told, found))
    };
    if !schema.fields().iter().zip(columns).any(is_other) {
        return Arc::clone(schema);
    }
    let fields = schema.fields().iter().zip(columns).map(|pair| match is_other(pair) {
        true => Arc::new(pair.0.as_ref().clone().with_data_type(pair.1.data_type().clone())),
        false => Arc::clone(pair.0),
    });
    Arc::new(Schema::new(fields.collect::<Vec<_>>()))
}
