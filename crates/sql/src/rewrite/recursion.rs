//! Queries of `WITH RECURSIVE`. The library takes each `UNION` among them for a recursion, and forgets what stands
//! around it: an order, a limit, queries of its own.

use std::ops::ControlFlow;

use datafusion_sql::sqlparser::ast::{Cte, Ident, Query, SetExpr, SetOperator};
use types::{SqlError, SqlResult};

use crate::walk::visit_relations;

/// Puts a `UNION` that names itself nowhere in parentheses, which makes it a query like others.
///
/// # Errors
/// 0A000 for an order or a limit of a recursion.
pub(crate) fn apart(query: &mut Query) -> SqlResult<()> {
    let Some(with) = query.with.as_mut().filter(|with| with.recursive) else { return Ok(()) };
    with.cte_tables.iter_mut().try_for_each(one_apart)
}

fn one_apart(cte: &mut Cte) -> SqlResult<()> {
    let query = cte.query.as_mut();
    let is_union = matches!(&*query.body, SetExpr::SetOperation { op: SetOperator::Union, .. });
    let is_limited = query.limit_clause.is_some() || query.fetch.is_some();
    if !is_union || !is_limited && query.order_by.is_none() && query.with.is_none() {
        return Ok(());
    }
    if names(query, &cte.alias.name) {
        let refused = |what| {
            SqlError::unsupported(format!("{what} in a recursive query"))
                .with_hint("Write it where the query is named.")
        };
        return match (is_limited, &query.order_by) {
            (true, _) => Err(refused("LIMIT")),
            (_, Some(_)) => Err(refused("ORDER BY")),
            _ => Ok(()),
        };
    }
    let inner = query.clone();
    *query.body = SetExpr::Query(Box::new(inner));
    (query.with, query.order_by, query.limit_clause, query.fetch) = (None, None, None, None);
    Ok(())
}

/// Whether a query names a relation of this name.
fn names(query: &Query, name: &Ident) -> bool {
    let folded = |ident: &Ident| match ident.quote_style {
        Some(_) => ident.value.clone(),
        None => ident.value.to_lowercase(),
    };
    visit_relations(query, |relation| match relation.0.as_slice() {
        [part] if part.as_ident().is_some_and(|ident| folded(ident) == folded(name)) => {
            ControlFlow::Break(())
        }
        _ => ControlFlow::Continue(()),
    })
    .is_break()
}
