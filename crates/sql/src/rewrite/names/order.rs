//! Qualified columns in `ORDER BY` whose name an output has too: `SELECT upper(t.name) AS name FROM t
//! ORDER BY t.name`. The library finds such a name ambiguous, so the output takes another meanwhile: in
//! the outermost query until its result is named, in others within a query around it.

use std::ops::ControlFlow;

use datafusion_sql::sqlparser::ast::{
    Distinct, Expr, Ident, OrderByExpr, OrderByKind, Query, SelectItem, SetExpr, TableFactor, Value,
};

use crate::parse::expressions::parsed_query;
use crate::parse::object_name::identifier;
use crate::quote::unspelled::apart;
use crate::rewrite::names::item_name;
use crate::walk::visit_expressions;

/// Sets such outputs of the outermost query apart; who names one alone in `ORDER BY` means the output,
/// and then its position.
pub(crate) fn set_outputs_apart(query: &mut Query) {
    let SetExpr::Select(select) = query.body.as_mut() else { return };
    let Some(order_by) = &mut query.order_by else { return };
    let OrderByKind::Expressions(keys) = &mut order_by.kind else { return };
    let qualified = qualified_names(keys);
    for (position, item) in select.projection.iter_mut().enumerate() {
        let SelectItem::ExprWithAlias { expr, alias } = item else { continue };
        let name = identifier(alias);
        if !is_other(&qualified, expr, &name) {
            continue;
        }
        *alias = Ident::with_quote('"', apart(&name, 1));
        keys.iter_mut().for_each(|key| by_position(key, &name, position));
    }
}

/// Does the same to a query inside of another, to which its outputs are known by their names.
pub(crate) fn wrap_clashing(query: &mut Query) {
    if !clashes(query) {
        return;
    }
    let SetExpr::Select(select) = query.body.as_mut() else { return };
    let Some(OrderByKind::Expressions(keys)) = query.order_by.as_mut().map(|by| &mut by.kind)
    else {
        return;
    };
    let (mut outputs, is_distinct) = (vec![], select.distinct.is_some());
    // A name alone is an output's before it is a column's.
    for (position, item) in select.projection.iter().enumerate() {
        keys.iter_mut().for_each(|key| by_position(key, &item_name(item), position));
    }
    for (position, item) in select.projection.iter_mut().enumerate() {
        let name = item_name(item);
        let inner = Ident::with_quote('"', apart("", position));
        let (SelectItem::UnnamedExpr(expr) | SelectItem::ExprWithAlias { expr, .. }) = &*item
        else {
            return;
        };
        let expr = expr.clone();
        // Rows that are taken once are ordered by their outputs only. A number is a place already.
        let is_same = |key: &&mut OrderByExpr| key.expr == expr && !is_value(&key.expr);
        let repeated = keys.iter_mut().filter(|key| is_distinct && is_same(key));
        repeated.for_each(|key| key.expr = place(position));
        *item = SelectItem::ExprWithAlias { expr, alias: inner.clone() };
        let alias = Ident::with_quote('"', name);
        outputs.push(SelectItem::ExprWithAlias { expr: Expr::Identifier(inner), alias });
    }
    let Ok(mut around) = parsed_query("select 1 from (select 1) as t") else { return };
    let inside = std::mem::replace(query, around.clone());
    if let SetExpr::Select(select) = around.body.as_mut() {
        select.projection = outputs;
        if let Some(TableFactor::Derived { subquery, .. }) =
            select.from.first_mut().map(|from| &mut from.relation)
        {
            **subquery = inside;
        }
    }
    *query = around;
}

/// Whether a qualified name in `ORDER BY` is that of another output too, and all outputs have names.
fn clashes(query: &Query) -> bool {
    let SetExpr::Select(select) = query.body.as_ref() else { return false };
    let Some(OrderByKind::Expressions(keys)) = query.order_by.as_ref().map(|by| &by.kind) else {
        return false;
    };
    let qualified = qualified_names(keys);
    let is_plain = |item: &SelectItem| {
        matches!(item, SelectItem::UnnamedExpr(_) | SelectItem::ExprWithAlias { .. })
    };
    let is_other = |item: &SelectItem| match item {
        SelectItem::ExprWithAlias { expr, alias } => is_other(&qualified, expr, &identifier(alias)),
        _ => false,
    };
    query.locks.is_empty()
        && !matches!(select.distinct, Some(Distinct::On(_)))
        && select.projection.iter().all(is_plain)
        && select.projection.iter().any(is_other)
}

/// The names of several parts in the keys.
fn qualified_names(keys: &[OrderByExpr]) -> Vec<Vec<String>> {
    let mut found = vec![];
    for key in keys {
        // The visit itself never stops.
        let _ = visit_expressions(&key.expr, |e| {
            if let Expr::CompoundIdentifier(parts) = e {
                found.push(parts.iter().map(identifier).collect());
            }
            ControlFlow::<()>::Continue(())
        });
    }
    found
}

/// Whether one of the qualified names ends like an output's and is another column, or may be.
fn is_other(qualified: &[Vec<String>], output: &Expr, name: &str) -> bool {
    let mut same = qualified.iter().filter(|parts| parts.last().is_some_and(|last| last == name));
    match output {
        Expr::CompoundIdentifier(own) => {
            let own: Vec<String> = own.iter().map(identifier).collect();
            same.any(|parts| *parts != own)
        }
        Expr::Identifier(ident) => identifier(ident) != name && same.next().is_some(),
        _ => same.next().is_some(),
    }
}

pub(crate) fn by_position(key: &mut OrderByExpr, name: &str, position: usize) {
    let mut named = &key.expr;
    while let Expr::Nested(inner) = named {
        named = inner;
    }
    if matches!(named, Expr::Identifier(ident) if identifier(ident) == name) {
        key.expr = place(position);
    }
}

fn is_value(expr: &Expr) -> bool {
    matches!(expr, Expr::Value(_))
}

/// An output, counted from 0, as `ORDER BY` has it.
fn place(position: usize) -> Expr {
    Expr::Value(Value::Number((position + 1).to_string(), false).into())
}
