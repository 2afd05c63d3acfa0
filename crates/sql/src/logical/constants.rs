//! Constant arithmetic, folded by our exact rules before the library folds it by its own, which wrap
//! around and cut off.

use datafusion_common::config::ConfigOptions;
use datafusion_common::tree_node::{Transformed, TransformedResult, TreeNode};
use datafusion_common::{DataFusionError, Result};
use datafusion_expr::expr::ScalarFunction;
use datafusion_expr::expr_rewriter::NamePreserver;
use datafusion_expr::{BinaryExpr, Expr, LogicalPlan, Operator};
use datafusion_optimizer::AnalyzerRule;
use types::SqlState;

use crate::library::LIBRARY;

/// Folds arithmetic of two constants, and casts of one.
#[derive(Debug)]
pub(super) struct ExactConstants;

impl AnalyzerRule for ExactConstants {
    fn analyze(&self, plan: LogicalPlan, _config: &ConfigOptions) -> Result<LogicalPlan> {
        plan.transform_up_with_subqueries(|node| {
            let preserver = NamePreserver::new(&node);
            node.map_expressions(|expr| {
                let name = preserver.save(&expr);
                Ok(expr.transform_up(fold)?.update_data(|e| name.restore(e)))
            })
        })
        .data()
    }

    fn name(&self) -> &str {
        "exact_constants"
    }
}

fn fold(expr: Expr) -> Result<Transformed<Expr>> {
    if !foldable(&expr) {
        return Ok(Transformed::no(expr));
    }
    match crate::expr::constant(&expr) {
        Ok(value) => Ok(Transformed::yes(Expr::Literal(value, None))),
        // It may stand in a branch that is never taken: the executor will say. Of floats the library would
        // make infinity.
        Err(error) if error.state == SqlState::DIVISION_BY_ZERO => {
            match (expr, LIBRARY.scalar("float_div")) {
                (Expr::BinaryExpr(division), Some(function)) if of_floats(&division) => {
                    let args = vec![*division.left, *division.right];
                    let call = ScalarFunction::new_udf(function, args);
                    Ok(Transformed::yes(Expr::ScalarFunction(call)))
                }
                (expr, _) => Ok(Transformed::no(expr)),
            }
        }
        Err(error) => Err(DataFusionError::External(Box::new(error))),
    }
}

fn of_floats(division: &BinaryExpr) -> bool {
    let float = |e: &Expr| matches!(e, Expr::Literal(v, _) if v.data_type().is_floating());
    division.op == Operator::Divide && (float(&division.left) || float(&division.right))
}

fn foldable(expr: &Expr) -> bool {
    let number = |e: &Expr| matches!(e, Expr::Literal(v, _) if v.data_type().is_numeric());
    match expr {
        Expr::BinaryExpr(BinaryExpr { left, op, right }) => {
            let arithmetic = matches!(
                op,
                Operator::Plus
                    | Operator::Minus
                    | Operator::Multiply
                    | Operator::Divide
                    | Operator::Modulo
            );
            arithmetic && number(left) && number(right)
        }
        Expr::Negative(inner) => number(inner),
        Expr::Cast(cast) => {
            let textual = cast.expr.as_literal().is_some_and(|v| v.data_type().is_string());
            let literal = matches!(*cast.expr, Expr::Literal(..));
            let printed = literal && cast.field.data_type().is_string();
            textual || printed || (number(&cast.expr) && cast.field.data_type().is_numeric())
        }
        _ => false,
    }
}
