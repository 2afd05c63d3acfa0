//! From a parsed query to a physical plan.

use types::SqlResult;

use crate::catalog::Catalog;
use crate::options::PlannerOptions;
use crate::parse::Query;
use crate::plan::Plan;

/// Plans a query against a catalog.
///
/// Errors: 42P01, 42703, 42702, 42803, 42804, 42883 for names and types that do not fit, 0A000 for
/// what the engine cannot run, and the errors of constants that cannot be computed.
pub fn plan_query(
    query: &Query,
    catalog: &dyn Catalog,
    options: &PlannerOptions,
) -> SqlResult<Plan> {
    let logical = crate::logical::optimized(query, catalog, options)?;
    crate::physical::plan(&logical, options)
}
