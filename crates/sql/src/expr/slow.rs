//! Expressions of which each row takes long.

use datafusion_expr::{BinaryExpr, Expr, Operator};

use crate::walk::nodes::Nodes;

/// Functions that search by patterns, by how their names begin.
const SEARCHES: [&str; 2] = ["regexp_", "similar_to"];

/// Whether a regular expression is matched in it.
pub(super) fn is_slow(expr: &Expr) -> bool {
    let is_search = |part: &Expr| match part {
        Expr::BinaryExpr(BinaryExpr { op, .. }) => matches!(
            op,
            Operator::RegexMatch
                | Operator::RegexIMatch
                | Operator::RegexNotMatch
                | Operator::RegexNotIMatch
        ),
        Expr::ScalarFunction(call) => {
            let name = call.func.name();
            SEARCHES.iter().any(|search| name.starts_with(search))
        }
        Expr::SimilarTo(_) => true,
        _ => false,
    };
    expr.exists(|part| Ok(is_search(part))).unwrap_or(false)
}
