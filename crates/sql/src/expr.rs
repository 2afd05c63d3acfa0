//! Expressions and aggregates, evaluated a vector at a time.
//!
//! The library's physical expressions stay behind these two types, so that nothing else in the
//! workspace depends on it.

use std::fmt;
use std::sync::Arc;

use arrow_array::{ArrayRef, RecordBatch};
use arrow_schema::DataType;
use datafusion_expr::GroupsAccumulator;
use datafusion_physical_expr::PhysicalExpr;
use types::SqlResult;

/// A scalar expression over the columns of a batch.
#[derive(Clone)]
pub struct Expr {
    physical: Arc<dyn PhysicalExpr>,
    ty: DataType,
    text: Arc<str>,
}

impl fmt::Debug for Expr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl Expr {
    /// The type of the result.
    pub fn data_type(&self) -> &DataType {
        &self.ty
    }

    /// As SQL-like text, for `EXPLAIN`.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The value for each row of `batch`.
    pub fn evaluate(&self, _batch: &RecordBatch) -> SqlResult<ArrayRef> {
        unreachable!("written by the planner")
    }
}

/// An aggregate function with its arguments, `FILTER`, `DISTINCT` and order.
#[derive(Clone)]
pub struct AggregateExpr {
    /// Over the input; empty for `count(*)`.
    pub args: Vec<Expr>,
    /// Only rows for which this is true.
    pub filter: Option<Expr>,
    text: Arc<str>,
}

impl fmt::Debug for AggregateExpr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl AggregateExpr {
    /// New state for any number of groups (`update_batch`, `merge_batch`, `state`, `evaluate`).
    pub fn accumulator(&self) -> SqlResult<Box<dyn GroupsAccumulator>> {
        unreachable!("written by the planner")
    }

    /// The type of the result.
    pub fn data_type(&self) -> DataType {
        unreachable!("written by the planner")
    }
}
