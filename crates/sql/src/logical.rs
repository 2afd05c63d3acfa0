//! A parsed query as an optimised logical plan: the library's rules, our join order between them.

use std::sync::Arc;

use arrow_schema::{DataType, Field};
use datafusion_common::DataFusionError;
use datafusion_common::alias::AliasGenerator;
use datafusion_common::config::ConfigOptions;
use datafusion_expr::LogicalPlan;
use datafusion_expr::registry::FunctionRegistry;
use datafusion_optimizer::analyzer::type_coercion::TypeCoercion;
use datafusion_optimizer::{AnalyzerRule, Optimizer, OptimizerConfig, OptimizerRule};
use datafusion_sql::planner::{PlannerContext, SqlToRel};
use datafusion_sql::sqlparser::ast;
use types::SqlResult;
use types::described::Origin;

use crate::analyze::exact_sum::ExactSum;
use crate::analyze::existence::Existence;
use crate::analyze::inference::Inference;
use crate::analyze::names::Names;
use crate::analyze::single_row::SingleRow;
use crate::analyze::typing::Typing;
use crate::catalog::Catalog;
use crate::error::from_library;
use crate::error::guarded::guarded;
use crate::library::LIBRARY;
use crate::options::PlannerOptions;
use crate::patience::BetweenRules;
use crate::plan::Node;
use crate::rewrite::names::{has_inner_query, hidden_relation, with_relation_renamed};

pub(crate) mod constants;
pub(crate) mod dependencies;
pub(crate) mod distinct_on;
pub(crate) mod duplicates;
pub(crate) mod guarded_rules;
pub(crate) mod join_graph;
pub(crate) mod join_order;
pub(crate) mod laterals;
pub(crate) mod leftovers;
pub(crate) mod rules;
pub(crate) mod separate;
pub(crate) mod set_all;
pub(crate) mod shared;
pub(crate) mod simplified;
pub(crate) mod sorted;
pub(crate) mod unnest;

type Rule = Arc<dyn OptimizerRule + Send + Sync>;

/// A query as a plan, and where each of its columns comes from.
pub(crate) struct Optimized {
    pub plan: LogicalPlan,
    pub origins: Vec<Origin>,
    /// The queries that are computed once, by their numbers; one names only those before it.
    pub shared: Vec<Node>,
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
    values: Vec<String>,
) -> SqlResult<Optimized> {
    planned(query, catalog, options, Some(values))
}

fn planned(
    query: ast::Query,
    catalog: &dyn Catalog,
    options: &PlannerOptions,
    values: Option<Vec<String>>,
) -> SqlResult<Optimized> {
    guarded(|| {
        let parameter_count = values.as_ref().map_or(0, Vec::len);
        let config = Config { aliases: Arc::new(AliasGenerator::new()), values };
        let named = shared::Named::of(&query);
        let (bound, origins) = bind(query, catalog, parameter_count)?;
        crate::analyze::outer_aggregates::refuse(&bound)?;
        let mut finish = |query, number, name: &str| {
            let query = finished(query, &config, options)?;
            shared::planned(&query, number, name, options)
        };
        let (bound, shared) = shared::take_out(bound, &named, &mut finish).map_err(from_library)?;
        Ok(Optimized { plan: finished(bound, &config, options)?, origins, shared })
    })
}

/// A bound plan, checked and optimised.
fn finished(
    bound: LogicalPlan,
    config: &Config,
    options: &PlannerOptions,
) -> SqlResult<LogicalPlan> {
    let bound = sorted::without_unseen(bound).and_then(sorted::with_named).map_err(from_library)?;
    let bound = folded(bound)?;
    let bound = crate::analyze::system::without_empty(bound, config)?;
    let bound = set_all::number_copies(bound, &config.aliases).map_err(from_library)?;
    let first = decorrelated(bound, config)?;
    let ordered = match &config.values {
        Some(values) => {
            let numbered = crate::generic::values::with_numbered(first, values)?;
            crate::generic::values::without_numbered(join_order::reorder(numbered, options)?)?
        }
        None => join_order::reorder(first, options)?,
    };
    let last = run(rules::last(), ordered, config)?;
    leftovers::check(&last, config.values.is_some())?;
    Ok(last)
}

/// The plan without subqueries: by the library's rules where they can, else by ours.
fn decorrelated(bound: LogicalPlan, config: &Config) -> SqlResult<LogicalPlan> {
    let first = match unnest::is_needed(&bound) {
        true => None,
        false => separate::separate(bound.clone(), &config.aliases)
            .map_err(from_library)
            .and_then(|separated| run(rules::first(), separated, config))
            .ok(),
    };
    if let Some(first) = first
        && leftovers::check(&first, config.values.is_some()).is_ok()
    {
        return Ok(first);
    }
    let unnested = unnest::unnest(bound, &config.aliases).map_err(from_library)?;
    let first = run(rules::first(), unnested, config)?;
    leftovers::check(&first, config.values.is_some())?;
    Ok(first)
}

fn bind(
    query: ast::Query,
    catalog: &dyn Catalog,
    parameter_count: usize,
) -> SqlResult<(LogicalPlan, Vec<Origin>)> {
    let names = Names::new(catalog);
    let plan = with_parameters(query, &names, parameter_count)?;
    crate::analyze::no_columns::check(&plan)?;
    let mut origins = crate::analyze::origin::origins(&plan, catalog);
    let plan =
        crate::analyze::origin::show_names(plan, &mut origins, catalog).map_err(from_library)?;
    crate::analyze::no_columns::without_stand_ins(plan, origins).map_err(from_library)
}

