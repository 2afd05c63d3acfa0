//! `DISTINCT ON` written out, for the queries whose subqueries become joins here: the rows of each key
//! are numbered in their order, and the first one passes. The library's node can neither be given other
//! expressions nor other keys.

use std::sync::Arc;

use datafusion_common::alias::AliasGenerator;
use datafusion_common::tree_node::{Transformed, TransformedResult};
use datafusion_common::{Column, Result};
use datafusion_expr::expr::WindowFunction;
use datafusion_expr::logical_plan::Distinct;
use datafusion_expr::{
    DistinctOn, Expr, LogicalPlan, LogicalPlanBuilder, SortExpr, WindowFrame,
    WindowFunctionDefinition, lit,
};
use datafusion_functions_window::row_number::row_number_udwf;

use crate::walk::nodes::erased;

/// Rewrites each of them in a plan and its subqueries.
pub(crate) fn written_out(plan: LogicalPlan, names: &AliasGenerator) -> Result<LogicalPlan> {
    plan.transform_up_with_subqueries(erased(&mut |plan| match plan {
        LogicalPlan::Distinct(Distinct::On(on)) => {
            Ok(Transformed::yes(first_of_each_key(on, names)?))
        }
        other => Ok(Transformed::no(other)),
    }))
    .data()
}

fn first_of_each_key(on: DistinctOn, names: &AliasGenerator) -> Result<LogicalPlan> {
    let mut computed = Computed { names, exprs: vec![] };
    let keys: Vec<Expr> = on.on_expr.into_iter().map(|e| computed.column(e)).collect();
    let outputs: Vec<Expr> = on.select_expr.into_iter().map(|e| computed.column(e)).collect();
    let order: Vec<SortExpr> = on
        .sort_expr
        .into_iter()
        .flatten()
        .map(|sort| SortExpr { expr: computed.column(sort.expr), ..sort })
        .collect();
    let rows = LogicalPlanBuilder::from(Arc::unwrap_or_clone(on.input));
    let rows = rows.project(computed.exprs.into_iter().map(|(e, name)| e.alias(name)))?;
    let number = names.next("__number");
    let mut window =
        WindowFunction::new(WindowFunctionDefinition::WindowUDF(row_number_udwf()), vec![]);
    window.params.partition_by = keys;
    window.params.window_frame = WindowFrame::new((!order.is_empty()).then_some(true));
    window.params.order_by = order.clone();
    let window = Expr::WindowFunction(Box::new(window)).alias(&number);
    let is_first = Expr::Column(Column::from_name(number)).eq(lit(1u64));
    let first = rows.window([window])?.filter(is_first)?;
    let first = if order.is_empty() { first } else { first.sort(order)? };
    let outputs = outputs.into_iter().zip(on.schema.iter());
    let outputs = outputs.map(|(output, (qualifier, field))| {
        output.alias_qualified(qualifier.cloned(), field.name())
    });
    first.project(outputs)?.build()
}

/// Expressions that are computed below, each once.
struct Computed<'a> {
    names: &'a AliasGenerator,
    exprs: Vec<(Expr, String)>,
}

impl Computed<'_> {
    fn column(&mut self, expr: Expr) -> Expr {
        let expr = expr.unalias();
        let known = self.exprs.iter().find(|(e, _)| *e == expr && !expr.is_volatile());
        let name = known.map_or_else(|| self.names.next("__first"), |(_, name)| name.clone());
        if known.is_none() {
            self.exprs.push((expr, name.clone()));
        }
        Expr::Column(Column::from_name(name))
    }
}
