//! Rules of the library that change what a query means, kept from the plans where they do.

use std::sync::Arc;

use datafusion_common::tree_node::{Transformed, TreeNodeRecursion};
use datafusion_common::{JoinType, NullEquality, Result};
use datafusion_expr::{Expr, LogicalPlan, LogicalPlanBuilder, cast};
use datafusion_optimizer::eliminate_cross_join::EliminateCrossJoin;
use datafusion_optimizer::extract_equijoin_predicate::ExtractEquijoinPredicate;
use datafusion_optimizer::optimize_projections::OptimizeProjections;
use datafusion_optimizer::optimizer::ApplyOrder;
use datafusion_optimizer::replace_distinct_aggregate::ReplaceDistinctWithAggregate;
use datafusion_optimizer::single_distinct_to_groupby::SingleDistinctToGroupBy;
use datafusion_optimizer::{OptimizerConfig, OptimizerRule};

use super::dependencies;

/// [`ExtractEquijoinPredicate`] but for joins whose keys take nulls for equal: an equality that it made a
/// key of theirs would do so too.
#[derive(Debug)]
pub(super) struct EquijoinPredicates(pub ExtractEquijoinPredicate);

/// [`EliminateCrossJoin`] but for plans with inner joins whose keys take nulls for equal: it gives all
/// joins of a tree the manner of one.
#[derive(Debug)]
pub(super) struct CrossJoins(pub EliminateCrossJoin);

/// [`SingleDistinctToGroupBy`], whose sums of sums have the types of the sums that they stand for.
#[derive(Debug)]
pub(super) struct SingleDistinct(pub SingleDistinctToGroupBy);

/// [`OptimizeProjections`] over plans that say rightly which columns determine others: it drops those from
/// the columns of groups.
#[derive(Debug)]
pub(super) struct Projections(pub OptimizeProjections);

/// [`ReplaceDistinctWithAggregate`] over such plans: it drops a `DISTINCT` of columns that are a key.
#[derive(Debug)]
pub(super) struct Distincts(pub ReplaceDistinctWithAggregate);

fn is_equal_by_nulls(plan: &LogicalPlan) -> bool {
    matches!(plan, LogicalPlan::Join(join) if join.null_equality == NullEquality::NullEqualsNull)
}

fn is_inner(plan: &LogicalPlan) -> bool {
    matches!(plan, LogicalPlan::Join(join) if join.join_type == JoinType::Inner)
}

impl OptimizerRule for EquijoinPredicates {
    fn name(&self) -> &str {
        self.0.name()
    }

    fn apply_order(&self) -> Option<ApplyOrder> {
        self.0.apply_order()
    }

    fn rewrite(
        &self,
        plan: LogicalPlan,
        config: &dyn OptimizerConfig,
    ) -> Result<Transformed<LogicalPlan>> {
        match is_equal_by_nulls(&plan) {
            true => Ok(Transformed::no(plan)),
            false => self.0.rewrite(plan, config),
        }
    }
}

impl OptimizerRule for CrossJoins {
    fn name(&self) -> &str {
        self.0.name()
    }

    fn rewrite(
        &self,
        plan: LogicalPlan,
        config: &dyn OptimizerConfig,
    ) -> Result<Transformed<LogicalPlan>> {
        let mut found = false;
        plan.apply_with_subqueries(|node| {
            found |= is_inner(node) && is_equal_by_nulls(node);
            Ok(if found { TreeNodeRecursion::Stop } else { TreeNodeRecursion::Continue })
        })?;
        match found {
            true => Ok(Transformed::no(plan)),
            false => self.0.rewrite(plan, config),
        }
    }
}

impl OptimizerRule for Projections {
    fn name(&self) -> &str {
        self.0.name()
    }

    fn apply_order(&self) -> Option<ApplyOrder> {
        self.0.apply_order()
    }

    fn rewrite(
        &self,
        plan: LogicalPlan,
        config: &dyn OptimizerConfig,
    ) -> Result<Transformed<LogicalPlan>> {
        self.0.rewrite(dependencies::corrected(plan)?, config)
    }
}

impl OptimizerRule for Distincts {
    fn name(&self) -> &str {
        self.0.name()
    }

    fn apply_order(&self) -> Option<ApplyOrder> {
        self.0.apply_order()
    }

    fn rewrite(
        &self,
        plan: LogicalPlan,
        config: &dyn OptimizerConfig,
    ) -> Result<Transformed<LogicalPlan>> {
        match plan {
            LogicalPlan::Distinct(_) => self.0.rewrite(dependencies::corrected(plan)?, config),
            other => Ok(Transformed::no(other)),
        }
    }
}

impl OptimizerRule for SingleDistinct {
    fn name(&self) -> &str {
        self.0.name()
    }

    fn apply_order(&self) -> Option<ApplyOrder> {
        self.0.apply_order()
    }

    fn rewrite(
        &self,
        plan: LogicalPlan,
        config: &dyn OptimizerConfig,
    ) -> Result<Transformed<LogicalPlan>> {
        let schema = Arc::clone(plan.schema());
        let rewritten = self.0.rewrite(plan, config)?;
        let fields = rewritten.data.schema().fields().iter().zip(schema.fields());
        if fields.into_iter().all(|(new, old)| new.data_type() == old.data_type()) {
            return Ok(rewritten);
        }
        let columns = rewritten.data.schema().columns();
        let typed = columns.into_iter().zip(schema.iter()).map(|(column, (qualifier, field))| {
            cast(Expr::Column(column), field.data_type().clone())
                .alias_qualified(qualifier.cloned(), field.name())
        });
        let typed: Vec<Expr> = typed.collect();
        LogicalPlanBuilder::from(rewritten.data).project(typed)?.build().map(Transformed::yes)
    }
}
