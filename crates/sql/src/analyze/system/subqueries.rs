//! Subqueries over system relations that the library cannot decorrelate, as joins.
//!
//! Clients ask for one value of another system relation in a scalar subquery, by its key but in forms
//! in which that is hard to see (`c.oid = a.attcollation AND a.attcollation <> t.typcollation`).
//! Such a subquery becomes the right side of a left join. The library would want an aggregate in it,
//! which it can pull up over equalities only. Where more than one row matched, PostgreSQL reports
//! an error and we repeat the row: no key of a system relation does.

use std::sync::Arc;

use datafusion_common::config::ConfigOptions;
use datafusion_common::tree_node::{Transformed, TransformedResult, TreeNodeRecursion};
use datafusion_common::{Column, JoinType, Result};
use datafusion_expr::expr_rewriter::NamePreserver;
use datafusion_expr::{Expr, LogicalPlan, LogicalPlanBuilder, Projection, Subquery, lit, when};
use datafusion_functions_aggregate::count::count_all;
use datafusion_optimizer::AnalyzerRule;

use crate::analyze::system::reads_system_only;
use crate::walk::nodes::{Nodes, erased};

/// Joins in place of correlated scalar subqueries; counts in place of `EXISTS` as a value.
#[derive(Debug)]
pub(crate) struct SystemSubqueries;

impl AnalyzerRule for SystemSubqueries {
    fn analyze(&self, plan: LogicalPlan, _config: &ConfigOptions) -> Result<LogicalPlan> {
        let mut made = 0;
        plan.transform_up_with_subqueries(erased(&mut |node| match &node {
            LogicalPlan::Projection(_) | LogicalPlan::Filter(_) => join_subqueries(node, &mut made),
            _ => Ok(Transformed::no(node)),
        }))
        .data()
    }

    fn name(&self) -> &str {
        "system_subqueries"
    }
}

/// A scalar subquery taken apart.
struct Parts {
    value: Expr,
    predicate: Expr,
    input: LogicalPlan,
}

fn join_subqueries(node: LogicalPlan, made: &mut usize) -> Result<Transformed<LogicalPlan>> {
    let inputs = node.inputs();
    let [input] = inputs.as_slice() else { return Ok(Transformed::no(node)) };
    let mut joined = (*input).clone();
    let preserver = NamePreserver::new(&node);
    let counts_exist = matches!(node, LogicalPlan::Projection(_));
    let mut exprs = vec![];
    let before = *made;
    for expr in node.expressions() {
        let name = preserver.save(&expr);
        let replaced = expr.transform_up(|e| match e {
            Expr::ScalarSubquery(subquery) => match parts(&subquery, input)? {
                Some(parts) => {
                    let value = attach(&mut joined, parts, made)?;
                    Ok(Transformed::yes(value))
                }
                None => Ok(Transformed::no(Expr::ScalarSubquery(subquery))),
            },
            Expr::Exists(exists)
                if counts_exist && reads_system_only(&exists.subquery.subquery) =>
            {
                *made += 1;
                Ok(Transformed::yes(counted(exists.subquery, exists.negated)?))
            }
            other => Ok(Transformed::no(other)),
        })?;
        exprs.push(name.restore(replaced.data));
    }
    if *made == before {
        return Ok(Transformed::no(node));
    }
    let columns: Vec<Expr> = input.schema().columns().into_iter().map(Expr::Column).collect();
    let rebuilt = match &node {
        LogicalPlan::Projection(_) => {
            LogicalPlan::Projection(Projection::try_new(exprs, Arc::new(joined))?)
        }
        _ => {
            let filter = LogicalPlanBuilder::from(joined).filter(exprs.remove(0))?;
            filter.project(columns)?.build()?
        }
    };
    Ok(Transformed::yes(rebuilt))
}

/// Whether a row is there, as a value.
fn counted(subquery: Subquery, negated: bool) -> Result<Expr> {
    let counted = LogicalPlanBuilder::from(Arc::unwrap_or_clone(subquery.subquery))
        .aggregate(Vec::<Expr>::new(), [count_all().alias("count")])?
        .build()?;
    let count = Expr::ScalarSubquery(Subquery { subquery: Arc::new(counted), ..subquery });
    Ok(if negated { count.eq(lit(0_i64)) } else { count.gt(lit(0_i64)) })
}

