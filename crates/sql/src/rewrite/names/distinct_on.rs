//! The keys of `DISTINCT ON` as the library wants them: each once, in the order of `ORDER BY`, which has
//! all of them.

use datafusion_sql::sqlparser::ast::{
    Distinct, Expr, OrderByExpr, OrderByKind, OrderByOptions, Query, SelectItem, SetExpr, Value,
};

use crate::parse::object_name;

/// Puts them so where PostgreSQL takes them: the first keys of `ORDER BY` have to be those of
/// `DISTINCT ON`, in any order, and may be fewer.
pub(crate) fn in_order(query: &mut Query) {
    let SetExpr::Select(select) = query.body.as_mut() else { return };
    let Some(Distinct::On(keys)) = &mut select.distinct else { return };
    let items = &select.projection;
    // Each as it is written, but for numbers, and what it means.
    let mut once: Vec<(Expr, Expr)> = vec![];
    for key in keys.drain(..) {
        let meaning = meant(&key, items);
        if !once.iter().any(|(_, known)| *known == meaning) {
            let written = if matches!(key, Expr::Value(_)) { meaning.clone() } else { key };
            once.push((written, meaning));
        }
    }
    if let Some(order_by) = &mut query.order_by
        && let OrderByKind::Expressions(order) = &mut order_by.kind
    {
        put_in_order(&mut once, order, items);
    }
    *keys = once.into_iter().map(|(written, _)| written).collect();
}

/// Puts keys in the order of `ORDER BY`, and those that it has not behind it.
fn put_in_order(keys: &mut [(Expr, Expr)], order: &mut Vec<OrderByExpr>, items: &[SelectItem]) {
    let ordered: Vec<Expr> = order.iter().map(|o| meant(&o.expr, items)).collect();
    let is_key = |expr: &&Expr| keys.iter().any(|(_, meaning)| meaning == *expr);
    let leading: Vec<&Expr> = ordered.iter().take_while(is_key).collect();
    let place = |(_, meaning): &(Expr, Expr)| leading.iter().position(|e| *e == meaning);
    if leading.len() < ordered.len() && keys.iter().any(|key| place(key).is_none()) {
        // Refused by the library.
        return;
    }
    let added = keys.iter().filter(|key| place(key).is_none()).map(|(written, _)| OrderByExpr {
        expr: written.clone(),
        options: OrderByOptions { asc: None, nulls_first: None },
        with_fill: None,
    });
    order.extend(added);
    keys.sort_by_key(|key| place(key).unwrap_or(usize::MAX));
}

/// The output that a number or a name means; any other key as it is.
fn meant(key: &Expr, items: &[SelectItem]) -> Expr {
    let of_item = |item: &SelectItem| match item {
        SelectItem::UnnamedExpr(expr) | SelectItem::ExprWithAlias { expr, .. } => {
            Some(expr.clone())
        }
        _ => None,
    };
    let named = |name: &str| {
        items.iter().find_map(|item| match item {
            SelectItem::ExprWithAlias { expr, alias } if object_name::identifier(alias) == name => {
                Some(expr.clone())
            }
            _ => None,
        })
    };
    let found = match key {
        Expr::Value(value) => match &value.value {
            Value::Number(digits, _) => digits
                .parse::<usize>()
                .ok()
                .and_then(|n| items.get(n.checked_sub(1)?))
                .and_then(of_item),
            _ => None,
        },
        Expr::Identifier(ident) => named(&object_name::identifier(ident)),
        _ => None,
    };
    found.unwrap_or_else(|| key.clone())
}
