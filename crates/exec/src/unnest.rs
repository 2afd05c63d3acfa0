//! Set-returning functions: a row for each element of a row's arrays, or value of its series.
//!
//! Rows come in batches of the usual size however long an array or a series is. Where one goes on stands
//! in the rows that are left: an array without the elements that were taken, a series that begins later.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, ListArray, RecordBatch, UInt32Array};
use arrow_buffer::{OffsetBuffer, ScalarBuffer};
use arrow_schema::SchemaRef;
use plan::expr::Series;
use plan::{Parameters, UnnestColumn, Unnested};
use types::{SqlError, SqlResult};

use crate::batch;
use crate::map::{Applied, Map};

/// Rows as often as their longest array has elements; shorter arrays end in nulls.
pub(crate) struct Unnest {
    node: usize,
    columns: Vec<UnnestColumn>,
    /// Per column, where it is a series.
    series: Vec<Option<Series>>,
    schema: SchemaRef,
    batch_rows: usize,
}

/// What was taken of the first rows of a batch.
struct Taken {
    /// Rows made of each.
    lengths: Vec<usize>,
    /// Per column, what comes out of it.
    columns: Vec<Pieces>,
    /// Whether the last of the rows has more, and where its series go on.
    open: Option<Vec<Option<i128>>>,
}

/// What comes out of a column.
enum Pieces {
    /// The value of the row.
    Value,
    /// Places among the elements of all its arrays.
    Elements(Vec<Option<u32>>),
    /// Values of series.
    Series(Vec<Option<i128>>),
}

impl Unnest {
    /// Over the rows of a node below `node`; a plan that is kept has the zone and the moment of
    /// `given`.
    pub(crate) fn new(
        node: usize,
        (columns, given): (&[UnnestColumn], Option<&Parameters>),
        schema: SchemaRef,
        batch_rows: usize,
    ) -> Unnest {
        let columns: Vec<_> = columns.iter().map(|column| at(*column, given)).collect();
        let fields = schema.fields().iter().zip(&columns);
        let series = fields.map(|(field, column)| match column.gives {
            Unnested::Series { context, .. } => Some(Series::new(field.data_type(), context)),
            Unnested::Value | Unnested::Elements => None,
        });
        Unnest { node, series: series.collect(), columns, schema, batch_rows }
    }

    /// As much of the rows as fits a batch.
    fn take(&self, rows: &RecordBatch) -> SqlResult<Taken> {
        let pieces = self.columns.iter().map(|column| match column.gives {
            Unnested::Value => Pieces::Value,
            Unnested::Elements => Pieces::Elements(vec![]),
            Unnested::Series { .. } => Pieces::Series(vec![]),
        });
        let mut taken = Taken { lengths: vec![], columns: pieces.collect(), open: None };
        let mut room = self.batch_rows;
        for row in 0..rows.num_rows() {
            let length = self.take_row(rows, row, room, &mut taken)?;
            taken.lengths.push(length);
            room -= length;
            if room == 0 || taken.open.is_some() {
                break;
            }
        }
        Ok(taken)
    }

    /// Up to `room` rows of one; how many they are.
    fn take_row(
        &self,
        rows: &RecordBatch,
        row: usize,
        room: usize,
        taken: &mut Taken,
    ) -> SqlResult<usize> {
        let before = self.batch_rows - room;
        let (mut length, mut is_open) = (0, false);
        let mut nexts = vec![None; self.columns.len()];
        for (at, (column, pieces)) in self.columns.iter().zip(&mut taken.columns).enumerate() {
            let found = match (pieces, &self.series[at], column.gives) {
                (Pieces::Elements(places), _, _) => {
                    let (start, all) = elements_of(rows.column(column.input), row);
                    let count = all.min(room);
                    places.extend((0..count).map(|i| Some(start + i as u32)));
                    is_open |= all > room;
                    count
                }
                (Pieces::Series(values), Some(series), Unnested::Series { stop, step, .. }) => {
                    let bounds = [column.input, stop, step].map(|i| rows.column(i));
                    let part = series.part(bounds, row, room)?;
                    values.extend(part.values.iter().copied().map(Some));
                    is_open |= part.next.is_some();
                    nexts[at] = part.next;
                    part.values.len()
                }
                _ => 0,
            };
            length = length.max(found);
        }
        taken.columns.iter_mut().for_each(|pieces| pieces.fill(before + length));
        taken.open = is_open.then_some(nexts);
        Ok(length)
    }

