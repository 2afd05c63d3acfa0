//! `t.tableoid`, the oid of the relation that a row is of, and `t.xmin` of system relations: no
//! relation has them as columns.

use std::ops::ControlFlow;

use datafusion_sql::sqlparser::ast::{
    Expr, Query, Select, TableFactor, TableWithJoins, Value, VisitorMut,
};
use stdx::HashMap;

use crate::parse::expressions::call_with;
use crate::parse::object_name::identifier;
use crate::rewrite::system::{Never, call};
use crate::walk::WalkMut;

/// Puts the oid of the relation in place of the column.
pub(crate) fn replace(query: &mut Query) {
    let ControlFlow::Continue(()) = query.walk_mut(&mut Replace { scopes: vec![] });
}

/// The relations that a `SELECT` and those around it read, the innermost last.
struct Replace {
    scopes: Vec<Scope>,
}

/// What one `SELECT` reads.
struct Scope {
    /// Relations by the names that it gives them.
    named: HashMap<String, String>,
    /// The relation, if it is the only one: its columns need no name in front.
    only: Option<String>,
}

impl Scope {
    fn of(select: &Select) -> Scope {
        let named: Vec<(String, String)> = select.from.iter().flat_map(relations).collect();
        let only = match (select.from.as_slice(), named.as_slice()) {
            ([item], [(_, relation)]) if item.joins.is_empty() => Some(relation.clone()),
            _ => None,
        };
        Scope { named: named.into_iter().collect(), only }
    }
}

impl VisitorMut for Replace {
    type Break = Never;

    fn pre_visit_select(&mut self, select: &mut Select) -> ControlFlow<Never> {
        self.scopes.push(Scope::of(select));
        ControlFlow::Continue(())
    }

    fn post_visit_select(&mut self, _select: &mut Select) -> ControlFlow<Never> {
        self.scopes.pop();
        ControlFlow::Continue(())
    }

    fn post_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<Never> {
        if let Some((name, column)) = system_column(expr)
            && let Some(relation) = self.relation(name.as_deref())
        {
            let is_system = relation.starts_with("pg_");
            match column.as_str() {
                "tableoid" => {
                    let name = Expr::Value(Value::SingleQuotedString(relation.clone()).into());
                    *expr = call("regclassin", name);
                }
                // Any row of the catalog may have changed when the catalog did.
                "xmin" if is_system => *expr = call_with("catalog_version", vec![], vec![]),
                _ => {}
            }
        }
        ControlFlow::Continue(())
    }
}

impl Replace {
    /// The relation that goes by a name, or the only one.
    fn relation(&self, name: Option<&str>) -> Option<&String> {
        match name {
            Some(name) => self.scopes.iter().rev().find_map(|scope| scope.named.get(name)),
            None => self.scopes.last()?.only.as_ref(),
        }
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

/// A column that every relation has in PostgreSQL, and the name in front of it.
fn system_column(expr: &Expr) -> Option<(Option<String>, String)> {
    let (owner, column) = match expr {
        Expr::Identifier(column) => (None, column),
        Expr::CompoundIdentifier(parts) => match parts.as_slice() {
            [owner, column] => (Some(identifier(owner)), column),
            _ => return None,
        },
        _ => return None,
    };
    let column = identifier(column);
    ["tableoid", "xmin"].contains(&column.as_str()).then_some((owner, column))
}
