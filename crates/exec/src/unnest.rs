//! Set-returning functions: a row for each element of a row's arrays.

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, RecordBatch, UInt32Array};
use arrow_schema::SchemaRef;
use sql::plan::UnnestColumn;
use types::SqlResult;

use crate::batch;
use crate::stage::{Applied, Map};

/// Rows as often as their longest array has elements; shorter arrays end in nulls.
pub(crate) struct Unnest {
    pub(crate) node: usize,
    pub(crate) columns: Vec<UnnestColumn>,
    pub(crate) schema: SchemaRef,
}

impl Map for Unnest {
    fn node(&self) -> usize {
        self.node
    }

    fn apply(&self, rows: RecordBatch) -> SqlResult<Applied> {
        let lists: Vec<&ArrayRef> =
            self.columns.iter().filter(|c| c.elements).map(|c| rows.column(c.input)).collect();
        let length = |row: usize| {
            let of = |list: &&ArrayRef| match list.is_null(row) {
                true => 0,
                false => list.as_list::<i32>().value_length(row) as usize,
            };
            lists.iter().map(of).max().unwrap_or(0)
        };
        let lengths: Vec<usize> = (0..rows.num_rows()).map(length).collect();
        let column = |c: &UnnestColumn| {
            let column = rows.column(c.input);
            if c.elements {
                return elements(column, &lengths);
            }
            let repeated = lengths.iter().enumerate();
            let repeated = repeated.flat_map(|(row, &n)| std::iter::repeat_n(row as u32, n));
            batch::take_column(column, &UInt32Array::from_iter_values(repeated))
        };
        let columns = self.columns.iter().map(column).collect::<SqlResult<Vec<_>>>()?;
        Applied::whole(batch::make(&self.schema, columns, lengths.iter().sum())?)
    }
}

fn elements(column: &ArrayRef, lengths: &[usize]) -> SqlResult<ArrayRef> {
    let lists = column.as_list::<i32>();
    let mut places: Vec<Option<u32>> = Vec::with_capacity(lengths.iter().sum());
    for (row, &wanted) in lengths.iter().enumerate() {
        let start = lists.value_offsets()[row] as u32;
        let length = if lists.is_null(row) { 0 } else { lists.value_length(row) as usize };
        places.extend((0..wanted).map(|i| (i < length).then_some(start + i as u32)));
    }
    batch::take_column(lists.values(), &UInt32Array::from(places))
}
