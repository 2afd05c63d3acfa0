//! Window functions under one name each: the library's rules know a function behind an alias, and none
//! behind an alias of an alias, which analysis leaves.

use datafusion_common::Result;
use datafusion_common::tree_node::{Transformed, TransformedResult};
use datafusion_expr::expr::Alias;
use datafusion_expr::{Expr, LogicalPlan, Window};

/// Drops the inner names.
pub(super) fn with_one_each(plan: LogicalPlan) -> Result<LogicalPlan> {
    plan.transform_up_with_subqueries(|node| match node {
        LogicalPlan::Window(window) if window.window_expr.iter().any(has_two) => {
            let exprs = window.window_expr.into_iter().map(with_one).collect();
            let window = Window::try_new_with_schema(exprs, window.input, window.schema)?;
            Ok(Transformed::yes(LogicalPlan::Window(window)))
        }
        other => Ok(Transformed::no(other)),
    })
    .data()
}

fn has_two(expr: &Expr) -> bool {
    matches!(expr, Expr::Alias(alias) if matches!(*alias.expr, Expr::Alias(_)))
}

fn with_one(expr: Expr) -> Expr {
    match expr {
        Expr::Alias(alias) => {
            let inner = without_names(*alias.expr);
            Expr::Alias(Alias { expr: Box::new(inner), ..alias })
        }
        other => other,
    }
}

fn without_names(expr: Expr) -> Expr {
    match expr {
        Expr::Alias(alias) => without_names(*alias.expr),
        other => other,
    }
}
