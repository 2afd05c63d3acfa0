//! Correlated subqueries of any shape as joins (Neumann and Kemper, "Unnesting Arbitrary Queries").
//!
//! The library decorrelates the frequent shapes, and well; this is for the rest. The *domain* of a
//! subquery is the set of different values that its outer columns have. The subquery is computed
//! for the whole domain at once, each row with the domain's values it belongs to, and joined back.

use std::sync::Arc;

use datafusion_common::alias::AliasGenerator;
use datafusion_common::tree_node::{Transformed, TransformedResult, TreeNodeRecursion};
use datafusion_common::{
    Column, DFSchemaRef, DataFusionError, ExprSchema, JoinType, NullEquality, Result, ScalarValue,
};
use datafusion_expr::expr::{AggregateFunction, Exists, InSubquery};
use datafusion_expr::expr_rewriter::NamePreserver;
use datafusion_expr::{
    Expr, LogicalPlan, LogicalPlanBuilder, Operator, Subquery, binary_expr, lit, not, when,
};
use datafusion_functions_aggregate::count::{count, count_all};
use datafusion_functions_aggregate::min_max::max_udaf;
use types::SqlError;

use super::distinct_on;
use crate::analyze::single_row::{Counted, at_most_one, is_key};
use crate::walk::nodes::{Nodes, erased_ref};
use asking::Asking;
use dependent::Dependent;
use subqueries::{has_subquery, is_subquery, named_columns};

mod asking;
mod dependent;
mod offset;
mod subqueries;
mod ties;

/// Replaces every subquery in `plan` that the library has no join for, and every lateral join.
pub(crate) fn decorrelate(plan: LogicalPlan, names: &AliasGenerator) -> Result<LogicalPlan> {
    Unnest { names }.plan(distinct_on::written_out(plan, names)?)
}

/// Whether a plan has what the library would turn into wrong rows: a comparison with ANY or ALL
/// confuses equal names inside and outside, a scalar subquery of many rows joins all of them, `IN` is
/// never unknown, `EXISTS` finds rows before an `OFFSET`, a subquery sees the query around it only, and an aggregate without groups that `HAVING`
/// drops, or whose rows are none, is lost or comes back as a row of nulls.
pub(crate) fn is_needed(plan: &LogicalPlan) -> bool {
    let correlated = |s: &Subquery| !s.outer_ref_columns.is_empty();
    let needed = |e: &Expr| match e {
        Expr::SetComparison(_) => true,
        Expr::ScalarSubquery(s) => {
            let plan = &s.subquery;
            correlated(s) && (!at_most_one(plan) || has_having(plan) || has_semi_join(plan))
        }
        Expr::Exists(Exists { subquery: s, .. })
        | Expr::InSubquery(InSubquery { subquery: s, .. }) => {
            let plan = &s.subquery;
            let is_other = has_having(plan) || has_semi_join(plan);
            correlated(s)
                && (is_other || ties::gathers_what_is_tied(plan) || offset::skips_rows(plan))
        }
        _ => false,
    };
    let mut found = false;
    let walked = plan.apply_with_subqueries(erased_ref(&mut |node: &LogicalPlan| {
        if let LogicalPlan::Join(join) = node
            && is_lateral(&join.right)
        {
            let right = &join.right;
            found |= names_others(&right.all_out_ref_exprs(), node);
            found |= has_having(right) || has_other_aggregate(right) || has_semi_join(right);
            found |= ties::gathers_what_is_tied(right);
        }
        let kept = matches!(node, LogicalPlan::Filter(_));
        for expr in node.expressions() {
            found |= match kept {
                true => !unknown_is_false(&expr, true),
                false => has_membership(&expr),
            };
            found |= expr.exists(|e| Ok(needed(e) || looks_further(e, node))).unwrap_or(true);
        }
        Ok(TreeNodeRecursion::Continue)
    }));
    found || walked.is_err()
}

/// Whether a subquery names columns of a query beyond the one that it stands in: the library would take
/// them for columns of that one.
fn looks_further(expr: &Expr, node: &LogicalPlan) -> bool {
    let (Expr::ScalarSubquery(subquery)
    | Expr::Exists(Exists { subquery, .. })
    | Expr::InSubquery(InSubquery { subquery, .. })) = expr
    else {
        return false;
    };
    names_others(&subquery.subquery.all_out_ref_exprs(), node)
}

