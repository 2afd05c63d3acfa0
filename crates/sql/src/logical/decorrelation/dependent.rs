//! A plan computed for each row of a domain at once: the dependent join, pushed down to where
//! nothing depends on the outer columns any more.

use std::sync::Arc;

use datafusion_common::alias::AliasGenerator;
use datafusion_common::tree_node::{Transformed, TransformedResult};
use datafusion_common::{Column, JoinType, NullEquality, Result};
use datafusion_expr::builder::unnest_with_options;
use datafusion_expr::expr::{WindowFunction, WindowFunctionDefinition};
use datafusion_expr::{
    Aggregate, Distinct, Expr, FetchType, Join, Limit, LogicalPlan, LogicalPlanBuilder, Operator,
    SkipType, SortExpr, Values, binary_expr, lit, when,
};
use datafusion_functions_window::row_number::row_number_udwf;

use super::{Domain, unsupported};

use crate::walk::nodes::Nodes;

/// The rows of a plan for a domain.
pub(super) struct Dependent<'a> {
    pub names: &'a AliasGenerator,
    pub domain: &'a Domain,
}

/// A plan, and the domain's columns in it.
type Rows = (LogicalPlan, Vec<Column>);

impl Dependent<'_> {
    /// The rows of `plan` for each row of the domain, with the domain's columns behind its own.
    pub fn plan(&self, plan: LogicalPlan) -> Result<Rows> {
        crate::interrupt::check()?;
        if self.domain.outer.is_empty() {
            return Ok((plan, vec![]));
        }
        if !self.depends(&plan) {
            let all = LogicalPlanBuilder::from(plan).cross_join(self.domain.plan.clone())?;
            return Ok((all.build()?, self.domain.inner.clone()));
        }
        match plan {
            LogicalPlan::Filter(filter) => {
                let (input, keys) = self.plan(Arc::unwrap_or_clone(filter.input))?;
                let predicate = self.bind(filter.predicate, &keys)?;
                Ok((LogicalPlanBuilder::from(input).filter(predicate)?.build()?, keys))
            }
            LogicalPlan::Projection(p) => {
                let (input, keys) = self.plan(Arc::unwrap_or_clone(p.input))?;
                let exprs = self.bind_all(p.expr, &keys)?;
                let exprs = exprs.into_iter().chain(columns(&keys));
                Ok((LogicalPlanBuilder::from(input).project(exprs)?.build()?, keys))
            }
            LogicalPlan::SubqueryAlias(alias) => {
                let (input, keys) = self.plan(Arc::unwrap_or_clone(alias.input))?;
                let name = alias.alias;
                let renamed = |c: Column| Column::new(Some(name.clone()), c.name);
                let keys = keys.into_iter().map(renamed).collect();
                Ok((LogicalPlanBuilder::from(input).alias(name.clone())?.build()?, keys))
            }
            LogicalPlan::Aggregate(aggregate) => self.aggregate(aggregate),
            LogicalPlan::Join(join) => self.join(join),
            LogicalPlan::Sort(sort) => {
                let (input, keys) = self.plan(Arc::unwrap_or_clone(sort.input))?;
                let order = self.bind_order(sort.expr, &keys)?;
                match sort.fetch {
                    None => Ok((LogicalPlanBuilder::from(input).sort(order)?.build()?, keys)),
                    Some(n) => self.first(input, keys, order, 0, Some(n)),
                }
            }
            LogicalPlan::Limit(limit) => self.limit(limit),
            LogicalPlan::Distinct(Distinct::All(input)) => {
                let (input, keys) = self.plan(Arc::unwrap_or_clone(input))?;
                Ok((LogicalPlanBuilder::from(input).distinct()?.build()?, keys))
            }
            LogicalPlan::Unnest(unnest) => {
                let (input, keys) = self.plan(Arc::unwrap_or_clone(unnest.input))?;
                let columns = unnest.exec_columns;
                let rows = unnest_with_options(input, columns, unnest.options)?;
                self.behind(rows, keys)
            }
            // The first relation of a subquery may be lateral to the query around it.
            LogicalPlan::Subquery(lateral) => self.plan(Arc::unwrap_or_clone(lateral.subquery)),
            LogicalPlan::Union(union) => self.union(union),
            LogicalPlan::Values(values) => self.values(values),
            LogicalPlan::Window(window) => {
                let (input, keys) = self.plan(Arc::unwrap_or_clone(window.input))?;
                let exprs = window.window_expr.into_iter();
                let exprs =
                    exprs.map(|e| self.partitioned(e, &keys)).collect::<Result<Vec<_>>>()?;
                self.behind(LogicalPlanBuilder::from(input).window(exprs)?.build()?, keys)
            }
            _ => Err(unsupported("a correlated subquery with this relation")),
        }
    }

    /// Whether a plan names a column of the domain.
    fn depends(&self, plan: &LogicalPlan) -> bool {
        let named = |e: &Expr| match e {
            Expr::OuterReferenceColumn(_, c) => self.domain.outer.contains(c),
            _ => false,
        };
        plan.all_out_ref_exprs().iter().any(named)
    }

    /// The expression with the domain's columns in place of the outer ones.
    fn bind(&self, expr: Expr, keys: &[Column]) -> Result<Expr> {
        expr.transform_up(|e| match e {
            Expr::OuterReferenceColumn(field, column) => {
                match self.domain.outer.iter().position(|o| *o == column) {
                    Some(i) => Ok(Transformed::yes(Expr::Column(keys[i].clone()))),
                    None => Ok(Transformed::no(Expr::OuterReferenceColumn(field, column))),
                }
            }
            other => Ok(Transformed::no(other)),
        })
        .data()
    }

    /// The expressions bound, under their old names.
    fn bind_all(&self, exprs: Vec<Expr>, keys: &[Column]) -> Result<Vec<Expr>> {
        let bound = exprs.into_iter().map(|expr| {
            let (qualifier, name) = expr.qualified_name();
            let bound = self.bind(expr, keys)?;
            let same = bound.qualified_name() == (qualifier.clone(), name.clone());
            Ok(if same { bound } else { bound.alias_qualified(qualifier, name) })
        });
        bound.collect()
    }

    /// A window function for each value of the domain, under its old name.
    fn partitioned(&self, expr: Expr, keys: &[Column]) -> Result<Expr> {
        let (qualifier, name) = expr.qualified_name();
        let bound = self.bind(expr, keys)?.unalias().transform_up(|e| match e {
            Expr::WindowFunction(mut window) => {
                window.params.partition_by.extend(columns(keys));
                Ok(Transformed::yes(Expr::WindowFunction(window)))
            }
            other => Ok(Transformed::no(other)),
        });
        Ok(bound?.data.alias_qualified(qualifier, name))
    }

    fn bind_order(&self, order: Vec<SortExpr>, keys: &[Column]) -> Result<Vec<SortExpr>> {
        order.into_iter().map(|s| Ok(SortExpr { expr: self.bind(s.expr, keys)?, ..s })).collect()
    }

    fn aggregate(&self, aggregate: Aggregate) -> Result<Rows> {
        let schema = Arc::clone(&aggregate.schema);
        let (input, keys) = self.plan(Arc::unwrap_or_clone(aggregate.input))?;
        let global = aggregate.group_expr.is_empty();
        if matches!(aggregate.group_expr[..], [Expr::GroupingSet(_), ..]) {
            return Err(unsupported("GROUPING SETS in a correlated subquery"));
        }
        let groups = self.bind_all(aggregate.group_expr, &keys)?;
        let groups = groups.into_iter().chain(columns(&keys));
        let counts: Vec<bool> = aggregate.aggr_expr.iter().map(counts).collect();
        let values = self.bind_all(aggregate.aggr_expr, &keys)?;
        let grouped = LogicalPlanBuilder::from(input).aggregate(groups, values)?.build()?;
        if !global {
            return self.behind(grouped, keys);
        }
        // Without groups there is a row even of no input: the domain's values that found none.
        let mut exprs = Vec::new();
        for (column, is_count) in schema.columns().into_iter().zip(counts) {
            let value = Expr::Column(column.clone());
            exprs.push(if is_count {
                let zero = when(value.clone().is_null(), lit(0i64)).otherwise(value)?;
                zero.alias_qualified(column.relation, column.name)
            } else {
                value
            });
        }
        let domain = LogicalPlanBuilder::from(self.domain.plan.clone());
        let renamed: Vec<String> = keys.iter().map(|_| self.names.next("__group")).collect();
        let outputs = grouped.schema().columns().into_iter().map(|column| {
            match keys.iter().position(|k| *k == column) {
                Some(i) => Expr::Column(column).alias(&renamed[i]),
                None => Expr::Column(column),
            }
        });
        let outputs: Vec<Expr> = outputs.collect();
        let grouped = LogicalPlanBuilder::from(grouped).project(outputs)?.build()?;
        let found: Vec<Column> = renamed.into_iter().map(Column::from_name).collect();
        let on = (self.domain.inner.clone(), found);
        let nulls = NullEquality::NullEqualsNull;
        let all = domain.join_detailed(grouped, JoinType::Left, on, None, nulls)?;
        let exprs = exprs.into_iter().chain(columns(&self.domain.inner));
        Ok((all.project(exprs)?.build()?, self.domain.inner.clone()))
    }

    fn join(&self, join: Join) -> Result<Rows> {
        let (left, right) = (Arc::unwrap_or_clone(join.left), Arc::unwrap_or_clone(join.right));
        let right_only = matches!(join.join_type, JoinType::Right | JoinType::RightSemi)
            || join.join_type == JoinType::RightAnti;
        let either = join.join_type == JoinType::Inner;
        let outputs = join.schema.columns().into_iter().map(Expr::Column).collect::<Vec<_>>();
        let on_left = self.depends(&left) || !self.depends(&right);
        let (left_keys, right_keys, left, right) =
            if (either && !on_left) || (right_only && !self.depends(&left)) {
                let (right, keys) = self.plan(right)?;
                (None, Some(keys), left, right)
            } else if !right_only && !self.depends(&right) && join.join_type != JoinType::Full {
                let (left, keys) = self.plan(left)?;
                (Some(keys), None, left, right)
            } else {
                let (left, left_keys) = self.plan(left)?;
                let (right, right_keys) = self.renamed(right)?;
                (Some(left_keys), Some(right_keys), left, right)
            };
        let kept = if right_only { &right_keys } else { &left_keys };
        let kept = kept.clone().or_else(|| right_keys.clone()).unwrap_or_default();
        let filter = join.filter.map(|f| self.bind(f, &kept)).transpose()?;
        let mut filters: Vec<Expr> = filter.into_iter().collect();
        let equal = match join.null_equality {
            NullEquality::NullEqualsNothing => Operator::Eq,
            NullEquality::NullEqualsNull => Operator::IsNotDistinctFrom,
        };
        for (l, r) in join.on {
            filters.push(binary_expr(self.bind(l, &kept)?, equal, self.bind(r, &kept)?));
        }
        if let (Some(l), Some(r)) = (&left_keys, &right_keys) {
            for (l, r) in l.iter().zip(r) {
                filters.push(binary_expr(
                    Expr::Column(l.clone()),
                    Operator::IsNotDistinctFrom,
                    Expr::Column(r.clone()),
                ));
            }
        }
        let filter = filters.into_iter().reduce(Expr::and);
        let none: (Vec<Column>, Vec<Column>) = (vec![], vec![]);
        let filter = Some(filter.unwrap_or_else(|| lit(true)));
        let joined = LogicalPlanBuilder::from(left).join_detailed(
            right,
            join.join_type,
            none,
            filter,
            join.null_equality,
        )?;
        let (values, kept) = match (join.join_type, left_keys, right_keys) {
            // A row without a partner on the left has the domain's values of the right side.
            (JoinType::Full, Some(left), Some(right)) => self.of_either(left, right)?,
            _ => (columns(&kept).collect(), kept),
        };
        Ok((joined.project(outputs.into_iter().chain(values))?.build()?, kept))
    }

    /// The domain's values of that side which has them, and the columns that they become.
    fn of_either(&self, left: Vec<Column>, right: Vec<Column>) -> Result<(Vec<Expr>, Vec<Column>)> {
        let names = left.iter().map(|_| Column::from_name(self.names.next("__outer")));
        let names: Vec<Column> = names.collect();
        let pairs = left.into_iter().zip(right).zip(&names);
        let values = pairs.map(|((left, right), name)| {
            let left = Expr::Column(left);
            let value = when(left.clone().is_null(), Expr::Column(right)).otherwise(left)?;
            Ok(value.alias(&name.name))
        });
        Ok((values.collect::<Result<_>>()?, names))
    }

    /// The rows with the domain's columns under names of their own.
    fn renamed(&self, plan: LogicalPlan) -> Result<Rows> {
        let (plan, keys) = self.plan(plan)?;
        let names: Vec<Column> =
            keys.iter().map(|_| Column::from_name(self.names.next("__outer"))).collect();
        let exprs = plan.schema().columns().into_iter().map(|column| {
            match keys.iter().position(|k| *k == column) {
                Some(i) => Expr::Column(column).alias(&names[i].name),
                None => Expr::Column(column),
            }
        });
        let exprs: Vec<Expr> = exprs.collect();
        Ok((LogicalPlanBuilder::from(plan).project(exprs)?.build()?, names))
    }

    fn limit(&self, limit: Limit) -> Result<Rows> {
        let (SkipType::Literal(skip), FetchType::Literal(fetch)) =
            (limit.get_skip_type()?, limit.get_fetch_type()?)
        else {
            return Err(unsupported("LIMIT with an expression"));
        };
        match Arc::unwrap_or_clone(limit.input) {
            LogicalPlan::Sort(sort) if sort.fetch.is_none() => {
                let (input, keys) = self.plan(Arc::unwrap_or_clone(sort.input))?;
                let order = self.bind_order(sort.expr, &keys)?;
                self.first(input, keys, order, skip, fetch)
            }
            // An order below is known there only: the limit goes down to it.
            LogicalPlan::Projection(mut p) => {
                let input = Limit { input: p.input, skip: limit.skip, fetch: limit.fetch };
                p.input = Arc::new(LogicalPlan::Limit(input));
                self.plan(LogicalPlan::Projection(p))
            }
            input => {
                let (input, keys) = self.plan(input)?;
                self.first(input, keys, vec![], skip, fetch)
            }
        }
    }

    /// The rows of each domain value that a limit passes.
    fn first(
        &self,
        input: LogicalPlan,
        keys: Vec<Column>,
        order: Vec<SortExpr>,
        skip: usize,
        fetch: Option<usize>,
    ) -> Result<Rows> {
        let number = self.names.next("__number");
        let mut window =
            WindowFunction::new(WindowFunctionDefinition::WindowUDF(row_number_udwf()), vec![]);
        window.params.partition_by = columns(&keys).collect();
        window.params.window_frame = datafusion_expr::WindowFrame::new(Some(true));
        window.params.order_by = order;
        let window = Expr::WindowFunction(Box::new(window)).alias(&number);
        let outputs: Vec<Expr> = input.schema().columns().into_iter().map(Expr::Column).collect();
        let numbered = LogicalPlanBuilder::from(input).window([window])?;
        let number = Expr::Column(Column::from_name(number));
        let number = datafusion_expr::cast(number, arrow_schema::DataType::Int64);
        let mut passed = number.clone().gt(lit(skip as i64));
        if let Some(fetch) = fetch {
            passed = passed.and(number.lt_eq(lit(skip.saturating_add(fetch) as i64)));
        }
        Ok((numbered.filter(passed)?.project(outputs)?.build()?, keys))
    }

    /// Each row for all values of the domain.
    fn values(&self, values: Values) -> Result<Rows> {
        let keys = self.domain.inner.clone();
        let outputs = values.schema.columns();
        let mut built: Option<LogicalPlanBuilder> = None;
        for row in values.values {
            let row = row.into_iter().zip(&outputs).map(|(value, output)| {
                let value = self.bind(value, &keys)?;
                Ok(value.alias_qualified(output.relation.clone(), &output.name))
            });
            let row = row.collect::<Result<Vec<_>>>()?.into_iter().chain(columns(&keys));
            let plan = LogicalPlanBuilder::from(self.domain.plan.clone()).project(row)?.build()?;
            built = Some(match built {
                None => LogicalPlanBuilder::from(plan),
                Some(before) => before.union(plan)?,
            });
        }
        let built = built.ok_or_else(|| unsupported("VALUES without rows"))?;
        Ok((built.build()?, keys))
    }

    fn union(&self, union: datafusion_expr::Union) -> Result<Rows> {
        let names: Vec<Column> = self
            .domain
            .inner
            .iter()
            .map(|_| Column::from_name(self.names.next("__outer")))
            .collect();
        let mut built: Option<LogicalPlanBuilder> = None;
        // All under the names of the union: where one input is left, rules of the library go by these.
        let outputs = union.schema.columns();
        for input in union.inputs {
            let (plan, keys) = self.plan(Arc::unwrap_or_clone(input))?;
            let (plan, keys) = self.behind(plan, keys)?;
            let named = plan.schema().columns().into_iter().enumerate();
            let exprs = named.map(|(at, column)| {
                match (keys.iter().position(|k| *k == column), outputs.get(at)) {
                    (Some(i), _) => Expr::Column(column).alias(&names[i].name),
                    (None, Some(output)) if *output != column => {
                        Expr::Column(column).alias_qualified(output.relation.clone(), &output.name)
                    }
                    (None, _) => Expr::Column(column),
                }
            });
            let exprs: Vec<Expr> = exprs.collect();
            let plan = LogicalPlanBuilder::from(plan).project(exprs)?.build()?;
            built = Some(match built {
                None => LogicalPlanBuilder::from(plan),
                Some(before) => before.union(plan)?,
            });
        }
        match built {
            Some(all) => Ok((all.build()?, names)),
            None => Err(unsupported("an empty union")),
        }
    }

    /// The plan with the domain's columns behind all others.
    fn behind(&self, plan: LogicalPlan, keys: Vec<Column>) -> Result<Rows> {
        let others = plan.schema().columns().into_iter().filter(|c| !keys.contains(c));
        let exprs: Vec<Expr> = others.map(Expr::Column).chain(columns(&keys)).collect();
        Ok((LogicalPlanBuilder::from(plan).project(exprs)?.build()?, keys))
    }
}

fn columns(keys: &[Column]) -> impl Iterator<Item = Expr> {
    keys.iter().cloned().map(Expr::Column).collect::<Vec<_>>().into_iter()
}

/// Whether an aggregate of no rows is zero, not null.
fn counts(expr: &Expr) -> bool {
    match expr {
        Expr::Alias(alias) => counts(&alias.expr),
        Expr::AggregateFunction(call) => call.func.name() == "count",
        _ => false,
    }
}