    /// The rows that are made of what was taken.
    fn made(&self, rows: &RecordBatch, taken: &Taken) -> SqlResult<RecordBatch> {
        let column = |(at, pieces): (usize, &Pieces)| {
            let column = rows.column(self.columns[at].input);
            match (pieces, &self.series[at]) {
                (Pieces::Elements(places), _) => {
                    let places = UInt32Array::from(places.clone());
                    batch::take_column(column.as_list::<i32>().values(), &places)
                }
                (Pieces::Series(values), Some(series)) => series.column(values),
                _ => {
                    let repeated = taken.lengths.iter().enumerate();
                    let repeated =
                        repeated.flat_map(|(row, &n)| std::iter::repeat_n(row as u32, n));
                    batch::take_column(column, &UInt32Array::from_iter_values(repeated))
                }
            }
        };
        let columns =
            taken.columns.iter().enumerate().map(column).collect::<SqlResult<Vec<_>>>()?;
        batch::make(&self.schema, columns, taken.lengths.iter().sum())
    }

    /// The rows of which nothing was taken, behind what is left of the last one.
    fn rest(&self, rows: &RecordBatch, taken: &Taken) -> SqlResult<Option<RecordBatch>> {
        let done = taken.lengths.len();
        let Some(nexts) = &taken.open else {
            let left = rows.num_rows() - done;
            return Ok((left > 0).then(|| rows.slice(done, left)));
        };
        let rest = rows.slice(done - 1, rows.num_rows() - done + 1);
        let count = taken.lengths.last().copied().unwrap_or_default();
        let mut columns = rest.columns().to_vec();
        for (at, column) in self.columns.iter().enumerate() {
            let of = column.input;
            match (column.gives, &self.series[at]) {
                (Unnested::Elements, _) => columns[of] = without_first(rest.column(of), count)?,
                (_, Some(series)) => columns[of] = series.resumed(rest.column(of), nexts[at])?,
                _ => {}
            }
        }
        batch::make(&rest.schema(), columns, rest.num_rows()).map(Some)
    }
}

impl Pieces {
    /// Nulls up to so many rows.
    fn fill(&mut self, count: usize) {
        match self {
            Pieces::Value => {}
            Pieces::Elements(places) => places.resize(count, None),
            Pieces::Series(values) => values.resize(count, None),
        }
    }
}

impl Map for Unnest {
    fn node(&self) -> usize {
        self.node
    }

    fn apply(&self, rows: RecordBatch) -> SqlResult<Applied> {
        let taken = self.take(&rows)?;
        let rest = self.rest(&rows, &taken)?;
        Ok(Applied { out: vec![self.made(&rows, &taken)?], rest })
    }
}

/// The column at the moment of an execution.
fn at(column: UnnestColumn, given: Option<&Parameters>) -> UnnestColumn {
    match (column.gives, given) {
        (Unnested::Series { stop, step, .. }, Some(given)) => {
            let gives = Unnested::Series { stop, step, context: given.context };
            UnnestColumn { gives, ..column }
        }
        _ => column,
    }
}

/// Where the elements of a row's array begin, and how many they are.
fn elements_of(column: &ArrayRef, row: usize) -> (u32, usize) {
    let lists = column.as_list::<i32>();
    let count = if lists.is_null(row) { 0 } else { lists.value_length(row) as usize };
    (lists.value_offsets()[row] as u32, count)
}

/// The arrays, the first of them without its first elements; the elements stay where they are.
fn without_first(column: &ArrayRef, count: usize) -> SqlResult<ArrayRef> {
    let lists = column.as_list::<i32>();
    let mut offsets = lists.value_offsets().to_vec();
    let count =
        i32::try_from(count).map_err(|_| SqlError::internal("an array of many elements"))?;
    offsets[0] = (offsets[0] + count).min(offsets[1]);
    let field = match lists.data_type() {
        arrow_schema::DataType::List(field) => Arc::clone(field),
        other => return Err(SqlError::internal(format!("{other} is no array"))),
    };
    let offsets = OffsetBuffer::new(ScalarBuffer::from(offsets));
    let lists =
        ListArray::try_new(field, offsets, Arc::clone(lists.values()), lists.nulls().cloned());
    Ok(Arc::new(lists.map_err(batch::arrow)?))
}
