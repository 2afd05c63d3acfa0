//! Queries of `WITH` that are computed once, and the scans of their rows.

use std::cell::RefCell;
use std::sync::Arc;

use arrow_schema::SchemaRef;
use datafusion_expr::{LogicalPlan, TableScan, TableSource};
use plan::{CteScan, Node, Operator};
use types::SqlResult;

use super::rows::cast_to;
use super::{BoundScan, Built, Physical, built, nullable};
use crate::estimate::Profile;
use crate::options::PlannerOptions;

/// The plan of a shared query, and the query as those see it that name it. Scans whose ranges follow
/// from parameters are put behind those in `scans`.
pub(crate) fn shared_query(
    query: &LogicalPlan,
    number: usize,
    name: &str,
    options: &PlannerOptions,
    scans: &mut Vec<BoundScan>,
) -> SqlResult<(SharedQuery, Node)> {
    let known = RefCell::new(std::mem::take(scans));
    let physical = Physical { bound: known, ..Physical::new(options) };
    let built = physical.build(query)?;
    *scans = physical.bound.take();
    let schema = nullable(query.schema().as_arrow());
    let node = cast_to(built.node, &schema);
    let is_ordered = node.is_ordered() || node.is_list();
    let profile = match is_ordered {
        true => built.profile,
        false => built.profile.without_order(),
    };
    let name = name.to_owned();
    Ok((SharedQuery { number, name, schema, profile, is_ordered }, node))
}

/// Puts each query at the first of its scans in pre-order, and drops those that have none left. What they
/// cost is part of what the nodes above cost, and is returned.
pub(crate) fn attach(node: &mut Node, queries: &mut [Option<Node>]) -> f64 {
    let mut cost = 0.0;
    if let Operator::CteScan(scan) = &mut node.operator {
        scan.query = queries[scan.number].take().map(Box::new);
        cost += scan.query.as_ref().map_or(0.0, |query| query.cost);
    }
    for child in node.children_mut() {
        cost += attach(child, queries);
    }
    node.cost += cost;
    cost
}

impl Physical<'_> {
    /// The rows of a query that is computed once.
    pub(super) fn cte_scan(&self, scan: &TableScan, query: &SharedQuery) -> SqlResult<Built> {
        let all = 0..query.schema.fields().len();
        let columns = scan.projection.clone().unwrap_or_else(|| all.collect());
        let profile = query.profile.project(&columns);
        let cost = self.costs.output(profile.rows);
        let profile = Profile { rows: profile.rows.max(1.0), ..profile };
        let operator = Operator::CteScan(CteScan {
            number: query.number,
            name: query.name.clone(),
            query: None,
            is_ordered: query.is_ordered,
            columns,
        });
        Ok(built(operator, Arc::clone(&scan.projected_schema), profile, cost))
    }
}

/// A query that is computed once, as the queries that name it see it.
pub(crate) struct SharedQuery {
    /// Its number among those of the statement.
    pub number: usize,
    /// Its name in the statement.
    pub name: String,
    /// Its columns.
    pub schema: SchemaRef,
    /// What is believed about its rows.
    pub profile: Profile,
    /// Its rows come in an order to be kept.
    pub is_ordered: bool,
}

impl TableSource for SharedQuery {
    fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }
}
