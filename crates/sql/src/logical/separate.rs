//! Names of their own for the columns that a correlated subquery compares with outer ones.
//!
//! The library carries such columns out of the subquery by their names alone, without the relation:
//! of two columns of one name, in two relations or in a relation and the select list, it takes the first.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use datafusion_common::alias::AliasGenerator;
use datafusion_common::tree_node::{Transformed, TransformedResult, TreeNodeRecursion};
use datafusion_common::{Column, Result};
use datafusion_expr::utils::{conjunction, split_conjunction_owned};
use datafusion_expr::{Expr, Filter, LogicalPlan, LogicalPlanBuilder, Subquery};

use crate::walk::nodes::{Nodes, erased};

/// Renames them in all correlated subqueries of a plan.
pub(crate) fn separate(plan: LogicalPlan, names: &AliasGenerator) -> Result<LogicalPlan> {
    plan.transform_up_with_subqueries(erased(&mut |node| match node {
        LogicalPlan::Subquery(subquery) => separated(subquery, names),
        other => Ok(Transformed::no(other)),
    }))
    .data()
}

fn separated(subquery: Subquery, names: &AliasGenerator) -> Result<Transformed<LogicalPlan>> {
    let shared = match subquery.subquery.all_out_ref_exprs().is_empty() {
        true => BTreeSet::new(),
        false => shared_names(&subquery.subquery),
    };
    if shared.is_empty() {
        return Ok(Transformed::no(LogicalPlan::Subquery(subquery)));
    }
    let plan = Arc::unwrap_or_clone(subquery.subquery);
    let plan = plan.transform_down(|node| match node {
        LogicalPlan::Filter(filter) => renamed(filter, &shared, names),
        // It has had its turn.
        nested @ LogicalPlan::Subquery(_) => {
            Ok(Transformed::new(nested, false, TreeNodeRecursion::Jump))
        }
        other => Ok(Transformed::no(other)),
    })?;
    let subquery = Subquery { subquery: Arc::new(plan.data), ..subquery };
    Ok(Transformed::new_transformed(LogicalPlan::Subquery(subquery), plan.transformed))
}

/// The names that different columns of a subquery have; a derived table without outer columns counts as
/// a relation.
fn shared_names(plan: &LogicalPlan) -> BTreeSet<String> {
    let mut found = BTreeMap::<String, BTreeSet<String>>::new();
    // The visit itself never fails.
    let _ = plan.apply(|node| {
        for (qualifier, field) in node.schema().iter() {
            let qualifier = qualifier.map(ToString::to_string).unwrap_or_default();
            found.entry(field.name().clone()).or_default().insert(qualifier);
        }
        let is_closed =
            matches!(node, LogicalPlan::SubqueryAlias(_)) && node.all_out_ref_exprs().is_empty();
        Ok(if is_closed { TreeNodeRecursion::Jump } else { TreeNodeRecursion::Continue })
    });
    let shared = found.into_iter().filter(|(_, qualifiers)| qualifiers.len() > 1);
    shared.map(|(name, _)| name).collect()
}

/// A filter whose correlated conditions name copies of the columns in question.
fn renamed(
    filter: Filter,
    shared: &BTreeSet<String>,
    names: &AliasGenerator,
) -> Result<Transformed<LogicalPlan>> {
    let conditions = split_conjunction_owned(filter.predicate.clone());
    let (outer, local): (Vec<_>, Vec<_>) = conditions.into_iter().partition(Expr::contains_outer);
    let mut copies = BTreeMap::<Column, Column>::new();
    for column in outer.iter().flat_map(Expr::column_refs).filter(|c| shared.contains(&c.name)) {
        let copy = || Column::from_name(names.next("__own"));
        copies.entry(column.clone()).or_insert_with(copy);
    }
    let Some(outer) = conjunction(outer).filter(|_| !copies.is_empty()) else {
        return Ok(Transformed::no(LogicalPlan::Filter(filter)));
    };
    let mut input = LogicalPlanBuilder::from(filter.input.as_ref().clone());
    if let Some(local) = conjunction(local) {
        input = input.filter(local)?;
    }
    let columns = || filter.input.schema().columns().into_iter().map(Expr::Column);
    let own = copies.iter().map(|(from, to)| Expr::Column(from.clone()).alias(&to.name));
    let condition = outer.transform(|e| match e {
        Expr::Column(column) => Ok(match copies.get(&column) {
            Some(copy) => Transformed::yes(Expr::Column(copy.clone())),
            None => Transformed::no(Expr::Column(column)),
        }),
        other => Ok(Transformed::no(other)),
    })?;
    let copied = input.project(columns().chain(own))?.filter(condition.data)?;
    // What stands below has no condition of this kind left in this node.
    Ok(Transformed::yes(copied.project(columns())?.build()?))
}
