//! Recursive queries and the tables that they work on.

use std::sync::Arc;

use datafusion_expr::{RecursiveQuery, TableScan};
use plan::{Node, Operator, Recursion};
use types::SqlResult;

use super::rows::cast_to;
use super::{Built, Physical, built, built_as, nullable};
use crate::analyze::tables::WorkTable;
use crate::estimate::{ColumnProfile, Profile};

/// Rounds that a recursion is expected to take.
const ROUNDS_GUESS: f64 = 10.0;

impl Physical<'_> {
    pub(super) fn recursion(&self, query: &RecursiveQuery) -> SqlResult<Built> {
        let types = nullable(query.schema.as_arrow());
        let base = self.build(&query.static_term)?;
        let step = self.build(&query.recursive_term)?;
        let rows = base.profile.rows + step.profile.rows * ROUNDS_GUESS;
        let cost = base.node.cost + step.node.cost * ROUNDS_GUESS;
        let recursion = Recursion {
            name: query.name.clone(),
            base: Box::new(cast_to(base.node, &types)),
            step: Box::new(cast_to(step.node, &types)),
            distinct: query.is_distinct,
        };
        let columns = vec![ColumnProfile::of_domain(rows); types.fields().len()];
        let profile = Profile { rows, columns, keys: vec![] };
        let schema = Arc::clone(&query.schema);
        Ok(built_as(Operator::Recursive(recursion), types, schema, profile, cost))
    }

    /// The rows of the last round.
    pub(super) fn work_table(&self, scan: &TableScan, table: &WorkTable) -> SqlResult<Built> {
        let all = 0..table.schema.fields().len();
        let columns = scan.projection.clone().unwrap_or_else(|| all.collect());
        let rows = 100.0;
        let profiles = vec![ColumnProfile::of_domain(rows); columns.len()];
        let profile = Profile { rows, columns: profiles, keys: vec![] };
        let operator = Operator::WorkTable { name: table.name.clone(), recursion: 0, columns };
        Ok(built(operator, Arc::clone(&scan.projected_schema), profile, 0.0))
    }
}

/// Tells the scans of work tables whose they are: the innermost recursion's of that name around them.
/// Nodes have their numbers by now.
pub(super) fn bind_work_tables(node: &mut Node, around: &mut Vec<(String, usize)>) {
    let id = node.id;
    let depth = around.len();
    match &mut node.operator {
        Operator::Recursive(query) => around.push((query.name.clone(), id)),
        Operator::WorkTable { name, recursion, .. } => {
            let own = around.iter().rev().find(|(of, _)| of == name);
            *recursion = own.map_or(*recursion, |(_, id)| *id);
        }
        _ => {}
    }
    node.children_mut().into_iter().for_each(|child| bind_work_tables(child, around));
    around.truncate(depth);
}
