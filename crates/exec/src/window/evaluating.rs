//! Whole partitions in memory: their rows go on as the values of the functions become known.

use std::collections::VecDeque;
use std::ops::Range;
use std::sync::Arc;

use arrow_array::{Array, ArrayRef, RecordBatch};
use arrow_schema::SchemaRef;
use plan::expr::{Begin, Evaluation, Sorted, WindowExpr};
use types::SqlResult;

use crate::batch;
use crate::footprint::column_bytes;
use crate::preempt::breathe;

/// Rows whose values are computed between two looks at the clock: of frames, each of which may be read
/// at length, and the first ones of others, whose values may be long.
const FEW_ROWS: usize = 64;

/// Bytes of values that go on together, however few rows they are: a list of all rows before each row
/// is as long as the square of their number.
const BYTES_AT_ONCE: usize = 1 << 20;

/// Rows of partitions, in order.
#[derive(Default)]
pub(super) struct Open {
    pub(super) rows: Vec<RecordBatch>,
    sorted: Sorted,
    /// Bytes of them as they are counted in the reservation.
    pub(super) counted: usize,
}

impl Open {
    pub(super) fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    pub(super) fn push(&mut self, rows: RecordBatch, begins: &[Begin], counted: usize) {
        if rows.num_rows() > 0 {
            self.sorted.add(begins);
            self.rows.push(rows);
            self.counted += counted;
        }
    }
}

/// Partitions that have ended.
pub(super) struct Evaluating {
    pieces: VecDeque<RecordBatch>,
    functions: Vec<Evaluation>,
    /// Rows that have gone on.
    given: usize,
    /// Rows whose values are computed next.
    step: usize,
    counted: usize,
}

impl Evaluating {
    pub(super) async fn new(open: Open, functions: &[WindowExpr]) -> SqlResult<Evaluating> {
        batch::row_count(&open.rows)?;
        let sorted = Arc::new(open.sorted);
        let mut evaluations = Vec::with_capacity(functions.len());
        for function in functions {
            let inputs = inputs(function, &open.rows).await?;
            evaluations.push(Evaluation::new(function, Arc::clone(&sorted), inputs)?);
        }
        Ok(Evaluating {
            pieces: open.rows.into(),
            functions: evaluations,
            given: 0,
            step: FEW_ROWS,
            counted: open.counted,
        })
    }

    /// Bytes of its rows in the reservation.
    pub(super) fn counted(&self) -> usize {
        self.counted
    }

    /// The next rows with their values; `None` when all were given.
    pub(super) async fn next(
        &mut self,
        schema: &SchemaRef,
        batch_rows: usize,
    ) -> SqlResult<Option<RecordBatch>> {
        let Some(rows) = self.pieces.pop_front() else { return Ok(None) };
        let mut values: Vec<Vec<ArrayRef>> = self.functions.iter().map(|_| vec![]).collect();
        let (mut count, mut bytes) = (0, 0);
        while count < rows.num_rows() && bytes < BYTES_AT_ONCE {
            let more = self.step.min(rows.num_rows() - count);
            let first = self.given + count;
            let mut found_bytes = 0;
            for (function, values) in self.functions.iter_mut().zip(&mut values) {
                let found = values_of(function, first..first + more).await?;
                found_bytes += column_bytes(&found);
                values.push(found);
            }
            self.adapt(found_bytes, batch_rows);
            (count, bytes) = (count + more, bytes + found_bytes);
        }
        if count < rows.num_rows() {
            self.pieces.push_front(rows.slice(count, rows.num_rows() - count));
        }
        self.given += count;
        let mut columns = rows.slice(0, count).columns().to_vec();
        for values in values {
            columns.push(whole(values)?);
        }
        batch::make(schema, columns, count).map(Some)
    }

    /// Fewer rows where their values are long, more where they are short.
    fn adapt(&mut self, bytes: usize, batch_rows: usize) {
        let most = match self.functions.iter().any(Evaluation::is_slow) {
            true => FEW_ROWS,
            false => batch_rows.max(FEW_ROWS),
        };
        self.step = match bytes {
            bytes if bytes > BYTES_AT_ONCE => (self.step / 2).max(1),
            bytes if bytes < BYTES_AT_ONCE / 4 => (self.step * 2).min(most),
            _ => self.step,
        };
    }
}

/// What a function reads, for all rows.
async fn inputs(function: &WindowExpr, rows: &[RecordBatch]) -> SqlResult<Vec<ArrayRef>> {
    let mut inputs = Vec::with_capacity(function.inputs().len());
    for input in function.inputs() {
        let mut parts = Vec::with_capacity(rows.len());
        for piece in rows {
            breathe().await;
            parts.push(input.evaluate(piece)?);
        }
        inputs.push(whole(parts)?);
    }
    Ok(inputs)
}

async fn values_of(function: &mut Evaluation, rows: Range<usize>) -> SqlResult<ArrayRef> {
    loop {
        breathe().await;
        if let Some(values) = function.values(rows.clone())? {
            return Ok(values);
        }
    }
}

/// All parts as one.
fn whole(mut parts: Vec<ArrayRef>) -> SqlResult<ArrayRef> {
    if parts.len() == 1
        && let Some(part) = parts.pop()
    {
        return Ok(part);
    }
    let parts: Vec<&dyn Array> = parts.iter().map(AsRef::as_ref).collect();
    arrow_select::concat::concat(&parts).map_err(batch::arrow)
}
