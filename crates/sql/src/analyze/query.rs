//! Queries as bound plans: the one way from a syntax tree to names and types.

use std::sync::Arc;

use arrow_schema::{DataType, Field};
use datafusion_common::DataFusionError;
use datafusion_common::tree_node::TreeNodeRecursion;
use datafusion_expr::LogicalPlan;
use datafusion_optimizer::AnalyzerRule;
use datafusion_optimizer::analyzer::type_coercion::TypeCoercion;
use datafusion_sql::planner::{PlannerContext, SqlToRel};
use datafusion_sql::sqlparser::ast;
use types::described::Origin;
use types::{SqlError, SqlResult, SqlState};

use crate::analyze::exact_sum::ExactSum;
use crate::analyze::inference::Inference;
use crate::analyze::long_conditions::LongConditions;
use crate::analyze::names::Names;
use crate::analyze::single_row::SingleRow;
use crate::analyze::system::subqueries;
use crate::analyze::typing::Typing;
use crate::analyze::{grouping_sets, no_columns, ordered_arguments, origin, system, typing, zones};
use crate::catalog::Catalog;
use crate::catalog::missing::with_nearest;
use crate::error::from_library;
use crate::error::guarded::guarded;
use crate::functions::library::LIBRARY;
use crate::rewrite::names::{has_inner_query, hidden_relation, with_relation_renamed};
use crate::walk::nodes::erased_ref;

pub(crate) fn bind(
    query: ast::Query,
    catalog: &dyn Catalog,
    parameter_count: usize,
) -> SqlResult<(LogicalPlan, Vec<Origin>)> {
    let names = Names::with_parameters(catalog, parameter_count);
    let plan = named(query, &names)?;
    no_columns::check(&plan)?;
    let mut origins = origin::origins(&plan, catalog);
    let plan = origin::show_names(plan, &mut origins, catalog).map_err(from_library)?;
    no_columns::without_stand_ins(plan, origins).map_err(from_library)
}

fn named(query: ast::Query, names: &Names<'_>) -> SqlResult<LogicalPlan> {
    bound(query, names).map_err(|error| with_nearest(names.catalog, from_library(error)))
}

/// Most nodes of a plan before any rule has run: names of views and of queries of `WITH` that
/// double at each level would make one that no machine holds. A thousand names of views and more
/// fit.
const NODES_MAX: usize = 50_000;

/// The query as the library binds it, with parameters that are texts, as literals in quotes are;
/// outer relations that inner columns hide are named anew. Errors: those of binding, 54001 for a
/// plan of too many nodes.
pub(crate) fn bound(query: ast::Query, names: &Names<'_>) -> Result<LogicalPlan, DataFusionError> {
    let plan = bound_of_any_size(query, names)?;
    let mut count = 0;
    plan.apply_with_subqueries(erased_ref(&mut |_: &LogicalPlan| {
        count += 1;
        Ok(if count > NODES_MAX { TreeNodeRecursion::Stop } else { TreeNodeRecursion::Continue })
    }))?;
    if count <= NODES_MAX {
        return Ok(plan);
    }
    let message = "the query has too many parts with those of the views and queries that it names";
    let error = SqlError::new(SqlState("54001"), message)
        .with_hint("Keep what is named more than once in a temporary table.");
    Err(DataFusionError::External(Box::new(error)))
}

fn bound_of_any_size(query: ast::Query, names: &Names<'_>) -> Result<LogicalPlan, DataFusionError> {
    let bind = |query: ast::Query| {
        let planner = SqlToRel::new_with_options(names, LIBRARY.parser);
        let statement = ast::Statement::Query(Box::new(query));
        let text = Some(Arc::new(Field::new("", DataType::Utf8, false)));
        let types = vec![text; names.parameter_count];
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
pub(crate) fn analyzed(plan: LogicalPlan) -> SqlResult<LogicalPlan> {
    let rules: [Arc<dyn AnalyzerRule + Send + Sync>; 10] = [
        Arc::new(system::EmptySystemRelations),
        Arc::new(subqueries::SystemSubqueries),
        Arc::new(ordered_arguments::OrderedArguments),
        Arc::new(SingleRow),
        Arc::new(Typing),
        Arc::new(LongConditions),
        Arc::new(ExactSum),
        Arc::new(grouping_sets::GroupingSets),
        Arc::new(TypeCoercion::new()),
        Arc::new(zones::ZoneCasts),
    ];
    // The library's own loop would refuse subqueries that only we can unnest.
    let analyzed = rules.iter().try_fold(plan, |plan, rule| rule.analyze(plan, &LIBRARY.options));
    analyzed.map_err(from_library)
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
        typing::inferred(plan, inference).map_err(from_library)
    })
}