/// Whether some of these name columns that the inputs of a node have not.
fn names_others(outer: &[Expr], node: &LogicalPlan) -> bool {
    let is_here = |column: &Column| node.inputs().iter().any(|i| i.schema().has_column(column));
    outer.iter().any(|e| match e {
        Expr::OuterReferenceColumn(_, column) => !is_here(column),
        _ => false,
    })
}

/// Whether a condition stands above an aggregation without groups.
fn has_having(plan: &LogicalPlan) -> bool {
    let mut found = false;
    let walked = plan.apply(|node| {
        let is_single =
            |p: &LogicalPlan| Ok(matches!(p, LogicalPlan::Aggregate(a) if a.group_expr.is_empty()));
        found |= matches!(node, LogicalPlan::Filter(_)) && node.exists(is_single)?;
        Ok(TreeNodeRecursion::Continue)
    });
    found || walked.is_err()
}

/// Whether a correlated relation holds an aggregate without groups of what is not correlated, or the value
/// of a subquery, which becomes one. The library would take it for the relation's own, and add a row of
/// nulls where the relation has none.
fn has_other_aggregate(plan: &LogicalPlan) -> bool {
    let mut found = false;
    let walked = plan.apply(|node| {
        found |= match node {
            LogicalPlan::Aggregate(aggregate) => {
                aggregate.group_expr.is_empty() && node.all_out_ref_exprs().is_empty()
            }
            node => {
                let is_value = |e: &Expr| Ok(matches!(e, Expr::ScalarSubquery(_)));
                node.expressions().iter().any(|e| e.exists(is_value).unwrap_or(true))
            }
        };
        Ok(TreeNodeRecursion::Continue)
    });
    found || walked.is_err()
}

/// Whether a subquery or a lateral relation holds the semi join of an `INTERSECT` or `EXCEPT`, or another, of
/// what is correlated, or an outer join whose condition is, or the side that it fills with nulls. The library
/// would take the conditions of that side out of the join.
fn has_semi_join(plan: &LogicalPlan) -> bool {
    let mut found = false;
    let names_outer = |side: &LogicalPlan| !side.all_out_ref_exprs().is_empty();
    let walked = plan.apply(|node| {
        if let LogicalPlan::Join(join) = node {
            let mut conditions = join.filter.iter().chain(join.on.iter().flat_map(|(l, r)| [l, r]));
            let is_outer = |e: &Expr| Ok(matches!(e, Expr::OuterReferenceColumn(..)));
            let has_outer = conditions.any(|e| e.exists(is_outer).unwrap_or(true));
            found |= match join.join_type {
                JoinType::Inner => false,
                JoinType::Left => has_outer || names_outer(&join.right),
                JoinType::Right => has_outer || names_outer(&join.left),
                _ => names_outer(node),
            };
        }
        Ok(TreeNodeRecursion::Continue)
    });
    found || walked.is_err()
}

fn has_membership(expr: &Expr) -> bool {
    expr.exists(|e| Ok(matches!(e, Expr::InSubquery(_)))).unwrap_or(true)
}

/// Whether a condition drops the same rows if each `IN (subquery)` is false where it is unknown.
/// `NOT IN` the library knows as one of the conditions that are joined by AND.
fn unknown_is_false(condition: &Expr, is_conjunct: bool) -> bool {
    match condition {
        Expr::BinaryExpr(pair) if pair.op == Operator::And => {
            unknown_is_false(&pair.left, is_conjunct) && unknown_is_false(&pair.right, is_conjunct)
        }
        Expr::BinaryExpr(pair) if pair.op == Operator::Or => {
            unknown_is_false(&pair.left, false) && unknown_is_false(&pair.right, false)
        }
        Expr::InSubquery(member) => {
            // Without a column on the left, what the join compares is a condition on the right alone; what is
            // computed of one may be simplified to a constant.
            let is_simple = is_conjunct
                && member.subquery.outer_ref_columns.is_empty()
                && is_column(&member.expr);
            (!member.negated || is_simple) && !has_membership(&member.expr)
        }
        other => !has_membership(other),
    }
}

fn is_column(expr: &Expr) -> bool {
    match expr {
        Expr::Cast(cast) => is_column(&cast.expr),
        other => matches!(other, Expr::Column(_)),
    }
}

/// The columns of the domain in a plan, and the outer columns that they stand for.
#[derive(Clone)]
struct Domain {
    plan: LogicalPlan,
    outer: Vec<Column>,
    inner: Vec<Column>,
}

struct Unnest<'a> {
    names: &'a AliasGenerator,
}

