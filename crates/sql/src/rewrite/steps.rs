//! The rewrites of a statement in their order.

use datafusion_sql::sqlparser::ast;
use types::SqlResult;

use crate::catalog::Catalog;
use crate::rewrite::{calls, clock, names, query, system};

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
    first_moment: Option<usize>,
) -> SqlResult<Option<Vec<String>>> {
    names::set_nested_apart(ast);
    names::wrap_unnested(ast);
    let outputs = names::name_outputs(ast);
    names::set_apart(ast);
    names::set_outputs_apart(ast);
    system::rewrite(ast);
    moments(ast, catalog, first_moment);
    query::rewrite(ast, catalog)?;
    names::name_inner_outputs(ast);
    calls::prepare(ast, catalog)?;
    Ok(outputs)
}

fn moments(ast: &mut ast::Query, catalog: &dyn Catalog, first: Option<usize>) {
    match first {
        Some(first) => clock::as_parameters(ast, first),
        None => clock::rewrite(ast, catalog),
    }
}

/// The same of the query of a view: what only a statement shows is left to the one that names the view.
pub(crate) fn of_view(
    ast: &mut ast::Query,
    catalog: &dyn Catalog,
    first_moment: Option<usize>,
) -> SqlResult<Option<Vec<String>>> {
    names::set_nested_apart(ast);
    names::wrap_unnested(ast);
    let outputs = names::name_outputs(ast);
    moments(ast, catalog, first_moment);
    query::rewrite(ast, catalog)?;
    names::name_inner_outputs(ast);
    calls::prepare(ast, catalog)?;
    Ok(outputs)
}

/// The same of a query around one expression, whose outputs nobody sees.
pub(crate) fn of_expression(ast: &mut ast::Query, catalog: &dyn Catalog) -> SqlResult<()> {
    system::rewrite(ast);
    clock::rewrite(ast, catalog);
    query::rewrite(ast, catalog)?;
    calls::prepare(ast, catalog)
}
