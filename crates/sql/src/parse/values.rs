//! `VALUES` with queries inside.

use std::ops::ControlFlow;

use datafusion_sql::sqlparser::ast::{
    Expr, Ident, Query, SelectItem, SetExpr, SetOperator, SetQuantifier, Visit, Visitor,
};
use types::SqlResult;

use super::row_query;

/// `VALUES (..), (..)` as `SELECT .. UNION ALL SELECT ..` where a value is a query's: the library computes
/// rows of values without any other rows at hand.
pub(super) fn as_selects(query: &mut Query) -> SqlResult<()> {
    let SetExpr::Values(values) = query.body.as_ref() else { return Ok(()) };
    if values.visit(&mut Queries).is_continue() {
        return Ok(());
    }
    let mut selects = values.rows.iter().map(|row| select(&row.content));
    let Some(first) = selects.next().transpose()? else { return Ok(()) };
    let all = selects.try_fold(first, |left, right| -> SqlResult<SetExpr> {
        Ok(SetExpr::SetOperation {
            op: SetOperator::Union,
            set_quantifier: SetQuantifier::All,
            left: Box::new(left),
            right: Box::new(right?),
        })
    })?;
    *query.body = all;
    Ok(())
}

fn select(row: &[Expr]) -> SqlResult<SetExpr> {
    let mut body = *row_query(row.to_vec())?.ast.body;
    if let SetExpr::Select(select) = &mut body {
        for (i, item) in select.projection.iter_mut().enumerate() {
            if let SelectItem::UnnamedExpr(expr) = item {
                let alias = Ident::new(format!("column{}", i + 1));
                *item = SelectItem::ExprWithAlias { expr: expr.clone(), alias };
            }
        }
    }
    Ok(body)
}

/// Stops at a query.
struct Queries;

impl Visitor for Queries {
    type Break = ();

    fn pre_visit_query(&mut self, _query: &Query) -> ControlFlow<()> {
        ControlFlow::Break(())
    }
}
