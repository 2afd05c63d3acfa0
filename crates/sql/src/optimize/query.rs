//! A parsed query as an optimised logical plan: the rules, and our join order between them.

use std::sync::Arc;

use datafusion_common::alias::AliasGenerator;
use datafusion_expr::LogicalPlan;
use datafusion_optimizer::AnalyzerRule;
use datafusion_sql::sqlparser::ast;
use plan::Node;
use types::described::Origin;
use types::{SqlError, SqlResult};

use crate::analyze::existence::Existence;
use crate::analyze::query::{analyzed, bind};
use crate::analyze::{outer_aggregates, system};
use crate::catalog::Catalog;
use crate::error::from_library;
use crate::error::guarded::guarded;
use crate::functions::library::LIBRARY;
use crate::logical::run::{Config, run};
use crate::logical::{constants, decorrelation, leftovers, rules, separate, set_all, sorted};
use crate::optimize::{filters, join_order, shared};
use crate::options::PlannerOptions;
use crate::parse::parameter::Parameter;

/// A query as a plan, and where each of its columns comes from.
pub(crate) struct Optimized {
    pub plan: LogicalPlan,
    pub origins: Vec<Origin>,
    /// The queries that are computed once, by their numbers; one names only those before it.
    pub shared: Vec<Shared>,
}

/// A query that is computed once.
pub(crate) struct Shared {
    pub name: String,
    /// Optimised.
    pub plan: LogicalPlan,
    pub node: Node,
}

/// Binds, checks and optimises a query.
pub(crate) fn optimized(
    query: ast::Query,
    catalog: &dyn Catalog,
    options: &PlannerOptions,
) -> SqlResult<Optimized> {
    planned(query, catalog, options, None)
}

/// The same of a query with parameters, which stay in the plan. These are values of theirs, for which the
/// order of joins is chosen.
pub(crate) fn generic(
    query: ast::Query,
    catalog: &dyn Catalog,
    options: &PlannerOptions,
    values: Vec<Parameter>,
) -> SqlResult<Optimized> {
    planned(query, catalog, options, Some(values))
}

fn planned(
    query: ast::Query,
    catalog: &dyn Catalog,
    options: &PlannerOptions,
    values: Option<Vec<Parameter>>,
) -> SqlResult<Optimized> {
    guarded(|| {
        let parameter_count = values.as_ref().map_or(0, Vec::len);
        let config = Config { aliases: Arc::new(AliasGenerator::new()), values };
        let named = shared::Named::of(&query);
        let (bound, origins) = bind(query, catalog, parameter_count)?;
        outer_aggregates::refuse(&bound)?;
        if config.values.is_some()
            && crate::optimize::values::are_subqueries_limited(&bound).map_err(from_library)?
        {
            return Err(SqlError::unsupported("a parameter as the number of rows of a subquery"));
        }
        let mut shared = vec![];
        let mut finish = |query, name: &str| {
            let plan = finished(query, &config, options)?;
            // What is believed about its rows is that of the values at hand.
            let valued = match &config.values {
                Some(values) => &crate::optimize::values::with_values(plan.clone(), values)?,
                None => &plan,
            };
            let (source, node) = shared::planned(valued, shared.len(), name, options)?;
            shared.push(Shared { name: name.to_owned(), plan, node });
            Ok(source)
        };
        let bound = shared::take_out(bound, &named, &mut finish).map_err(from_library)?;
        Ok(Optimized { plan: finished(bound, &config, options)?, origins, shared })
    })
}

/// A bound plan, checked and optimised.
fn finished(
    bound: LogicalPlan,
    config: &Config,
    options: &PlannerOptions,
) -> SqlResult<LogicalPlan> {
    // Behind who finds shared queries, by where they lie in memory.
    let bound = match config.values {
        Some(_) => crate::optimize::values::without_null_tests(bound)?,
        None => bound,
    };
    let bound = sorted::without_unseen(bound).and_then(sorted::with_named).map_err(from_library)?;
    let bound = folded(bound)?;
    let bound = system::without_empty(bound, config)?;
    let bound = set_all::number_copies(bound, &config.aliases).map_err(from_library)?;
    let first = decorrelated(bound, config)?;
    let ordered = match &config.values {
        Some(values) => {
            let moved = run(vec![filters::rule(config)], first, config)?;
            let numbered = crate::optimize::values::with_numbered(moved, values)?;
            crate::optimize::values::without_numbered(join_order::reorder(numbered, options)?)?
        }
        None => join_order::reorder(first, options)?,
    };
    let last = run(rules::last(), ordered, config)?;
    leftovers::check(&last, config.values.is_some())?;
    Ok(last)
}

/// The plan without subqueries: by the library's rules where they can, else by ours.
pub(crate) fn decorrelated(bound: LogicalPlan, config: &Config) -> SqlResult<LogicalPlan> {
    let first = match decorrelation::is_needed(&bound) {
        true => None,
        false => separate::separate(bound.clone(), &config.aliases)
            .map_err(from_library)
            .and_then(|separated| run(rules::first(filters::rule(config)), separated, config))
            .ok(),
    };
    if let Some(first) = first
        && leftovers::check(&first, config.values.is_some()).is_ok()
    {
        return Ok(first);
    }
    let unnested = decorrelation::decorrelate(bound, &config.aliases).map_err(from_library)?;
    let first = run(rules::first(filters::rule(config)), unnested, config)?;
    leftovers::check(&first, config.values.is_some())?;
    Ok(first)
}

/// The plan with its types, and what is made of constants computed.
pub(crate) fn folded(plan: LogicalPlan) -> SqlResult<LogicalPlan> {
    let folded = constants::ExactConstants.analyze(analyzed(plan)?, &LIBRARY.options);
    // Behind all that may find a mistake in what is left out.
    let asked = folded.and_then(|plan| Existence.analyze(plan, &LIBRARY.options));
    asked.map_err(from_library)
}
