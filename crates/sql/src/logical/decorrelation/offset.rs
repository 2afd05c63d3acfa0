//! Subqueries that leave first rows out.

use datafusion_expr::{LogicalPlan, SkipType};

use crate::walk::nodes::Nodes;

/// Whether first rows are left out (`OFFSET`): the library forgets that when it asks whether there are rows.
pub(super) fn skips_rows(plan: &LogicalPlan) -> bool {
    let skips = |node: &LogicalPlan| match node {
        LogicalPlan::Limit(limit) => !matches!(limit.get_skip_type(), Ok(SkipType::Literal(0))),
        _ => false,
    };
    plan.exists(|node| Ok(skips(node))).unwrap_or(true)
}
