//! The rewrites of a statement in their order.

use datafusion_sql::sqlparser::ast;
use types::SqlResult;

use crate::catalog::Catalog;

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
