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
    let selects = values.rows.iter().map(|row| select(&row.content));
    *query.body = union_all(selects.collect::<SqlResult<_>>()?);
    Ok(())
}

/// At least one select; as flat a tree as can be, for planning recurses over it.
fn union_all(mut selects: Vec<SetExpr>) -> SetExpr {
    let right = selects.split_off(selects.len().div_ceil(2));
    match (selects.pop(), right.is_empty()) {
        (Some(one), true) => one,
        (last, _) => {
            selects.extend(last);
            SetExpr::SetOperation {
                op: SetOperator::Union,
                set_quantifier: SetQuantifier::All,
                left: Box::new(union_all(selects)),
                right: Box::new(union_all(right)),
            }
        }
    }
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
