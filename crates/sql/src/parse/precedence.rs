//! `a IS DISTINCT FROM b AND c`: the parser takes all that follows as the right side. Here the tree
//! becomes what PostgreSQL reads, `(a IS DISTINCT FROM b) AND c`; parentheses are nodes of their own,
//! so what the user grouped stays.

use std::ops::ControlFlow;

use datafusion_sql::sqlparser::ast::{BinaryOperator, Expr, UnaryOperator, Value, VisitorMut};

use crate::walk::WalkMut;

/// Rewrites a statement or query in place.
pub(crate) fn regroup(tree: &mut impl WalkMut) {
    let ControlFlow::<()>::Continue(()) = tree.walk_mut(&mut Regroup) else { return };
}

struct Regroup;

impl VisitorMut for Regroup {
    type Break = ();

    /// From the leaves up: what a node hands out reaches all nodes above it that bind closer.
    fn post_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<()> {
        let (holder, looser) = match expr {
            Expr::IsDistinctFrom(_, right) | Expr::IsNotDistinctFrom(_, right) => {
                (right, Looser::Any)
            }
            Expr::UnaryOp { op: UnaryOperator::Not, expr } => (expr, Looser::Any),
            Expr::BinaryOp { op: BinaryOperator::And, right, .. } => (right, Looser::Or),
            _ => return ControlFlow::Continue(()),
        };
        if looser.holds(holder) {
            let mut out = std::mem::replace(holder.as_mut(), Expr::value(Value::Null));
            let first = leftmost(&mut out, looser);
            let operand = std::mem::replace(first, Expr::value(Value::Null));
            **holder = operand;
            *first = std::mem::replace(expr, Expr::value(Value::Null));
            *expr = out;
        }
        ControlFlow::Continue(())
    }
}

/// Which operators bind less than the one above them.
#[derive(Clone, Copy)]
enum Looser {
    /// `AND` and `OR`.
    Any,
    /// `OR`.
    Or,
}

impl Looser {
    fn holds(self, expr: &Expr) -> bool {
        matches!(
            (self, expr),
            (Looser::Any, Expr::BinaryOp { op: BinaryOperator::And, .. })
                | (_, Expr::BinaryOp { op: BinaryOperator::Or, .. })
        )
    }
}

/// The first operand of a chain of looser operators.
fn leftmost(expr: &mut Expr, looser: Looser) -> &mut Expr {
    if !looser.holds(expr) {
        return expr;
    }
    match expr {
        Expr::BinaryOp { left, .. } => leftmost(left, looser),
        other => other,
    }
}
