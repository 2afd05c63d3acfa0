//! Lateral relations that name nothing beside them, because what named it has been simplified away: `LATERAL
//! (SELECT t.x FROM q WHERE false)` has no rows for any `t`. They are relations like others.

use std::sync::Arc;

use datafusion_common::Result;
use datafusion_common::tree_node::{Transformed, TreeNodeRecursion};
use datafusion_expr::{LogicalPlan, SubqueryAlias};
use datafusion_optimizer::optimizer::ApplyOrder;
use datafusion_optimizer::{OptimizerConfig, OptimizerRule};

use crate::walk::nodes::erased_ref;

/// The rule.
#[derive(Debug)]
pub(super) struct ClosedLaterals;

impl OptimizerRule for ClosedLaterals {
    fn name(&self) -> &str {
        "closed_laterals"
    }

    fn apply_order(&self) -> Option<ApplyOrder> {
        Some(ApplyOrder::TopDown)
    }

    fn rewrite(
        &self,
        plan: LogicalPlan,
        _config: &dyn OptimizerConfig,
    ) -> Result<Transformed<LogicalPlan>> {
        let LogicalPlan::Join(mut join) = plan else { return Ok(Transformed::no(plan)) };
        let closed = closed(&join.right)?;
        let is_closed = closed.is_some();
        if let Some(closed) = closed {
            join.right = Arc::new(closed);
        }
        Ok(Transformed::new_transformed(LogicalPlan::Join(join), is_closed))
    }
}

/// The relation of a lateral one that names nothing outside of it.
fn closed(plan: &LogicalPlan) -> Result<Option<LogicalPlan>> {
    match plan {
        LogicalPlan::Subquery(subquery) => {
            let inner = subquery.subquery.as_ref();
            Ok((!names_outer(inner)?).then(|| inner.clone()))
        }
        LogicalPlan::SubqueryAlias(named) => match closed(&named.input)? {
            Some(inner) => {
                let named = SubqueryAlias::try_new(Arc::new(inner), named.alias.clone())?;
                Ok(Some(LogicalPlan::SubqueryAlias(named)))
            }
            None => Ok(None),
        },
        _ => Ok(None),
    }
}

fn names_outer(plan: &LogicalPlan) -> Result<bool> {
    let mut found = false;
    plan.apply_with_subqueries(erased_ref(&mut |node: &LogicalPlan| {
        found |= node.contains_outer_reference();
        Ok(if found { TreeNodeRecursion::Stop } else { TreeNodeRecursion::Continue })
    }))?;
    Ok(found)
}
