//! Frames that move: the rows from the first one that a row without a value may see are kept, and
//! evaluated as if they were the partition. What a row sees must then end before the last row kept,
//! or that row's value waits.

use std::ops::Range;
use std::sync::Arc;

use arrow_array::{ArrayRef, RecordBatch, UInt32Array};
use arrow_select::concat::concat_batches;
use arrow_select::take::take_record_batch;
use types::SqlResult;

use super::super::{Begin, Evaluation, Sorted, WindowExpr};
use super::{Piece, Rows};
use crate::error::from_arrow;

/// A function of a moving frame in the middle of a partition.
#[derive(Default)]
pub(super) struct Moving {
    kept: Vec<RecordBatch>,
    begins: Vec<bool>,
    /// Rows at the beginning of `kept` that have their values.
    done: usize,
    /// Rows that stayed when rows were last evaluated.
    stayed: usize,
    bytes: usize,
}

impl Moving {
    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }

    pub(super) fn push(&mut self, function: &WindowExpr, rows: &Rows<'_>) -> SqlResult<Vec<Piece>> {
        self.kept.push(rows.batch.clone());
        self.bytes += rows.batch.get_array_memory_size();
        self.begins.extend(rows.begins);
        // Rows that stay are evaluated again with the new ones: as many of these make that cheap.
        match self.begins.len() >= 2 * self.stayed {
            true => self.evaluate(function, false),
            false => Ok(vec![]),
        }
    }

    pub(super) fn end(&mut self, function: &WindowExpr) -> SqlResult<Vec<Piece>> {
        match self.kept.is_empty() {
            true => Ok(vec![]),
            false => self.evaluate(function, true),
        }
    }

    /// The values of the rows that see nothing behind the last row kept; of all rows at the end of
    /// the partition.
    fn evaluate(&mut self, function: &WindowExpr, is_end: bool) -> SqlResult<Vec<Piece>> {
        let schema = self.kept[0].schema();
        let rows = concat_batches(&schema, &self.kept).map_err(from_arrow)?;
        let row_count = rows.num_rows();
        let mut sorted = Sorted::default();
        // The first row begins a group as far as can be seen.
        let begin = |begins: &bool| if *begins { Begin::Peers } else { Begin::Nothing };
        sorted.add(&self.begins.iter().map(begin).collect::<Vec<_>>());
        let inputs = function.inputs().iter().map(|input| input.evaluate(&rows));
        let inputs = inputs.collect::<SqlResult<Vec<_>>>()?;
        let frames = function.frames(&sorted, &inputs, 0..row_count)?;
        let waits = |row: &usize| !is_end && frames[*row].end >= row_count;
        let until = (self.done..row_count).find(waits).unwrap_or(row_count);
        let given = values(function, sorted, inputs, self.done..until)?;
        // The next row sees nothing before what the first one that waits, or the last one, sees.
        let next = frames.get(until).or(frames.last());
        let first = next.map_or(until, |frame| frame.start.min(until));
        // A copy: a slice would keep the memory of all.
        let staying = UInt32Array::from_iter_values(first as u32..row_count as u32);
        let rest = take_record_batch(&rows, &staying).map_err(from_arrow)?;
        self.begins.drain(..first);
        self.done = until - first;
        self.stayed = row_count - first;
        self.bytes = rest.get_array_memory_size();
        self.kept = vec![rest];
        Ok(given.map(Piece::Each).into_iter().collect())
    }
}

/// The values of some rows, if there are any.
fn values(
    function: &WindowExpr,
    sorted: Sorted,
    inputs: Vec<ArrayRef>,
    rows: Range<usize>,
) -> SqlResult<Option<ArrayRef>> {
    if rows.is_empty() {
        return Ok(None);
    }
    let mut evaluation = Evaluation::new(function, Arc::new(sorted), inputs)?;
    loop {
        if let Some(values) = evaluation.values(rows.clone())? {
            return Ok(Some(values));
        }
    }
}