impl Unnest<'_> {
    fn plan(&self, plan: LogicalPlan) -> Result<LogicalPlan> {
        plan.transform_up(|node| match node {
            LogicalPlan::Join(mut join) if is_lateral(&join.right) => {
                // The subqueries of its condition see its rows.
                let asks =
                    |filter: &mut Expr| filter.exists(|e| Ok(is_subquery(e))).unwrap_or(true);
                let late = match join.join_type {
                    JoinType::Inner => join.filter.take_if(asks),
                    _ => None,
                };
                let joined = self.lateral(join)?;
                let Some(condition) = late else { return Ok(Transformed::yes(joined)) };
                let filter = LogicalPlanBuilder::from(joined).filter(condition)?.build()?;
                Ok(Transformed::yes(self.node(filter)?))
            }
            node if has_subquery(&node) => Ok(Transformed::yes(self.node(node)?)),
            node => Ok(Transformed::no(node)),
        })
        .data()
    }

    /// Joins the subqueries of a node to its input.
    fn node(&self, node: LogicalPlan) -> Result<LogicalPlan> {
        if let LogicalPlan::Join(join) = &node
            && join.join_type == JoinType::Inner
        {
            let filter = join.filter.clone().unwrap_or_else(|| lit(true));
            let equal = join.on.iter().map(|(l, r)| l.clone().eq(r.clone()));
            let predicate = equal.fold(filter, Expr::and);
            let pairs = LogicalPlanBuilder::from(join.left.as_ref().clone())
                .cross_join(join.right.as_ref().clone())?;
            return self.node(pairs.filter(predicate)?.build()?);
        }
        if let LogicalPlan::Join(join) = node {
            return self.outer_join(join);
        }
        let [input] = node.inputs()[..] else {
            return Err(unsupported("a subquery in this join condition"));
        };
        let mut input = Asking::new(input.clone());
        let schema = Arc::clone(node.schema());
        let names = NamePreserver::new(&node);
        let is_condition = matches!(node, LogicalPlan::Filter(_));
        let mut exprs = Vec::new();
        for expr in node.expressions() {
            let name = names.save(&expr);
            let replaced = match is_condition {
                true => self.condition(expr, &mut input)?,
                false => expr.transform_up(|e| self.expression(e, &mut input))?,
            };
            exprs.push(name.restore(replaced.data));
        }
        let keeps_columns =
            matches!(node, LogicalPlan::Filter(_) | LogicalPlan::Sort(_) | LogicalPlan::Limit(_));
        let rebuilt = node.with_new_exprs(exprs, vec![input.joined])?;
        if !keeps_columns {
            return rebuilt.recompute_schema();
        }
        let columns = schema.columns().into_iter().map(Expr::Column);
        LogicalPlanBuilder::from(rebuilt).project(columns)?.build()
    }

    /// Conditions that are joined by AND without their subqueries. An equality that a join may have as its
    /// key remains one.
    fn condition(&self, expr: Expr, input: &mut Asking) -> Result<Transformed<Expr>> {
        match expr {
            Expr::BinaryExpr(pair) if pair.op == Operator::And => {
                Expr::BinaryExpr(pair).map_children(|part| self.condition(part, input))
            }
            key if is_key(&key) => key.map_children(|side| match side {
                Expr::ScalarSubquery(subquery) => {
                    self.scalar(subquery, input, Counted::AtOnce).map(Transformed::yes)
                }
                column => Ok(Transformed::no(column)),
            }),
            other => other.transform_up(|e| self.expression(e, input)),
        }
    }

    /// Joins the subqueries in the condition of an outer join to that of its inputs which has the columns
    /// that they name.
    fn outer_join(&self, join: datafusion_expr::Join) -> Result<LogicalPlan> {
        let columns: Vec<Expr> = join.schema.columns().into_iter().map(Expr::Column).collect();
        let mut left = Asking::new(Arc::unwrap_or_clone(join.left));
        let mut right = Asking::new(Arc::unwrap_or_clone(join.right));
        let filter = self.of_either_side(join.filter, &mut left, &mut right)?;
        let (left_keys, right_keys): (Vec<Expr>, Vec<Expr>) = join.on.into_iter().unzip();
        let joined = LogicalPlanBuilder::from(left.joined).join_with_expr_keys(
            right.joined,
            join.join_type,
            (left_keys, right_keys),
            filter,
        )?;
        joined.project(columns)?.build()
    }

    /// The condition of a join whose subqueries are joined to that of its sides which has the columns that
    /// they name.
    fn of_either_side(
        &self,
        condition: Option<Expr>,
        left: &mut Asking,
        right: &mut Asking,
    ) -> Result<Option<Expr>> {
        let schemas = [&*left, &*right].map(|side| Arc::clone(side.rows.schema()));
        let condition = condition.map(|condition| {
            condition.transform_down(|e| {
                if !is_subquery(&e) {
                    return Ok(Transformed::no(e));
                }
                let named = named_columns(&e);
                let is_of = |schema: &DFSchemaRef| named.iter().all(|c| schema.has_column(c));
                let input = match (is_of(&schemas[0]), is_of(&schemas[1])) {
                    (_, true) => &mut *right,
                    (true, false) => &mut *left,
                    (false, false) => {
                        return Err(unsupported(
                            "a subquery over both sides of an outer join in its condition",
                        ));
                    }
                };
                let found = self.expression(e, input)?.data;
                Ok(Transformed::new(found, true, TreeNodeRecursion::Jump))
            })
        });
        Ok(condition.transpose()?.map(|condition| condition.data))
    }

    fn expression(&self, expr: Expr, input: &mut Asking) -> Result<Transformed<Expr>> {
        let replaced = match expr {
            Expr::ScalarSubquery(subquery) => self.scalar(subquery, input, Counted::WhereUsed)?,
            Expr::Exists(exists) => {
                let found = self.exists(exists.subquery, input)?;
                if exists.negated { not(found) } else { found }
            }
            Expr::InSubquery(member) => {
                let is_same = member.subquery.outer_ref_columns.is_empty();
                // Which computes the subquery twice.
                let found = match is_same && !is_volatile(&member.subquery.subquery) {
                    true => {
                        let plan = Arc::unwrap_or_clone(member.subquery.subquery);
                        self.member(*member.expr, plan, input)?
                    }
                    false => self.any(*member.expr, Operator::Eq, member.subquery, input)?,
                };
                if member.negated { not(found) } else { found }
            }
            Expr::SetComparison(set) => match set.quantifier {
                datafusion_expr::expr::SetQuantifier::Any => {
                    self.any(*set.expr, set.op, set.subquery, input)?
                }
                datafusion_expr::expr::SetQuantifier::All => {
                    let Some(opposite) = set.op.negate() else {
                        return Err(unsupported("ALL with this operator"));
                    };
                    not(self.any(*set.expr, opposite, set.subquery, input)?)
                }
            },
            other => return Ok(Transformed::no(other)),
        };
        Ok(Transformed::yes(replaced))
    }

    /// The value of the subquery's row, null of none.
    fn scalar(&self, subquery: Subquery, input: &mut Asking, counted: Counted) -> Result<Expr> {
        let plan = self.plan(Arc::unwrap_or_clone(subquery.subquery))?;
        let single = at_most_one(&plan);
        let (plan, value) = self.named(plan)?;
        let domain = self.domain(&plan, input)?;
        let dependent = Dependent { names: self.names, domain: &domain };
        let (mut rows, inner) = dependent.plan(plan)?;
        if single {
            return self.attach(input, rows, &domain, inner, value);
        }
        // What depends on no row may have two if no row asks for it.
        let counted = if inner.is_empty() { Counted::WhereUsed } else { counted };
        let call = vec![Expr::Column(value.clone())];
        let call = AggregateFunction::new_udf(counted.aggregate(), call, false, None, vec![], None);
        let gathered = Expr::AggregateFunction(call).alias(value.name.clone());
        let keys = inner.iter().cloned().map(Expr::Column);
        rows = LogicalPlanBuilder::from(rows).aggregate(keys, [gathered])?.build()?;
        Ok(counted.value(self.attach(input, rows, &domain, inner, value)?))
    }

    /// Whether the subquery has a row.
    fn exists(&self, subquery: Subquery, input: &mut Asking) -> Result<Expr> {
        let plan = self.plan(Arc::unwrap_or_clone(subquery.subquery))?;
        let domain = self.domain(&plan, input)?;
        let dependent = Dependent { names: self.names, domain: &domain };
        let (rows, inner) = dependent.plan(plan)?;
        let mark = self.names.next("__mark");
        let rows = LogicalPlanBuilder::from(rows);
        let rows = if domain.outer.is_empty() {
            rows.limit(0, Some(1))?.project([lit(true).alias(&mark)])?
        } else {
            let columns = inner.iter().cloned().map(Expr::Column);
            let distinct = rows.project(columns)?.distinct()?;
            let columns: Vec<Expr> = inner.iter().cloned().map(Expr::Column).collect();
            distinct.project(columns.into_iter().chain([lit(true).alias(&mark)]))?
        };
        let mark = Column::from_name(mark);
        let found = self.attach(input, rows.build()?, &domain, inner, mark)?;
        Ok(found.is_not_null())
    }

    /// `expr IN (subquery)`, of a subquery that is the same for all rows: true where a row matches, else
    /// unknown if there are rows and the value or one of theirs is null.
    fn member(&self, expr: Expr, subquery: LogicalPlan, input: &mut Asking) -> Result<Expr> {
        let (plan, value) = self.named(self.plan(subquery)?)?;
        let value = Expr::Column(value);
        let [mark, all, known] = ["__mark", "__rows", "__known"].map(|name| self.names.next(name));
        let counts = [count_all().alias(&all), count(value.clone()).alias(&known)];
        let counted =
            LogicalPlanBuilder::from(plan.clone()).aggregate(Vec::<Expr>::new(), counts)?;
        let matching = LogicalPlanBuilder::from(plan)
            .filter(value.clone().is_not_null())?
            .distinct()?
            .project([value.clone(), lit(true).alias(&mark)])?;
        input.joined = LogicalPlanBuilder::from(input.joined.clone())
            .join_on(matching.build()?, JoinType::Left, [expr.clone().eq(value)])?
            .join_on(counted.build()?, JoinType::Left, [lit(true)])?
            .build()?;
        let [mark, all, known] =
            [mark, all, known].map(|name| Expr::Column(Column::from_name(name)));
        when(mark.is_not_null(), lit(true))
            .when(all.clone().eq(lit(0i64)), lit(false))
            .when(expr.is_null().or(known.lt(all)), Expr::Literal(ScalarValue::Boolean(None), None))
            .otherwise(lit(false))
    }

    /// `expr op ANY (subquery)`: true of one row is true, else unknown of one is unknown.
    fn any(
        &self,
        expr: Expr,
        op: Operator,
        subquery: Subquery,
        input: &mut Asking,
    ) -> Result<Expr> {
        let plan = Arc::unwrap_or_clone(subquery.subquery);
        let (plan, value) = self.named(plan)?;
        let schema = Arc::clone(input.joined.schema());
        // Seen from inside of the subquery, the compared value is an outer one.
        let outer = expr.transform_up(|e| match e {
            Expr::Column(column) => {
                let field = Arc::clone(schema.field_from_column(&column)?);
                Ok(Transformed::yes(Expr::OuterReferenceColumn(field, column)))
            }
            other => Ok(Transformed::no(other)),
        })?;
        let compared = binary_expr(outer.data, op, Expr::Column(value));
        let rank = when(compared.clone().is_true(), lit(2i64))
            .when(compared.is_unknown(), lit(1i64))
            .otherwise(lit(0i64))?;
        let best = AggregateFunction::new_udf(max_udaf(), vec![rank], false, None, vec![], None);
        let best = Expr::AggregateFunction(best).alias(self.names.next("__any"));
        let ranked =
            LogicalPlanBuilder::from(plan).aggregate(Vec::<Expr>::new(), [best])?.build()?;
        let ranked = Subquery {
            outer_ref_columns: ranked.all_out_ref_exprs(),
            subquery: Arc::new(ranked),
            spans: Default::default(),
        };
        let rank = self.scalar(ranked, input, Counted::AtOnce)?;
        when(rank.clone().eq(lit(2i64)), lit(true))
            .when(rank.eq(lit(1i64)), Expr::Literal(ScalarValue::Boolean(None), None))
            .otherwise(lit(false))
    }

    /// A join whose right side may name columns of the left one.
    fn lateral(&self, join: datafusion_expr::Join) -> Result<LogicalPlan> {
        let (alias, plan) = lateral_plan(Arc::unwrap_or_clone(join.right))?;
        let plan = self.plan(plan)?;
        let mut left = Asking::new(Arc::unwrap_or_clone(join.left));
        let columns = join.schema.columns().into_iter().map(Expr::Column).collect::<Vec<_>>();
        let domain = self.domain(&plan, &left)?;
        let dependent = Dependent { names: self.names, domain: &domain };
        let (mut rows, mut inner) = dependent.plan(plan)?;
        if let Some(alias) = alias {
            rows = LogicalPlanBuilder::from(rows).alias(alias.clone())?.build()?;
            let renamed = |c: Column| Column::new(Some(alias.clone()), c.name);
            inner = inner.into_iter().map(renamed).collect();
        }
        if !matches!(join.join_type, JoinType::Inner | JoinType::Left) {
            return Err(unsupported("a lateral join of this kind"));
        }
        let mut right = Asking::new(rows);
        let filter = self.of_either_side(join.filter, &mut left, &mut right)?;
        let equal = join.on.into_iter().map(|(l, r)| l.eq(r));
        let filter = equal.chain(filter).reduce(Expr::and);
        LogicalPlanBuilder::from(left.joined)
            .join_detailed(
                right.joined,
                join.join_type,
                (domain.outer.clone(), inner),
                filter,
                NullEquality::NullEqualsNull,
            )?
            .project(columns)?
            .build()
    }

    /// The plan with its only column under a name of its own.
    fn named(&self, plan: LogicalPlan) -> Result<(LogicalPlan, Column)> {
        let name = self.names.next("__value");
        let column = plan.schema().columns().swap_remove(0);
        let named =
            LogicalPlanBuilder::from(plan).project([Expr::Column(column).alias(name.clone())])?;
        Ok((named.build()?, Column::from_name(name)))
    }

    /// The different values that the outer columns of `plan` have in `input`.
    fn domain(&self, plan: &LogicalPlan, input: &Asking) -> Result<Domain> {
        let mut outer = Vec::new();
        for expr in plan.all_out_ref_exprs() {
            if let Expr::OuterReferenceColumn(_, column) = expr
                && input.has_column(&column)
                && !outer.contains(&column)
            {
                outer.push(column);
            }
        }
        let names: Vec<String> = outer.iter().map(|_| self.names.next("__outer")).collect();
        let columns = outer.iter().zip(&names);
        let columns = columns.map(|(c, name)| Expr::Column(c.clone()).alias(name));
        let values = LogicalPlanBuilder::from(input.with_columns(&outer).clone());
        let plan = match outer.is_empty() {
            true => values.build()?,
            false => values.project(columns.collect::<Vec<_>>())?.distinct()?.build()?,
        };
        let inner = names.into_iter().map(Column::from_name).collect();
        Ok(Domain { plan, outer, inner })
    }

    /// Joins the results for the domain to the rows that asked for them.
    fn attach(
        &self,
        input: &mut Asking,
        rows: LogicalPlan,
        domain: &Domain,
        inner: Vec<Column>,
        value: Column,
    ) -> Result<Expr> {
        let all = inner.iter().cloned().chain([value.clone()]).map(Expr::Column);
        let rows = LogicalPlanBuilder::from(rows).project(all)?.build()?;
        let keys = (domain.outer.clone(), inner);
        let joined = LogicalPlanBuilder::from(input.joined.clone());
        let (always, nulls) = match domain.outer.is_empty() {
            true => (Some(lit(true)), NullEquality::NullEqualsNothing),
            false => (None, NullEquality::NullEqualsNull),
        };
        input.joined = joined.join_detailed(rows, JoinType::Left, keys, always, nulls)?.build()?;
        Ok(Expr::Column(value))
    }
}

