//! Aggregate functions with their arguments, `FILTER`, `DISTINCT` and order.

use std::fmt;
use std::sync::Arc;

use arrow_schema::DataType;
use types::SqlResult;

use super::accumulator::{Accumulator, Total};
use super::function::AggregateFunction;
use super::scalar::Expr;

/// An aggregate function with its arguments, `FILTER`, `DISTINCT` and order.
#[derive(Clone)]
pub struct AggregateExpr {
    /// Over the input; empty for `count(*)`. The values that order the input stand behind the
    /// arguments.
    pub args: Vec<Expr>,
    /// Only rows for which this is true.
    pub filter: Option<Expr>,
    /// How it is computed.
    pub kind: AggregateKind,
    /// True if its value depends on the order in which the rows come.
    pub follows_input: bool,
    /// The type of the result.
    pub ty: DataType,
    /// As SQL-like text, for `EXPLAIN`.
    pub text: Arc<str>,
}

/// How an aggregate is computed.
#[derive(Clone)]
pub enum AggregateKind {
    /// `count(*)`.
    Rows,
    /// By a function of the front end.
    Foreign {
        /// The function.
        function: Arc<dyn AggregateFunction>,
        /// The same as one of our own, where it is one.
        total: Option<Total>,
    },
    /// `avg` of a decimal, rounded.
    Average {
        /// The sum of the same values.
        sum: Arc<dyn AggregateFunction>,
        /// Their number.
        count: Arc<dyn AggregateFunction>,
        /// The same as one of our own, where it is one.
        total: Option<Total>,
    },
}

impl AggregateKind {
    /// The same by functions of the front end alone.
    #[must_use]
    pub fn foreign(self) -> AggregateKind {
        match self {
            AggregateKind::Rows => AggregateKind::Rows,
            AggregateKind::Foreign { function, .. } => {
                AggregateKind::Foreign { function, total: None }
            }
            AggregateKind::Average { sum, count, .. } => {
                AggregateKind::Average { sum, count, total: None }
            }
        }
    }
}

impl fmt::Debug for AggregateExpr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl AggregateExpr {
    /// True if its value depends on the order in which the rows come.
    pub fn follows_input(&self) -> bool {
        self.follows_input
    }

    /// New state for any number of groups.
    ///
    /// # Errors
    /// Those of the front end.
    pub fn accumulator(&self) -> SqlResult<Accumulator> {
        Accumulator::new(&self.kind)
    }

    /// The type of the result.
    pub fn data_type(&self) -> DataType {
        self.ty.clone()
    }

    /// As SQL-like text, for `EXPLAIN`.
    pub fn text(&self) -> &str {
        &self.text
    }
}
