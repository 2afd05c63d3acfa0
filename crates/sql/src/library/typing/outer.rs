//! Queries within expressions name columns of the queries around them: these have their types before.

use std::sync::Arc;

use datafusion_common::tree_node::{Transformed, TransformedResult, TreeNode};
use datafusion_common::{DFSchemaRef, ExprSchema, Result};
use datafusion_expr::utils::merge_schema;
use datafusion_expr::{Expr, LogicalPlan};

use super::{typed_node, unions};
use crate::parameters::Inference;

/// The plan with PostgreSQL's types: inputs first, then the queries in expressions, then the node itself.
pub(super) fn typed_plan(
    plan: LogicalPlan,
    outer: &mut Vec<DFSchemaRef>,
    inference: Option<&Inference>,
) -> Result<LogicalPlan> {
    let plan = typed_inputs(plan, outer, inference)?;
    outer.push(Arc::new(merge_schema(&plan.inputs())));
    let typed = |query| typed_plan(query, outer, inference).map(Transformed::yes);
    let plan = plan.map_subqueries(typed).data();
    outer.pop();
    typed_node(plan?, outer, inference)
}

fn typed_inputs(
    plan: LogicalPlan,
    outer: &mut Vec<DFSchemaRef>,
    inference: Option<&Inference>,
) -> Result<LogicalPlan> {
    match plan {
        LogicalPlan::Union(union) => {
            let typed = |child| typed_plan(child, outer, inference).map(Transformed::yes);
            LogicalPlan::Union(unions::flat(union)).map_children(typed).data()
        }
        LogicalPlan::Join(mut join) if is_lateral(&join.right) => {
            let left = typed_plan(Arc::unwrap_or_clone(join.left), outer, inference)?;
            outer.push(Arc::clone(left.schema()));
            let right = typed_plan(Arc::unwrap_or_clone(join.right), outer, inference);
            outer.pop();
            (join.left, join.right) = (Arc::new(left), Arc::new(right?));
            Ok(LogicalPlan::Join(join))
        }
        other => {
            let typed = |child| typed_plan(child, outer, inference).map(Transformed::yes);
            other.map_children(typed).data()
        }
    }
}

fn is_lateral(plan: &LogicalPlan) -> bool {
    match plan {
        LogicalPlan::SubqueryAlias(alias) => is_lateral(&alias.input),
        LogicalPlan::Subquery(_) => true,
        _ => false,
    }
}

/// The expression with outer columns of the types that they have by now.
pub(super) fn with_types_of(expr: Expr, outer: &[DFSchemaRef]) -> Result<Expr> {
    if outer.is_empty() {
        return Ok(expr);
    }
    expr.transform_up(|e| match e {
        Expr::OuterReferenceColumn(before, column) => {
            let found = outer.iter().rev().find_map(|s| s.field_from_column(&column).ok());
            let field = found.map_or(before, Arc::clone);
            Ok(Transformed::yes(Expr::OuterReferenceColumn(field, column)))
        }
        other => Ok(Transformed::no(other)),
    })
    .data()
}
