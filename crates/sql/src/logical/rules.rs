//! Every rule of the library that runs, in the order in which it does, each with the reason why it
//! changes no rows. A rule that would is wrapped ([`guarded_rules`]), replaced, or not here.
//!
//! Not here, and why:
//! - `eliminate_duplicated_expr` drops sort keys behind what it takes for a key of the rows; behind
//!   joins, groupings and set operations it is none. [`Duplicates`] does the rest of its work.
//! - `filter_null_join_keys`, `extract_leaf_expressions`, `push_down_leaf_projections`: they put
//!   filters and projections between joins, whose order is chosen on trees of inner joins.
//! - `eliminate_join`, `rewrite_set_comparison`, `unions_to_filter`, and rules that make semi joins of
//!   inner joins with a key: a semi join cannot be driven from its inner side, by an index of the outer
//!   one, and `ANY` and `ALL` are ours ([`super::decorrelation`]).

use std::sync::Arc;

use datafusion_optimizer::common_subexpr_eliminate::CommonSubexprEliminate;
use datafusion_optimizer::decorrelate_lateral_join::DecorrelateLateralJoin;
use datafusion_optimizer::decorrelate_predicate_subquery::DecorrelatePredicateSubquery;
use datafusion_optimizer::eliminate_filter::EliminateFilter;
use datafusion_optimizer::eliminate_limit::EliminateLimit;
use datafusion_optimizer::eliminate_outer_join::EliminateOuterJoin;
use datafusion_optimizer::optimize_unions::OptimizeUnions;
use datafusion_optimizer::propagate_empty_relation::PropagateEmptyRelation;
use datafusion_optimizer::push_down_limit::PushDownLimit;
use datafusion_optimizer::scalar_subquery_to_join::ScalarSubqueryToJoin;

use super::duplicates::Duplicates;
use super::extremes::Extremes;
use super::guarded_rules;
use super::laterals::ClosedLaterals;
use super::single_groups::SingleGroups;
use crate::logical::run::Rule;

/// The rules before the order of joins is chosen, of which `filters` moves conditions.
pub(crate) fn first(filters: Rule) -> Vec<Rule> {
    vec![
        // Unions of unions become one, and a `UNION` of distinct rows is made distinct once: both keep
        // the bag of rows. Types were made equal when the query was bound.
        Arc::new(OptimizeUnions::new()),
        // Constants are folded by our rules before it (`constants`), which leaves it algebra on
        // booleans and nulls; comparisons with casts that lose digits are rounded before (`typing`).
        Arc::new(guarded_rules::simplified()),
        Arc::new(guarded_rules::distincts()),
        // Semi and anti joins of conditions joined by AND, mark joins of others. It identifies columns
        // by their names alone (`separate` gives them names of their own) and knows no unknown below
        // NOT and OR (`decorrelation::is_needed` keeps those from it).
        Arc::new(DecorrelatePredicateSubquery::new()),
        // A left join with the aggregate of each group, zero for counts that found none; subqueries of
        // more than one row are kept from it (`decorrelation::is_needed`).
        Arc::new(ScalarSubqueryToJoin::new()),
        // A group of a whole key is one row, whose only value is its value.
        Arc::new(SingleGroups),
        // The least value of a column is that of the first of all rows in its order, without nulls.
        Arc::new(Extremes),
        // A join with the groups of the correlated columns; aggregates with HAVING, and beside them values
        // of subqueries and aggregates without groups, which it would take for such, are kept from it
        // (`decorrelation::is_needed`).
        Arc::new(DecorrelateLateralJoin::new()),
        // What names nothing beside it has the same rows for all of them.
        Arc::new(ClosedLaterals),
        Arc::new(guarded_rules::equijoin_predicates()),
        Arc::new(Duplicates),
        // A filter of the constant true goes, one of false or null makes no rows.
        Arc::new(EliminateFilter::new()),
        Arc::new(guarded_rules::cross_joins()),
        // `LIMIT 0` makes no rows, and a limit that passes all rows goes.
        Arc::new(EliminateLimit::new()),
        // What joins with no rows, or groups none by keys, has none; an aggregation without groups
        // keeps its row, and the outer side of an outer join its rows.
        Arc::new(PropagateEmptyRelation::new()),
        // Where a strict condition above drops the rows that the join would extend with nulls.
        Arc::new(EliminateOuterJoin::new()),
        // Through nodes that pass each row on as one row, and into sorts as their number of rows.
        Arc::new(PushDownLimit::new()),
        filters,
        Arc::new(guarded_rules::single_distinct()),
        Arc::new(guarded_rules::groups()),
    ]
}

/// The rules after that.
pub(crate) fn last() -> Vec<Rule> {
    vec![
        Arc::new(guarded_rules::filters()),
        Arc::new(Duplicates),
        // What is surely evaluated twice for a row is evaluated once; volatile expressions and those of
        // branches that may not be taken stay where they are.
        Arc::new(CommonSubexprEliminate::new()),
        Arc::new(guarded_rules::projections()),
    ]
}