fn named(query: ast::Query, names: &Names<'_>) -> SqlResult<LogicalPlan> {
    with_parameters(query, names, 0)
}

/// The same with so many parameters: texts, as literals in quotes are.
fn with_parameters(
    query: ast::Query,
    names: &Names<'_>,
    parameter_count: usize,
) -> SqlResult<LogicalPlan> {
    bound(query, names, parameter_count).map_err(from_library)
}

/// The query as the library binds it; outer relations that inner columns hide are named anew.
pub(crate) fn bound(
    query: ast::Query,
    names: &Names<'_>,
    parameter_count: usize,
) -> Result<LogicalPlan, DataFusionError> {
    let bind = |query: ast::Query| {
        let planner = SqlToRel::new_with_options(names, LIBRARY.parser);
        let statement = ast::Statement::Query(Box::new(query));
        let text = Some(Arc::new(Field::new("", DataType::Utf8, false)));
        let types = vec![text; parameter_count];
        let mut context = PlannerContext::new().with_prepare_param_data_types(types);
        planner.sql_statement_to_plan_with_context(statement, &mut context)
    };
    let kept = has_inner_query(&query).then(|| query.clone());
    let (error, mut query) = match (bind(query), kept) {
        (Err(error), Some(kept)) => (error, kept),
        (outcome, _) => return outcome,
    };
    let mut said = error.to_string();
    while let Some(relation) = hidden_relation(&said) {
        let renamed = with_relation_renamed(&query, &relation);
        if renamed == query {
            break;
        }
        query = renamed;
        match bind(query.clone()) {
            Ok(plan) => return Ok(plan),
            Err(other) => said = other.to_string(),
        }
    }
    Err(error)
}

/// The plan with the types of everything in it.
fn analyzed(plan: LogicalPlan) -> SqlResult<LogicalPlan> {
    let rules: [Arc<dyn AnalyzerRule + Send + Sync>; 9] = [
        Arc::new(crate::analyze::system::EmptySystemRelations),
        Arc::new(crate::analyze::system::subqueries::SystemSubqueries),
        Arc::new(crate::analyze::ordered_arguments::OrderedArguments),
        Arc::new(SingleRow),
        Arc::new(Typing),
        Arc::new(ExactSum),
        Arc::new(crate::analyze::grouping_sets::GroupingSets),
        Arc::new(TypeCoercion::new()),
        Arc::new(crate::analyze::zones::ZoneCasts),
    ];
    // The library's own loop would refuse subqueries that only we can unnest.
    let analyzed = rules.iter().try_fold(plan, |plan, rule| rule.analyze(plan, &LIBRARY.options));
    analyzed.map_err(from_library)
}

/// The plan with its types, and what is made of constants computed.
fn folded(plan: LogicalPlan) -> SqlResult<LogicalPlan> {
    let folded = constants::ExactConstants.analyze(analyzed(plan)?, &LIBRARY.options);
    // Behind all that may find a mistake in what is left out.
    let asked = folded.and_then(|plan| Existence.analyze(plan, &LIBRARY.options));
    asked.map_err(from_library)
}

/// Binds a query and looks at its types, but computes nothing.
pub(crate) fn check(query: ast::Query, catalog: &dyn Catalog) -> SqlResult<()> {
    guarded(|| analyzed(named(query, &Names::new(catalog))?).map(drop))
}

/// Binds a query whose parameters have no values, and finds their types.
pub(crate) fn inferred(
    query: ast::Query,
    catalog: &dyn Catalog,
    inference: &Inference,
) -> SqlResult<LogicalPlan> {
    guarded(|| {
        let plan = named(query, &Names::inferring(catalog, inference))?;
        crate::analyze::typing::inferred(plan, inference).map_err(from_library)
    })
}

/// The plan with the comparisons that are simpler since its parameters have values.
pub(crate) fn simplified(plan: LogicalPlan) -> SqlResult<LogicalPlan> {
    let config = Config { aliases: Arc::new(AliasGenerator::new()), values: None };
    run(vec![Arc::new(guarded_rules::simplified())], plan, &config)
}

/// Rules between two questions whether to go on: in debug builds each costs a check of the plan.
const RULES_PER_QUESTION: usize = 4;

fn run(rules: Vec<Rule>, plan: LogicalPlan, config: &Config) -> SqlResult<LogicalPlan> {
    let between = || Arc::new(BetweenRules) as Rule;
    let asked = rules.chunks(RULES_PER_QUESTION).flat_map(|some| [&[between()][..], some].concat());
    let rules: Vec<Rule> = asked.collect();
    Optimizer::with_rules(rules).optimize(plan, config, |_, _| {}).map_err(from_library)
}

/// What the rules may ask. Without a function registry, `DISTINCT ON` panics.
struct Config {
    aliases: Arc<AliasGenerator>,
    /// What stands for the parameters, where they stay.
    values: Option<Vec<String>>,
}

impl OptimizerConfig for Config {
    fn query_execution_start_time(&self) -> Option<chrono::DateTime<chrono::Utc>> {
        None
    }

    fn alias_generator(&self) -> &Arc<AliasGenerator> {
        &self.aliases
    }

    fn options(&self) -> Arc<ConfigOptions> {
        Arc::clone(&LIBRARY.options)
    }

    fn function_registry(&self) -> Option<&dyn FunctionRegistry> {
        Some(&LIBRARY.registry)
    }
}
