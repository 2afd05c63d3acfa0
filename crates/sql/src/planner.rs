//! From a parsed query to a physical plan.

use std::sync::Arc;

use arrow_schema::{Field, Schema, SchemaRef};
use plan::Plan;
use types::SqlResult;
use types::described::{Origin, with_origin};

use crate::catalog::Catalog;
use crate::error::guarded;
use crate::options::PlannerOptions;
use crate::parse::statement::query::Query;
use crate::quote::unspelled::shown;
use crate::rewrite::steps::rewrite;

/// Plans a query against a catalog.
///
/// Errors: 42P01, 42703, 42702, 42803, 42804, 42883 for names and types that do not fit, 0A000 for
/// what the engine cannot run, and the errors of constants that cannot be computed.
pub fn plan_query(
    query: &Query,
    catalog: &dyn Catalog,
    options: &PlannerOptions,
) -> SqlResult<Plan> {
    let mut ast = query.ast.as_ref().clone();
    let names = rewrite(&mut ast, catalog)?;
    let logical = crate::optimize::query::optimized(ast, catalog, options)?;
    let shared = logical.shared.into_iter().map(|shared| shared.node).collect();
    let physical = || crate::physical::plan(&logical.plan, shared, options);
    Ok(named(guarded::guarded(physical)?, names, &logical.origins))
}

/// The plan with the names that clients see, and where its columns come from.
pub(crate) fn named(mut plan: Plan, names: Option<Vec<String>>, origins: &[Origin]) -> Plan {
    let width = plan.root.schema.fields().len();
    let names = names.filter(|n| n.len() == width).unwrap_or_else(|| {
        let fields = plan.root.schema.fields().iter();
        fields.map(|f| shown(f.name()).into_owned()).collect()
    });
    let root = Arc::get_mut(&mut plan.root).expect("who makes a plan is alone with it");
    root.schema = described(&root.schema, names, origins);
    plan
}

/// The schema with the names that clients see, and where its columns come from.
fn described(schema: &Schema, names: Vec<String>, origins: &[Origin]) -> SchemaRef {
    let fields = schema.fields().iter().zip(names).enumerate();
    let described = fields.map(|(i, (field, name))| {
        let plain = Field::new(name, field.data_type().clone(), field.is_nullable());
        let origin =
            if origins.len() == schema.fields().len() { origins[i] } else { Origin::default() };
        with_origin(plain, origin)
    });
    Arc::new(Schema::new(described.collect::<Vec<_>>()))
}
