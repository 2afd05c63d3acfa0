//! `t.tableoid`, the oid of the relation that a row is of: no relation has it as a column.

use std::ops::ControlFlow;

use datafusion_sql::sqlparser::ast::{
    Expr, Query, Select, TableFactor, TableWithJoins, Value, VisitMut, VisitorMut,
};
use stdx::HashMap;

use super::{Never, call};
use crate::parse::identifier;

/// Puts the oid of the relation in place of the column.
pub(super) fn replace(query: &mut Query) {
    let ControlFlow::Continue(()) = query.visit(&mut Replace { scopes: vec![] });
}

/// Relations by the names that a `SELECT` and those around it give them, the innermost last.
struct Replace {
    scopes: Vec<HashMap<String, String>>,
}

impl VisitorMut for Replace {
    type Break = Never;

    fn pre_visit_select(&mut self, select: &mut Select) -> ControlFlow<Never> {
        self.scopes.push(select.from.iter().flat_map(relations).collect());
        ControlFlow::Continue(())
    }

    fn post_visit_select(&mut self, _select: &mut Select) -> ControlFlow<Never> {
        self.scopes.pop();
        ControlFlow::Continue(())
    }

    fn post_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<Never> {
        if let Some(name) = owner(expr)
            && let Some(relation) = self.scopes.iter().rev().find_map(|scope| scope.get(&name))
        {
            let name = Expr::Value(Value::SingleQuotedString(relation.clone()).into());
            *expr = call("regclassin", name);
        }
        ControlFlow::Continue(())
    }
}

/// The relations of one item of `FROM`, by the names it gives them.
fn relations(item: &TableWithJoins) -> Vec<(String, String)> {
    let joined = item.joins.iter().map(|join| &join.relation);
    std::iter::once(&item.relation).chain(joined).filter_map(named).collect()
}

fn named(factor: &TableFactor) -> Option<(String, String)> {
    let TableFactor::Table { name, alias, args: None, .. } = factor else { return None };
    let last = name.0.last().and_then(|part| part.as_ident()).map(identifier);
    let known_as = alias.as_ref().map(|a| identifier(&a.name)).or(last)?;
    Some((known_as, name.to_string()))
}

/// The name in front of `.tableoid`.
fn owner(expr: &Expr) -> Option<String> {
    let Expr::CompoundIdentifier(parts) = expr else { return None };
    let [owner, column] = parts.as_slice() else { return None };
    (identifier(column) == "tableoid").then(|| identifier(owner))
}
