//! Relations that are queries: in a `FROM`, of a `WITH`, views.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use datafusion_common::tree_node::TreeNode;
use datafusion_common::{FunctionalDependencies, Result};
use datafusion_expr::LogicalPlan;
use datafusion_expr::planner::{
    PlannedRelation, RelationPlanner, RelationPlannerContext, RelationPlanning,
};
use datafusion_sql::sqlparser::ast::TableFactor;

/// Lets the columns of groups determine nothing outside of their query. Of base tables' primary keys
/// PostgreSQL takes that they determine the other columns, and of nothing else; the library takes it of
/// all groups, also where it is wrong, and groups by columns that the statement does not name.
#[derive(Debug, Default)]
pub(super) struct Derived {
    /// The relation is on its way through the library.
    is_asking: AtomicBool,
}

impl RelationPlanner for Derived {
    fn plan_relation(
        &self,
        relation: TableFactor,
        context: &mut dyn RelationPlannerContext,
    ) -> Result<RelationPlanning> {
        if self.is_asking.swap(false, Ordering::Relaxed) {
            return Ok(RelationPlanning::Original(Box::new(relation)));
        }
        self.is_asking.store(true, Ordering::Relaxed);
        let plan = context.plan(relation)?;
        Ok(RelationPlanning::Planned(Box::new(PlannedRelation::new(closed(plan)?, None))))
    }
}

fn closed(plan: LogicalPlan) -> Result<LogicalPlan> {
    let has_groups = plan.exists(|node| Ok(matches!(node, LogicalPlan::Aggregate(_))))?;
    match plan {
        LogicalPlan::SubqueryAlias(mut named) if has_groups => {
            let schema = named.schema.as_ref().clone();
            let none = FunctionalDependencies::empty();
            named.schema = Arc::new(schema.with_functional_dependencies(none)?);
            Ok(LogicalPlan::SubqueryAlias(named))
        }
        other => Ok(other),
    }
}
