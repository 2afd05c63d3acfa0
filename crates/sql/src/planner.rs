//! From a parsed query to a physical plan.

use std::sync::Arc;

use arrow_schema::{Field, Schema, SchemaRef};
use datafusion_sql::sqlparser::ast;
use types::SqlResult;
use types::described::{Origin, with_origin};

use crate::catalog::Catalog;
use crate::options::PlannerOptions;
use crate::parse::statement::query::Query;
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
    let mut ast = query.ast.as_ref().clone();
    let names = rewrite(&mut ast, catalog)?;
    let logical = crate::logical::optimized(ast, catalog, options)?;
    let physical = || crate::physical::plan(&logical.plan, logical.shared, options);
    Ok(named(crate::error::guarded::guarded(physical)?, names, &logical.origins))
}

/// The plan with the names that clients see, and where its columns come from.
pub(crate) fn named(mut plan: Plan, names: Option<Vec<String>>, origins: &[Origin]) -> Plan {
    let width = plan.root.schema.fields().len();
    let names = names.filter(|n| n.len() == width).unwrap_or_else(|| {
        let fields = plan.root.schema.fields().iter();
        fields.map(|f| f.name().trim_end_matches(crate::rewrite::names::APART).to_owned()).collect()
    });
    plan.root.schema = described(&plan.root.schema, names, origins);
    plan
}

/// Writes a query in the words that the library's binder knows; the names of its outputs, where it says
/// them.
pub(crate) fn rewrite(
    ast: &mut ast::Query,
    catalog: &dyn Catalog,
) -> SqlResult<Option<Vec<String>>> {
    rewrite_with(ast, catalog, None)
}

/// The same; functions of the clock become parameters from this number on, if there is one.
pub(crate) fn rewrite_with(
    ast: &mut ast::Query,
    catalog: &dyn Catalog,
    clock: Option<usize>,
) -> SqlResult<Option<Vec<String>>> {
    crate::rewrite::names::set_nested_apart(ast);
    crate::rewrite::names::wrap_unnested(ast);
    let names = crate::rewrite::names::name_outputs(ast);
    crate::rewrite::names::set_apart(ast);
    crate::rewrite::names::set_outputs_apart(ast);
    crate::rewrite::system::rewrite(ast);
    match clock {
        Some(first) => crate::rewrite::clock::as_parameters(ast, first),
        None => crate::rewrite::clock::rewrite(ast, catalog),
    }
    crate::rewrite::query::rewrite(ast, catalog)?;
    crate::rewrite::names::name_inner_outputs(ast);
    crate::rewrite::calls::prepare(ast, catalog)?;
    Ok(names)
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
