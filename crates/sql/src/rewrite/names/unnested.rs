//! Outputs beside a function of rows that have the name of a column which is read: `SELECT unnest(t.a), t.k + 1 AS k
//! FROM t`. The library has both of them below the function's rows and finds the name ambiguous. So outputs have
//! names of their own there, and theirs in a query around it.

use std::ops::ControlFlow;

use datafusion_sql::sqlparser::ast::{
    Distinct, Expr, Ident, ObjectNamePart, OrderByKind, Query, Select, SelectItem, SetExpr,
    TableFactor, VisitorMut,
};

use crate::parse::expressions::parsed_query;
use crate::parse::object_name::identifier;
use crate::parse::set_functions::SET_FUNCTIONS;
use crate::quote::unspelled::apart;
use crate::rewrite::names::item_name;
use crate::walk::{WalkMut, visit_expressions};

/// Wraps such queries, wherever they stand.
pub(crate) fn wrap_unnested(query: &mut Query) {
    // The visit itself never stops.
    let _ = query.walk_mut(&mut Unnested);
}

struct Unnested;

impl VisitorMut for Unnested {
    type Break = ();

    fn post_visit_query(&mut self, query: &mut Query) -> ControlFlow<()> {
        if is_ordered_by_outputs(query) {
            wrap(&mut query.body);
        }
        ControlFlow::Continue(())
    }
}

fn wrap(body: &mut SetExpr) {
    match body {
        SetExpr::Select(select) if clashes(select) => {
            if let Some(around) = around(select) {
                *body = around;
            }
        }
        SetExpr::SetOperation { left, right, .. } => {
            wrap(left);
            wrap(right);
        }
        _ => {}
    }
}

/// Whether rows are ordered by nothing but outputs, which are known outside, too.
fn is_ordered_by_outputs(query: &Query) -> bool {
    let (SetExpr::Select(select), Some(order_by)) = (query.body.as_ref(), &query.order_by) else {
        return true;
    };
    let OrderByKind::Expressions(keys) = &order_by.kind else { return false };
    let is_output = |name: &str| select.projection.iter().any(|item| item_name(item) == name);
    keys.iter().all(|key| match &key.expr {
        Expr::Value(_) => true,
        Expr::Identifier(ident) => is_output(&identifier(ident)),
        _ => false,
    })
}

/// Whether a computed output has the name of a column that is read beside a function of rows.
fn clashes(select: &Select) -> bool {
    let (mut read, mut is_unnested) = (vec![], false);
    for item in &select.projection {
        let (SelectItem::UnnamedExpr(expr) | SelectItem::ExprWithAlias { expr, .. }) = item else {
            return false;
        };
        is_unnested |= reads(expr, &mut read);
    }
    let is_other = |item: &SelectItem| match item {
        SelectItem::UnnamedExpr(expr) | SelectItem::ExprWithAlias { expr, .. } => {
            let is_column = matches!(expr, Expr::Identifier(_) | Expr::CompoundIdentifier(_));
            !is_column && read.contains(&item_name(item))
        }
        _ => false,
    };
    is_unnested
        && !matches!(select.distinct, Some(Distinct::On(_)))
        && select.projection.iter().any(is_other)
}

/// Adds the names of the columns that are read; whether a function is called that gives rows.
fn reads(expr: &Expr, names: &mut Vec<String>) -> bool {
    let mut is_unnested = false;
    // The visit itself never stops.
    let _ = visit_expressions(expr, |e| {
        match e {
            Expr::Identifier(ident) => names.push(identifier(ident)),
            Expr::CompoundIdentifier(parts) => names.extend(parts.last().map(identifier)),
            Expr::Function(function) => {
                let last = function.name.0.last().and_then(ObjectNamePart::as_ident);
                is_unnested |= last.map(identifier).is_some_and(|name| gives_rows(&name));
            }
            _ => {}
        }
        ControlFlow::<()>::Continue(())
    });
    is_unnested
}

fn gives_rows(function: &str) -> bool {
    function == "unnest" || SET_FUNCTIONS.iter().any(|(name, _)| *name == function)
}

/// The query around one whose outputs get other names.
fn around(select: &mut Select) -> Option<SetExpr> {
    let mut outputs = vec![];
    for (position, item) in select.projection.iter_mut().enumerate() {
        let (SelectItem::UnnamedExpr(expr) | SelectItem::ExprWithAlias { expr, .. }) = &*item
        else {
            return None;
        };
        let (expr, name) = (expr.clone(), item_name(item));
        let inner = Ident::with_quote('"', apart("", position));
        *item = SelectItem::ExprWithAlias { expr, alias: inner.clone() };
        let alias = Ident::with_quote('"', name);
        outputs.push(SelectItem::ExprWithAlias { expr: Expr::Identifier(inner), alias });
    }
    let mut around = parsed_query("select 1 from (select 1) as t").ok()?;
    let SetExpr::Select(outer) = around.body.as_mut() else { return None };
    outer.projection = outputs;
    let TableFactor::Derived { subquery, .. } = &mut outer.from.first_mut()?.relation else {
        return None;
    };
    *subquery.body = SetExpr::Select(Box::new(select.clone()));
    Some(*around.body)
}
