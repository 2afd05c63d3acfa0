//! Window functions, evaluated over rows that are sorted by partition and order.

use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use arrow_array::{Array, ArrayRef, UInt64Array};
use arrow_schema::DataType;
use types::{SqlError, SqlResult, SqlState};

use super::aggregate::AggregateExpr;
use super::scalar::Expr;
use super::sort_key::SortKey;
use crate::error::from_arrow;

mod evaluation;
mod frame;
mod running;
mod slide;
mod sliding;
mod sorted;
#[cfg(test)]
mod tests;
mod whole;

pub use evaluation::Evaluation;
pub use frame::{Frame, FrameBound, FrameUnits};
pub use running::{Piece, Running};
pub use sorted::{Begin, Sorted};

/// A window function with its partition, order and frame.
#[derive(Clone)]
pub struct WindowExpr {
    /// Rows with equal values are a partition.
    pub partition_by: Vec<Expr>,
    /// The order within a partition.
    pub order_by: Vec<SortKey>,
    function: WindowFunction,
    frame: Frame,
    inputs: Vec<Expr>,
    /// Where those of the frame begin.
    frame_at: usize,
    ty: DataType,
    text: Arc<str>,
}

/// A window function without its arguments.
#[derive(Clone)]
pub enum WindowFunction {
    /// `row_number`
    RowNumber,
    /// `rank`
    Rank,
    /// `dense_rank`
    DenseRank,
    /// `percent_rank`
    PercentRank,
    /// `cume_dist`
    CumeDist,
    /// `ntile` of a number of 64 bits.
    Ntile,
    /// `lag` (negative) and `lead` of a value, a distance of 64 bits and a default of the value's
    /// type.
    Shift(i64),
    /// `first_value`
    First,
    /// `last_value`
    Last,
    /// `nth_value` of a value and a place of 64 bits.
    Nth,
    /// An aggregate over the frame, whose arguments and filter are those of the function.
    Aggregate(Box<AggregateExpr>),
}

impl fmt::Debug for WindowExpr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl WindowExpr {
    /// A function of `args`, which have the types that it reads, over a frame; shown as `text` by
    /// EXPLAIN.
    pub fn new(
        function: WindowFunction,
        args: Vec<Expr>,
        (partition_by, order_by): (Vec<Expr>, Vec<SortKey>),
        frame: Frame,
        ty: DataType,
        text: &str,
    ) -> WindowExpr {
        let (frame_at, mut inputs) = (args.len(), args);
        inputs.extend(frame.inputs());
        let text = text.into();
        WindowExpr { partition_by, order_by, function, frame, inputs, frame_at, ty, text }
    }

    /// Its arguments, in the types that it reads.
    fn args(&self) -> &[Expr] {
        &self.inputs[..self.frame_at]
    }

    /// The type of the result.
    pub fn data_type(&self) -> &DataType {
        &self.ty
    }

    /// The type of what [`Running::push`] gives, which [`Running::finish`] makes the result of.
    pub fn given_type(&self) -> DataType {
        match self.function {
            WindowFunction::PercentRank | WindowFunction::CumeDist => DataType::UInt64,
            _ => self.ty.clone(),
        }
    }

    /// As SQL-like text, for `EXPLAIN`.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The expressions that it reads of each row, for [`Evaluation::new`]: arguments, filter, and
    /// what a frame of distances compares. Errors of evaluation are those of the arguments.
    pub fn inputs(&self) -> &[Expr] {
        &self.inputs
    }

    /// The frame of each of some rows.
    fn frames(
        &self,
        sorted: &Sorted,
        inputs: &[ArrayRef],
        rows: Range<usize>,
    ) -> SqlResult<Vec<Range<usize>>> {
        self.frame.ranges(sorted, &inputs[self.frame_at..], rows)
    }

    /// Values in the type of the result.
    fn of_type(&self, value: ArrayRef) -> SqlResult<ArrayRef> {
        if value.data_type() == &self.ty {
            return Ok(value);
        }
        arrow_cast::cast(&value, &self.ty).map_err(from_arrow)
    }
}

/// The tiles of `rows` of a partition of `total` rows, which are as many as the one value of
/// `count` says.
fn tiles(count: &ArrayRef, rows: Range<usize>, total: usize) -> SqlResult<ArrayRef> {
    let count = count.as_primitive::<Int64Type>();
    if count.is_null(0) {
        return Ok(Arc::new(UInt64Array::new_null(rows.len())));
    }
    let tile_count = count.value(0);
    if tile_count <= 0 {
        let message = "argument of ntile must be greater than zero";
        return Err(SqlError::new(SqlState("22014"), message));
    }
    let (total, tile_count) = (total as u64, tile_count as u64);
    // The first tiles have one row more.
    let (small, larger) = (total / tile_count, total % tile_count);
    let tile = |i: u64| match i < larger * (small + 1) {
        true => i / (small + 1) + 1,
        false => larger + (i - larger * (small + 1)) / small.max(1) + 1,
    };
    Ok(Arc::new(UInt64Array::from_iter_values(rows.map(|row| tile(row as u64)))))
}

fn not_positive_place() -> SqlError {
    SqlError::new(SqlState("22016"), "argument of nth_value must be greater than zero")
}
