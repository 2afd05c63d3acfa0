//! Tests of membership.

use datafusion_common::{DataFusionError, Result};
use datafusion_expr::expr::InList;
use datafusion_expr::{Expr, Operator, binary_expr};

use crate::parse::balance::balanced;

/// IN over values that differ from row to row, as comparisons: the library's membership test
/// forgets that one of them may be null.
pub(super) fn one_by_one(list: InList) -> Result<Expr> {
    let InList { expr, list, negated } = list;
    let equal = list.into_iter().map(|e| binary_expr((*expr).clone(), Operator::Eq, e));
    let any = balanced(equal, Expr::or);
    let any = any.ok_or_else(|| DataFusionError::Internal("IN without a list".into()))?;
    Ok(if negated { datafusion_expr::not(any) } else { any })
}
