//! Window functions: all rows are sorted by partition and order, then each function runs over them.

use std::ops::Range;

use arrow_array::{ArrayRef, RecordBatch, UInt32Array};
use arrow_row::{RowConverter, Rows, SortField};
use arrow_schema::{SchemaRef, SortOptions};
use sql::expr::{Sorted, WindowExpr};
use types::SqlResult;

use crate::batch;
use crate::keys::canonical;

/// The rows in the order of the last function, with the value of each function behind their own columns.
pub(crate) fn evaluate(
    mut rows: RecordBatch,
    functions: &[WindowExpr],
    schema: &SchemaRef,
) -> SqlResult<RecordBatch> {
    let mut values: Vec<ArrayRef> = Vec::with_capacity(functions.len());
    for function in functions {
        let order = Order::new(function, &rows)?;
        if !order.is_sorted() {
            let indices = order.permutation();
            rows = batch::take(&rows, &indices)?;
            values = values
                .iter()
                .map(|v| batch::take_column(v, &indices))
                .collect::<SqlResult<Vec<_>>>()?;
        }
        let (partitions, peers) = order.groups();
        let sorted = Sorted { rows: &rows, partitions: &partitions, peers: &peers };
        values.push(function.evaluate(&sorted)?);
    }
    let row_count = rows.num_rows();
    let columns = rows.columns().iter().cloned().chain(values).collect();
    batch::make(schema, columns, row_count)
}

/// The keys of one function, encoded, and the order of the rows by them.
struct Order {
    partition: Option<Rows>,
    order: Option<Rows>,
    indices: Vec<u32>,
}

impl Order {
    fn new(function: &WindowExpr, rows: &RecordBatch) -> SqlResult<Order> {
        let plain = SortOptions { descending: false, nulls_first: false };
        let by = function.partition_by.iter().map(|e| (e, plain));
        let partition = encode(by.collect(), rows)?;
        let by = function.order_by.iter().map(|k| {
            let options = SortOptions { descending: k.descending, nulls_first: k.nulls_first };
            (&k.expr, options)
        });
        let order = encode(by.collect(), rows)?;
        let mut indices: Vec<u32> = (0..rows.num_rows() as u32).collect();
        let of = |rows: &Option<Rows>, a: u32, b: u32| {
            rows.as_ref().map(|r| r.row(a as usize).cmp(&r.row(b as usize)))
        };
        indices.sort_by(|&a, &b| {
            let partitions = of(&partition, a, b).unwrap_or(std::cmp::Ordering::Equal);
            partitions.then_with(|| of(&order, a, b).unwrap_or(std::cmp::Ordering::Equal))
        });
        Ok(Order { partition, order, indices })
    }

    fn is_sorted(&self) -> bool {
        self.indices.iter().enumerate().all(|(at, &from)| at == from as usize)
    }

    fn permutation(&self) -> UInt32Array {
        UInt32Array::from(self.indices.clone())
    }

    /// The partitions, and the peers of each row, as ranges of sorted rows.
    fn groups(&self) -> (Vec<Range<usize>>, Vec<Range<usize>>) {
        let same = |rows: &Option<Rows>, a: usize, b: usize| {
            let (a, b) = (self.indices[a] as usize, self.indices[b] as usize);
            rows.as_ref().is_none_or(|r| r.row(a) == r.row(b))
        };
        let (mut partitions, mut peers) = (Vec::new(), Vec::with_capacity(self.indices.len()));
        let (mut partition, mut first_peer) = (0, 0);
        for row in 1..=self.indices.len() {
            let end = row == self.indices.len();
            let new_partition = end || !same(&self.partition, row - 1, row);
            if new_partition || !same(&self.order, row - 1, row) {
                peers.extend(std::iter::repeat_n(first_peer..row, row - first_peer));
                first_peer = row;
            }
            if new_partition {
                partitions.push(partition..row);
                partition = row;
            }
        }
        (partitions, peers)
    }
}

/// Comparable bytes of the keys; `None` where there are no keys.
fn encode(
    keys: Vec<(&sql::expr::Expr, SortOptions)>,
    rows: &RecordBatch,
) -> SqlResult<Option<Rows>> {
    if keys.is_empty() {
        return Ok(None);
    }
    let field = |(e, o): &(&sql::expr::Expr, SortOptions)| {
        SortField::new_with_options(e.data_type().clone(), *o)
    };
    let converter = RowConverter::new(keys.iter().map(field).collect()).map_err(batch::arrow)?;
    let columns = keys.iter().map(|(e, _)| Ok(canonical(&e.evaluate(rows)?)));
    let columns = columns.collect::<SqlResult<Vec<_>>>()?;
    Ok(Some(converter.convert_columns(&columns).map_err(batch::arrow)?))
}
