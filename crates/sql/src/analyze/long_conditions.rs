//! Long chains of conditions, behind a function.
//!
//! The library takes conditions that are joined by `AND` apart and makes a chain of them again,
//! over which it recurses; `NOT` makes such ones of alternatives. What stands behind a function
//! stays the balanced tree that it is.

use datafusion_common::Result;
use datafusion_common::config::ConfigOptions;
use datafusion_common::tree_node::{Transformed, TreeNodeRecursion};
use datafusion_expr::expr::BinaryExpr;
use datafusion_expr::utils::split_conjunction_owned;
use datafusion_expr::{Expr, LogicalPlan, Operator};
use datafusion_optimizer::AnalyzerRule;

use crate::functions::conditions::as_one;
use crate::parse::balance::balanced;
use crate::walk::nodes::{Nodes, erased, erased_ref};

/// Most conditions joined by `AND` that are planned one by one.
const CONJUNCTS_MAX: usize = 256;

/// Most alternatives: as many as there are ranges of keys for them.
const ALTERNATIVES_MAX: usize = 1_000;

/// Puts them there.
#[derive(Debug)]
pub(crate) struct LongConditions;

impl AnalyzerRule for LongConditions {
    fn analyze(&self, plan: LogicalPlan, _config: &ConfigOptions) -> Result<LogicalPlan> {
        if !has_long(&plan)? {
            return Ok(plan);
        }
        let kept = plan.transform_up_with_subqueries(erased(&mut |node: LogicalPlan| {
            node.map_expressions(erased(&mut |expr: Expr| expr.transform_down(kept_whole)))
        }))?;
        Ok(kept.data)
    }

    fn name(&self) -> &str {
        "long_conditions"
    }
}

fn has_long(plan: &LogicalPlan) -> Result<bool> {
    let mut found = false;
    plan.apply_with_subqueries(erased_ref(&mut |node: &LogicalPlan| {
        node.apply_expressions(erased_ref(&mut |expr: &Expr| {
            found = found || expr.exists(|part| Ok(is_long(part)))?;
            Ok(if found { TreeNodeRecursion::Stop } else { TreeNodeRecursion::Continue })
        }))
    }))?;
    Ok(found)
}

fn kept_whole(expr: Expr) -> Result<Transformed<Expr>> {
    if !is_long(&expr) {
        return Ok(Transformed::no(expr));
    }
    if matches!(&expr, Expr::BinaryExpr(BinaryExpr { op: Operator::Or, .. })) {
        return Ok(Transformed::new(as_one(expr), true, TreeNodeRecursion::Jump));
    }
    let mut first = split_conjunction_owned(expr);
    let rest = first.split_off(CONJUNCTS_MAX);
    let whole = first.into_iter().chain(balanced(rest, Expr::and).map(as_one));
    let whole = balanced(whole, Expr::and).expect("a long chain has conditions");
    Ok(Transformed::new(whole, true, TreeNodeRecursion::Jump))
}

/// True if a chain of more conditions begins here than are planned one by one.
fn is_long(expr: &Expr) -> bool {
    let Expr::BinaryExpr(chain) = expr else { return false };
    let most = match chain.op {
        Operator::And => CONJUNCTS_MAX,
        Operator::Or => ALTERNATIVES_MAX,
        _ => return false,
    };
    let (mut count, mut open) = (0, vec![expr]);
    while let Some(part) = open.pop()
        && count <= most
    {
        match part {
            Expr::BinaryExpr(pair) if pair.op == chain.op => {
                open.extend([&*pair.left, &pair.right])
            }
            _ => count += 1,
        }
    }
    count > most
}
