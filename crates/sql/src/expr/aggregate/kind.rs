//! How aggregates are computed.

use std::sync::Arc;

use datafusion_physical_expr::aggregate::AggregateFunctionExpr;

/// How the aggregate is computed.
#[derive(Clone)]
pub(crate) enum Kind {
    /// `count(*)`.
    Rows,
    /// By the library.
    Library(Arc<AggregateFunctionExpr>),
    /// `avg` of a decimal: the library cuts digits off, we round.
    Average {
        /// The sum of the same values.
        sum: Arc<AggregateFunctionExpr>,
        /// Their number.
        count: Arc<AggregateFunctionExpr>,
    },
}
