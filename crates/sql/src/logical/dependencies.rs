//! Which columns of groups determine which others.
//!
//! The library takes a key of the input for one that determines everything in the groups, also where a
//! join has multiplied it, and then groups by fewer columns than it was asked to.

use std::sync::Arc;

use datafusion_common::tree_node::{Transformed, TransformedResult, TreeNodeRecursion};
use datafusion_common::{Dependency, FunctionalDependence, FunctionalDependencies, Result};
use datafusion_expr::{Aggregate, Expr, LogicalPlan};

use crate::walk::nodes::Nodes;

/// The plan whose groups know what determines what, where groups are made of groups.
pub(crate) fn corrected(plan: LogicalPlan) -> Result<LogicalPlan> {
    let mut groups = 0;
    plan.apply(|node| {
        groups += usize::from(matches!(node, LogicalPlan::Aggregate(_)));
        Ok(TreeNodeRecursion::Continue)
    })?;
    let is_distinct = matches!(plan, LogicalPlan::Distinct(_));
    if groups + usize::from(is_distinct) < 2 {
        return Ok(plan);
    }
    plan.transform_up(|node| {
        Ok(Transformed::yes(match node.recompute_schema()? {
            LogicalPlan::Aggregate(mut aggregate) if !has_grouping_sets(&aggregate) => {
                let schema = aggregate.schema.as_ref().clone();
                let dependencies = of_groups(&aggregate);
                aggregate.schema = Arc::new(schema.with_functional_dependencies(dependencies)?);
                LogicalPlan::Aggregate(aggregate)
            }
            other => other,
        }))
    })
    .data()
}

fn has_grouping_sets(aggregate: &Aggregate) -> bool {
    aggregate.group_expr.iter().any(|e| matches!(e, Expr::GroupingSet(_)))
}

/// What the groups' columns determine: all keys everything; a key of the input that is among them
/// everything if it is a key still, else what it determined before.
fn of_groups(aggregate: &Aggregate) -> FunctionalDependencies {
    let mut keys: Vec<String> = vec![];
    for key in aggregate.group_expr.iter().map(|e| e.schema_name().to_string()) {
        // The schema has a column for what stands there twice once.
        if !keys.contains(&key) {
            keys.push(key);
        }
    }
    let fields = aggregate.schema.fields();
    let all: Vec<usize> = (0..fields.len()).collect();
    let mut found = vec![];
    if !keys.is_empty() {
        let nullable = fields[..keys.len()].iter().any(|f| f.is_nullable());
        let sources = (0..keys.len()).collect();
        let own = FunctionalDependence::new(sources, all.clone(), nullable);
        found.push(own.with_mode(Dependency::Single));
    }
    let input = aggregate.input.schema();
    let names = input.field_names();
    let key = |column: &usize| keys.iter().position(|key| *key == names[*column]);
    for known in input.functional_dependencies().iter() {
        let sources: Option<Vec<usize>> = known.source_indices.iter().map(key).collect();
        let Some(sources) = sources else { continue };
        let targets = match known.mode {
            Dependency::Single => all.clone(),
            Dependency::Multi => known.target_indices.iter().filter_map(key).collect(),
        };
        let kept = FunctionalDependence::new(sources, targets, known.nullable);
        found.push(kept.with_mode(known.mode));
    }
    FunctionalDependencies::new(found)
}
