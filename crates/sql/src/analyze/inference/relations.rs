//! The types of parameters from the clauses that they stand in.

use std::sync::Arc;

use datafusion_common::tree_node::TreeNodeRecursion;
use datafusion_common::{DFSchema, NullEquality, Result, TableReference};
use datafusion_expr::Expr;
use datafusion_expr::logical_plan::{Distinct, LogicalPlan};
use types::oid;

use crate::analyze::inference::Inference;
use crate::analyze::told::told_oid;
use crate::signatures::common_type;
use crate::walk::nodes::Nodes;

impl Inference {
    /// Finds what a node over typed inputs says of parameters that are whole conditions or outputs.
    pub(crate) fn visit(&self, node: &LogicalPlan) -> Result<()> {
        match node {
            LogicalPlan::Filter(filter) => self.settle_open(&filter.predicate, oid::BOOL),
            LogicalPlan::Join(join) => {
                if let Some(condition) = &join.filter {
                    self.settle_open(condition, oid::BOOL);
                }
                // `INTERSECT` and `EXCEPT` are joins for which nulls are equal.
                if join.null_equality == NullEquality::NullEqualsNull {
                    self.unite(&[join.left.as_ref(), join.right.as_ref()]);
                }
            }
            LogicalPlan::Limit(limit) => {
                for count in [&limit.skip, &limit.fetch].into_iter().flatten() {
                    count.apply(|inner| {
                        self.settle_open(inner, oid::INT8);
                        Ok(TreeNodeRecursion::Continue)
                    })?;
                }
            }
            LogicalPlan::Union(_) => {
                let mut branches = vec![];
                gather(node, &mut branches);
                self.unite(&branches);
            }
            LogicalPlan::Values(values) => {
                for column in 0..values.schema.fields().len() {
                    let exprs = values.values.iter().filter_map(|row| row.get(column));
                    self.unify(exprs, &values.schema)?;
                }
            }
            LogicalPlan::SubqueryAlias(alias) if !is_side(&alias.alias) => {
                settle_outputs(self, &alias.input, &[]);
            }
            _ => {}
        }
        Ok(())
    }

    fn settle_open(&self, expr: &Expr, ty: u32) {
        if let Some(index) = self.open(expr) {
            self.settle(index, ty);
        }
    }

    fn unify<'a>(
        &self,
        exprs: impl Iterator<Item = &'a Expr> + Clone,
        schema: &DFSchema,
    ) -> Result<()> {
        if exprs.clone().all(|expr| self.open(expr).is_none()) {
            return Ok(());
        }
        let given = exprs.clone().map(|e| self.oid_of(e, schema)).collect::<Result<Vec<_>>>()?;
        if let Some(common) = common_type(&given) {
            exprs.for_each(|expr| self.settle_open(expr, common));
        }
        Ok(())
    }

    /// The outputs of the branches of `UNION` and the like have common types.
    fn unite(&self, branches: &[&LogicalPlan]) {
        let width = branches.first().map_or(0, |plan| plan.schema().fields().len());
        for column in 0..width {
            let open = |plan: &&LogicalPlan| open_output(self, plan, column);
            let given = branches.iter().map(|plan| match open(plan) {
                Some(_) => oid::UNKNOWN,
                None => told_oid(plan.schema().field(column)),
            });
            if let Some(common) = common_type(&given.collect::<Vec<_>>()) {
                branches.iter().filter_map(open).for_each(|index| self.settle(index, common));
            }
        }
    }
}

/// Whether a query is one side of an `INTERSECT` or an `EXCEPT`, to which the library has given a name:
/// the other side has a say in the types of its outputs. Nobody can name a relation so without quotes.
fn is_side(alias: &TableReference) -> bool {
    matches!(alias, TableReference::Bare { table } if matches!(&**table, "left" | "right"))
}

fn gather<'a>(plan: &'a LogicalPlan, branches: &mut Vec<&'a LogicalPlan>) {
    match plan {
        LogicalPlan::Union(union) => {
            union.inputs.iter().for_each(|input: &Arc<LogicalPlan>| gather(input, branches));
        }
        other => branches.push(other),
    }
}

/// The number of the open parameter that an output is.
fn open_output(inference: &Inference, plan: &LogicalPlan, column: usize) -> Option<usize> {
    match plan {
        LogicalPlan::Projection(projection) => inference.open(projection.expr.get(column)?),
        LogicalPlan::Sort(sort) => open_output(inference, &sort.input, column),
        LogicalPlan::SubqueryAlias(alias) if is_side(&alias.alias) => {
            open_output(inference, &alias.input, column)
        }
        LogicalPlan::Limit(limit) => open_output(inference, &limit.input, column),
        LogicalPlan::Distinct(Distinct::All(input)) => open_output(inference, input, column),
        LogicalPlan::Distinct(Distinct::On(on)) => inference.open(on.select_expr.get(column)?),
        _ => None,
    }
}

/// Outputs that are open parameters have the types `targets`; those beyond are text.
pub(crate) fn settle_outputs(inference: &Inference, plan: &LogicalPlan, targets: &[u32]) {
    let target = |column: usize| targets.get(column).copied().unwrap_or(oid::TEXT);
    let columns = 0..plan.schema().fields().len();
    let open = columns.filter_map(|at| Some((open_output(inference, plan, at)?, target(at))));
    inference.settle_together(open.collect());
}
