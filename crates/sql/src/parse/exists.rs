//! What `EXISTS` does not look at: the order of its rows, and window functions among their columns.

use std::ops::ControlFlow;

use datafusion_sql::sqlparser::ast::{
    Expr, Function, GroupByExpr, Query, Select, SelectItem, SetExpr, Value, Visit, Visitor,
};

use super::having::has_aggregate;
use super::rewrite::last_name;

/// Leaves it out, as PostgreSQL does: it costs, and the library joins such columns by names that are
/// no more.
pub(super) fn without_outputs(query: &mut Query) {
    let SetExpr::Select(select) = query.body.as_mut() else { return };
    if select.distinct.is_some() {
        return;
    }
    query.order_by = None;
    if is_row_by_row(select) && select.projection.iter().any(|item| calls(item, is_window)) {
        let one = Expr::value(Value::Number("1".into(), false));
        select.projection = vec![SelectItem::UnnamedExpr(one)];
    }
}

/// Whether it is not the columns that decide how many rows there are.
fn is_row_by_row(select: &Select) -> bool {
    let is_grouped =
        !matches!(&select.group_by, GroupByExpr::Expressions(keys, _) if keys.is_empty());
    let counts = |item: &SelectItem| has_aggregate(item) || calls(item, is_set_function);
    !is_grouped && select.having.is_none() && !select.projection.iter().any(counts)
}

fn calls(item: &SelectItem, is_such: fn(&Function) -> bool) -> bool {
    item.visit(&mut Calls(is_such)).is_break()
}

fn is_window(function: &Function) -> bool {
    function.over.is_some()
}

/// Those with names of their own have become arguments of this one.
fn is_set_function(function: &Function) -> bool {
    last_name(&function.name) == "unnest"
}

/// Stops at a call of this kind.
struct Calls(fn(&Function) -> bool);

impl Visitor for Calls {
    type Break = ();

    fn pre_visit_expr(&mut self, expr: &Expr) -> ControlFlow<()> {
        match expr {
            Expr::Function(function) if self.0(function) => ControlFlow::Break(()),
            _ => ControlFlow::Continue(()),
        }
    }
}
