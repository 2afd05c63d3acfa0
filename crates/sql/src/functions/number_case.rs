//! Boolean CASEs that are not taken apart.

use arrow_schema::DataType;
use datafusion_common::ScalarValue;
use datafusion_expr::expr::Case;
use datafusion_expr::{Expr, Operator, binary_expr, cast};

/// A boolean CASE as a comparison of numbers. The simplifier takes boolean CASEs apart, and then a guarded
/// division is not guarded: it must not see that the branches are boolean. No type of SQL is this one.
pub(crate) fn number_case(case: Case) -> Expr {
    let small = |e: Box<Expr>| Box::new(cast(*e, DataType::Int8));
    let pairs = case.when_then_expr.into_iter().map(|(w, t)| (w, small(t))).collect();
    let number = Expr::Case(Case::new(case.expr, pairs, case.else_expr.map(small)));
    binary_expr(number, Operator::Eq, Expr::Literal(ScalarValue::Int8(Some(1)), None))
}
