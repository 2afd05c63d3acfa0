//! Evaluators that the front end hands in.

use std::any::Any;
use std::fmt;

use arrow_array::{ArrayRef, RecordBatch};
use arrow_schema::Schema;
use ir::Words;
use types::SqlResult;

use super::row::RowExpr;

/// An expression that the front end evaluates, over the columns of a batch.
pub trait Evaluate: fmt::Debug + Send + Sync {
    /// The value for each row of `batch`, of the type that the expression was made with. Decimal
    /// columns may be of 64 bits where the plan has 128.
    ///
    /// # Errors
    /// 22003, 22012, 22P02, and those of functions.
    fn evaluate(&self, batch: &RecordBatch) -> SqlResult<ArrayRef>;

    /// The value for each row as words of 64 bits, where it is at hand so and fits them.
    fn words(&self, _batch: &RecordBatch) -> Option<Words> {
        None
    }

    /// The positions of the columns that it reads, where that is known.
    fn columns(&self) -> Option<Vec<usize>> {
        None
    }

    /// The same over a row of `input`, where it has such a form.
    fn over_row(&self, _input: &Schema) -> Option<RowExpr> {
        None
    }

    /// True if it may have another value each time it is evaluated, or does something then.
    fn is_volatile(&self) -> bool;

    /// True if the other one is the same computation on the same columns.
    fn is_same(&self, other: &dyn Evaluate) -> bool;

    /// Itself, for the front end to find what it has handed in.
    fn as_any(&self) -> &dyn Any;
}