fn unsupported(what: &str) -> DataFusionError {
    DataFusionError::External(Box::new(SqlError::unsupported(what)))
}

fn is_volatile(plan: &LogicalPlan) -> bool {
    let mut found = false;
    let walked = plan.apply_with_subqueries(erased_ref(&mut |node: &LogicalPlan| {
        found |= node.expressions().iter().any(Expr::is_volatile);
        Ok(TreeNodeRecursion::Continue)
    }));
    found || walked.is_err()
}

fn is_lateral(plan: &LogicalPlan) -> bool {
    match plan {
        LogicalPlan::Subquery(_) => true,
        LogicalPlan::SubqueryAlias(alias) => is_lateral(&alias.input),
        _ => false,
    }
}

/// The name and the plan of a lateral relation.
fn lateral_plan(
    plan: LogicalPlan,
) -> Result<(Option<datafusion_common::TableReference>, LogicalPlan)> {
    match plan {
        LogicalPlan::SubqueryAlias(alias) => {
            let (_, inner) = lateral_plan(Arc::unwrap_or_clone(alias.input))?;
            Ok((Some(alias.alias), inner))
        }
        LogicalPlan::Subquery(subquery) => Ok((None, Arc::unwrap_or_clone(subquery.subquery))),
        _ => Err(unsupported("this lateral relation")),
    }
}
