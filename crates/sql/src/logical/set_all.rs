//! `INTERSECT ALL` and `EXCEPT ALL`: the copies of a row are numbered on both sides, so that each copy
//! on the right meets one on the left. The library's joins would let one meet all.

use std::sync::Arc;

use datafusion_common::alias::AliasGenerator;
use datafusion_common::tree_node::{Transformed, TransformedResult};
use datafusion_common::{Column, JoinType, NullEquality, Result};
use datafusion_expr::expr::WindowFunction;
use datafusion_expr::logical_plan::{Distinct, Join};
use datafusion_expr::{
    Expr, LogicalPlan, LogicalPlanBuilder, WindowFrame, WindowFunctionDefinition,
};
use datafusion_functions_window::row_number::row_number_udwf;

use crate::walk::nodes::erased;

/// Rewrites all of them in a plan that has just been bound.
pub(crate) fn number_copies(plan: LogicalPlan, aliases: &AliasGenerator) -> Result<LogicalPlan> {
    plan.transform_up_with_subqueries(erased(&mut |plan| match plan {
        LogicalPlan::Join(join) if keeps_copies(&join) => {
            numbered(join, aliases).map(Transformed::yes)
        }
        other => Ok(Transformed::no(other)),
    }))
    .data()
}

/// Whether the library made this join of a set operation with `ALL`. Where the left side is distinct it
/// makes no difference.
fn keeps_copies(join: &Join) -> bool {
    matches!(join.join_type, JoinType::LeftSemi | JoinType::LeftAnti)
        && join.null_equality == NullEquality::NullEqualsNull
        && join.filter.is_none()
        && !matches!(join.left.as_ref(), LogicalPlan::Distinct(Distinct::All(_)))
}

fn numbered(join: Join, aliases: &AliasGenerator) -> Result<LogicalPlan> {
    let outputs = join.left.schema().columns();
    let (mut left, mut right): (Vec<Expr>, Vec<Expr>) = join.on.iter().cloned().unzip();
    let names = [aliases.next("__copy"), aliases.next("__copy")];
    let left_rows = with_number(Arc::unwrap_or_clone(join.left), left.clone(), &names[0])?;
    let right_rows = with_number(Arc::unwrap_or_clone(join.right), right.clone(), &names[1])?;
    left.push(Expr::Column(Column::from_name(&names[0])));
    right.push(Expr::Column(Column::from_name(&names[1])));
    let joined = Join::try_new(
        Arc::new(left_rows),
        Arc::new(right_rows),
        left.into_iter().zip(right).collect(),
        None,
        join.join_type,
        join.join_constraint,
        join.null_equality,
        join.null_aware,
    )?;
    LogicalPlanBuilder::from(LogicalPlan::Join(joined))
        .project(outputs.into_iter().map(Expr::Column))?
        .build()
}

/// The rows with the number of each among its equals.
fn with_number(rows: LogicalPlan, columns: Vec<Expr>, name: &str) -> Result<LogicalPlan> {
    let mut window =
        WindowFunction::new(WindowFunctionDefinition::WindowUDF(row_number_udwf()), vec![]);
    window.params.partition_by = columns;
    window.params.window_frame = WindowFrame::new(None);
    let number = Expr::WindowFunction(Box::new(window)).alias(name);
    LogicalPlanBuilder::from(rows).window([number])?.build()
}
