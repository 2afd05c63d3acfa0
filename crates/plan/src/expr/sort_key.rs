//! Keys of an order.

use super::scalar::Expr;

/// One key of an order.
#[derive(Clone, Debug, PartialEq)]
pub struct SortKey {
    /// Over the input.
    pub expr: Expr,
    /// Largest first.
    pub descending: bool,
    /// Nulls before all values.
    pub nulls_first: bool,
}