/// `None` of a subquery that is not correlated, or to a query further out than the one over `outer`, or of another
/// shape, or over users' tables or none at all.
fn parts(subquery: &Subquery, outer: &LogicalPlan) -> Result<Option<Parts>> {
    let is_here = |e: &Expr| match e {
        Expr::OuterReferenceColumn(_, column) => outer.schema().has_column(column),
        _ => true,
    };
    if subquery.outer_ref_columns.is_empty()
        || !subquery.outer_ref_columns.iter().all(is_here)
        || !reads_system_only(&subquery.subquery)
        || !has_relation(&subquery.subquery)?
    {
        return Ok(None);
    }
    let LogicalPlan::Projection(projection) = subquery.subquery.as_ref() else { return Ok(None) };
    let ([value], LogicalPlan::Filter(filter)) =
        (projection.expr.as_slice(), projection.input.as_ref())
    else {
        return Ok(None);
    };
    let input = filter.input.as_ref();
    if matches!(input, LogicalPlan::EmptyRelation(_)) || has_outer_references(input)? {
        return Ok(None);
    }
    let (value, predicate) = (value.clone().unalias(), filter.predicate.clone());
    let nested = has_subquery(&value)? || has_subquery(&predicate)?;
    Ok((!nested).then(|| Parts { value, predicate, input: input.clone() }))
}

fn has_subquery(expr: &Expr) -> Result<bool> {
    expr.exists(|e| {
        Ok(matches!(e, Expr::ScalarSubquery(_) | Expr::Exists(_) | Expr::InSubquery(_)))
    })
}

/// Whether a relation is read: series and arrays have as many rows as they like for each row.
fn has_relation(plan: &LogicalPlan) -> Result<bool> {
    plan.exists(|node| Ok(matches!(node, LogicalPlan::TableScan(_))))
}

fn has_outer_references(plan: &LogicalPlan) -> Result<bool> {
    let mut found = false;
    plan.apply(|node| {
        found |= !node.all_out_ref_exprs().is_empty();
        Ok(TreeNodeRecursion::Continue)
    })?;
    Ok(found)
}

/// Joins the rows of the subquery to `joined` under names of their own; gives the value over both.
fn attach(joined: &mut LogicalPlan, parts: Parts, made: &mut usize) -> Result<Expr> {
    *made += 1;
    let columns = parts.input.schema().columns();
    let fresh = |i: usize| format!("__subquery_{made}_{i}");
    let renamed = columns.iter().enumerate().map(|(i, c)| Expr::Column(c.clone()).alias(fresh(i)));
    // A value need not be null where no row is.
    let mark = format!("__subquery_{made}_mark");
    let renamed = renamed.chain([lit(true).alias(&mark)]);
    let right = LogicalPlanBuilder::from(parts.input).project(renamed)?.build()?;
    let over_both = |expr: Expr| {
        expr.transform_up(|e| {
            Ok(match e {
                Expr::OuterReferenceColumn(_, column) => Transformed::yes(Expr::Column(column)),
                Expr::Column(column) => match columns.iter().position(|c| *c == column) {
                    Some(i) => Transformed::yes(Expr::Column(Column::new_unqualified(fresh(i)))),
                    None => Transformed::no(Expr::Column(column)),
                },
                other => Transformed::no(other),
            })
        })
        .data()
    };
    let (value, predicate) = (over_both(parts.value)?, over_both(parts.predicate)?);
    let left = std::mem::take(joined);
    let schema = Arc::clone(right.schema());
    *joined =
        LogicalPlanBuilder::from(left).join_on(right, JoinType::Left, [predicate])?.build()?;
    match value {
        // Null there, but for what is the outer row's.
        Expr::Column(column) if schema.has_column(&column) => Ok(Expr::Column(column)),
        computed => when(Expr::Column(Column::new_unqualified(mark)), computed).end(),
    }
}
