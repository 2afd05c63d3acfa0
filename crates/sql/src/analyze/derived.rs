//! Relations that are queries: in a `FROM`, of a `WITH`, views.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use arrow_schema::Field;
use datafusion_common::{DataFusionError, FunctionalDependencies, Result};
use datafusion_expr::planner::{
    PlannedRelation, RelationPlanner, RelationPlannerContext, RelationPlanning,
};
use datafusion_expr::{Expr, LogicalPlan, LogicalPlanBuilder};
use datafusion_sql::sqlparser::ast::TableFactor;
use types::{SqlError, SqlState};

use crate::analyze::no_columns::is_stand_in;
use crate::parse::object_name::identifier;
use crate::walk::nodes::Nodes;

/// Lets the columns of groups determine nothing outside of their query. Of base tables' primary keys
/// PostgreSQL takes that they determine the other columns, and of nothing else; the library takes it of
/// all groups, also where it is wrong, and groups by columns that the statement does not name.
#[derive(Debug, Default)]
pub(crate) struct Derived {
    /// The relation is on its way through the library.
    is_asking: AtomicBool,
}

impl RelationPlanner for Derived {
    fn plan_relation(
        &self,
        mut relation: TableFactor,
        context: &mut dyn RelationPlannerContext,
    ) -> Result<RelationPlanning> {
        if self.is_asking.swap(false, Ordering::Relaxed) {
            return Ok(RelationPlanning::Original(Box::new(relation)));
        }
        self.is_asking.store(true, Ordering::Relaxed);
        let names = listed(&mut relation);
        let plan = without_stand_ins(context.plan(relation)?)?;
        let plan = if names.is_empty() { plan } else { renamed(plan, names)? };
        Ok(RelationPlanning::Planned(Box::new(PlannedRelation::new(closed(plan)?, None))))
    }
}

/// The names that an alias gives to columns, taken out of it. The library wants one for each.
fn listed(relation: &mut TableFactor) -> Vec<String> {
    let (TableFactor::Table { args: None, alias, .. } | TableFactor::Derived { alias, .. }) =
        relation
    else {
        return vec![];
    };
    let columns = alias.iter_mut().flat_map(|alias| std::mem::take(&mut alias.columns));
    columns.map(|column| identifier(&column.name)).collect()
}

/// The relation with the first of its columns named so.
fn renamed(plan: LogicalPlan, names: Vec<String>) -> Result<LogicalPlan> {
    let LogicalPlan::SubqueryAlias(named) = plan else { return Ok(plan) };
    let count = named.input.schema().fields().len();
    if names.len() > count {
        let name = named.alias.table();
        let message = format!(
            "table \"{name}\" has {count} columns available but {} columns specified",
            names.len()
        );
        let error = SqlError::new(SqlState::INVALID_COLUMN_REFERENCE, message);
        return Err(DataFusionError::External(Box::new(error)));
    }
    let mut names = names.into_iter();
    let columns = named.input.schema().iter().map(|(qualifier, field)| {
        let name = names.next().unwrap_or_else(|| field.name().clone());
        Expr::Column((qualifier, field).into()).alias(name)
    });
    let columns: Vec<Expr> = columns.collect();
    let input = LogicalPlanBuilder::from(Arc::unwrap_or_clone(named.input));
    input.project(columns)?.alias(named.alias)?.build()
}

/// The relation without columns that stand for none, unless it has no others: `*` shall not find them.
fn without_stand_ins(plan: LogicalPlan) -> Result<LogicalPlan> {
    let is_own = |field: &Field| !is_stand_in(field);
    let count = plan.schema().fields().iter().filter(|field| is_own(field)).count();
    match plan {
        LogicalPlan::SubqueryAlias(named) if (1..named.schema.fields().len()).contains(&count) => {
            let columns = named.input.schema().iter().filter(|(_, field)| is_own(field));
            let columns: Vec<Expr> = columns.map(|named| Expr::Column(named.into())).collect();
            let input = LogicalPlanBuilder::from(Arc::unwrap_or_clone(named.input));
            input.project(columns)?.alias(named.alias)?.build()
        }
        other => Ok(other),
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
