//! Qualified columns in `ORDER BY` whose name an output has too: `SELECT upper(t.name) AS name FROM t
//! ORDER BY t.name`. The library finds such a name ambiguous, so the output takes another meanwhile.

use std::ops::ControlFlow;

use datafusion_sql::sqlparser::ast::{
    Expr, Ident, OrderByExpr, OrderByKind, Query, SelectItem, SetExpr, Value, visit_expressions,
};

use super::APART;
use crate::parse::identifier;

/// Sets such outputs of the outermost query apart; who names one alone in `ORDER BY` means the output,
/// and then its position.
pub(crate) fn set_outputs_apart(query: &mut Query) {
    let SetExpr::Select(select) = query.body.as_mut() else { return };
    let Some(order_by) = &mut query.order_by else { return };
    let OrderByKind::Expressions(keys) = &mut order_by.kind else { return };
    let mut qualified = vec![];
    keys.iter().for_each(|key| qualified_names(&key.expr, &mut qualified));
    for (position, item) in select.projection.iter_mut().enumerate() {
        let SelectItem::ExprWithAlias { expr, alias } = item else { continue };
        let name = identifier(alias);
        if !qualified.contains(&name) || is_column(expr, &name) {
            continue;
        }
        *alias = Ident::with_quote('"', format!("{name}{APART}"));
        keys.iter_mut().for_each(|key| by_position(key, &name, position));
    }
}

/// The last parts of names with several.
fn qualified_names(expr: &Expr, found: &mut Vec<String>) {
    // The visit itself never stops.
    let _ = visit_expressions(expr, |e| {
        if let Expr::CompoundIdentifier(parts) = e {
            found.extend(parts.last().map(identifier));
        }
        ControlFlow::<()>::Continue(())
    });
}

/// Whether an output is the very column: then the name means one thing.
fn is_column(expr: &Expr, name: &str) -> bool {
    match expr {
        Expr::CompoundIdentifier(parts) => parts.last().map(identifier).as_deref() == Some(name),
        Expr::Identifier(ident) => identifier(ident) == name,
        _ => false,
    }
}

fn by_position(key: &mut OrderByExpr, name: &str, position: usize) {
    if matches!(&key.expr, Expr::Identifier(ident) if identifier(ident) == name) {
        key.expr = Expr::Value(Value::Number((position + 1).to_string(), false).into());
    }
}
