//! `VALUES`: one type for a column, queries as values.

use std::ops::ControlFlow;
use std::sync::Arc;

use datafusion_sql::sqlparser::ast::{
    DataType, Expr, Ident, Parens, Query, SelectItem, SetExpr, SetOperator, SetQuantifier, Visitor,
};
use types::SqlResult;

use crate::parse::dml::row_query;
use crate::parse::expressions::cast_as;
use crate::rewrite::common_type;
use crate::rewrite::common_type::Column;
use crate::walk::Walk;

/// Each row that becomes a query of its own costs a part of a millisecond.
const BOUND_ONE_BY_ONE_MAX: usize = 64;

/// `VALUES (..), (..)` as `SELECT .. UNION ALL SELECT ..` where a value is a query's: the library computes
/// rows of values without any other rows at hand.
pub(crate) fn as_selects(query: &mut Query) -> SqlResult<()> {
    let SetExpr::Values(values) = query.body.as_mut() else { return Ok(()) };
    let is_open = give_types(&mut values.rows)?;
    if !is_open && values.walk(&mut Queries).is_continue() {
        return Ok(());
    }
    let selects = values.rows.iter().map(|row| select(&row.content));
    *query.body = union_all(selects.collect::<SqlResult<_>>()?);
    Ok(())
}

/// Gives values the type that those of their column have in common: `VALUES (1::smallint), (2)`, `VALUES
/// (date '2020-01-01'), ('2021-01-01')`. The library would take whole numbers for `bigint`. Says whether it
/// is left to the binder, and the rows are few enough to be bound one by one.
fn give_types(rows: &mut [Parens<Vec<Expr>>]) -> SqlResult<bool> {
    let mut is_open = false;
    for column in 0..rows.first().map_or(0, |row| row.content.len()) {
        match common_type::of_column(rows.iter().filter_map(|row| row.content.get(column)))? {
            Column::Plain => {}
            Column::Cast(ty) => {
                let values = rows.iter_mut().filter_map(|row| row.content.get_mut(column));
                for value in values.filter(|value| !is_cast_to(value, &ty)) {
                    *value = cast_as(value.clone(), ty.clone());
                }
            }
            Column::Unknown => is_open |= rows.len() > 1,
        }
    }
    Ok(is_open && rows.len() <= BOUND_ONE_BY_ONE_MAX)
}

fn is_cast_to(value: &Expr, ty: &DataType) -> bool {
    matches!(value, Expr::Cast { data_type, .. } if data_type == ty)
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
    let mut body = *Arc::unwrap_or_clone(row_query(row.to_vec())?.ast).body;
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
