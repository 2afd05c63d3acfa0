//! Views over one relation: its columns by their full names, a line for each output.

use datafusion_sql::sqlparser::ast::{self, GroupByExpr, SelectItem, SetExpr, TableFactor};
use types::Schema;

use super::node::{Builder, Node};
use super::{Style, print};
use crate::catalog::view::ViewDef;
use crate::parse::object_name::identifier;
use crate::parse::{object_name, stored};
use crate::quote::quote_ident;

/// The query of a view with a semicolon behind it, over relations that `schema_of` knows. `None` for a
/// view that is more than outputs, a relation and a condition.
pub fn view(
    view: &ViewDef,
    schema_of: impl FnOnce(&str) -> Option<Schema>,
    style: Style,
) -> Option<String> {
    let pretty = style.pretty;
    let query = stored::read(&view.query).ok()?;
    let select = plain_select(&query)?;
    let (relation, known_as) = relation(select)?;
    let schema = schema_of(&relation)?;
    let builder = Builder { schema: &schema, prefix: Some(&known_as) };
    let mut outputs = vec![];
    for item in &select.projection {
        outputs.extend(output(item, &builder)?);
    }
    let given = view.columns.iter().cloned().map(Some).chain(std::iter::repeat(None));
    let lines = outputs.into_iter().zip(given).map(|((node, name), given)| {
        let text = print::expression(&node, pretty);
        let name = given.unwrap_or(name);
        match &node {
            Node::Column { name: own, .. } if *own == name => text,
            _ => format!("{text} AS {}", quote_ident(&name)),
        }
    });
    let lines = lines.collect::<Vec<_>>().join(",\n    ");
    let mut text = format!(" SELECT {lines}").trim_end().to_owned();
    text.push_str(&format!("\n   FROM {}", style.relation(&relation)));
    if known_as != relation {
        text.push_str(&format!(" {}", quote_ident(&known_as)));
    }
    if let Some(condition) = &select.selection {
        let node = builder.build(condition)?.settled(None)?;
        text.push_str(&format!("\n  WHERE {}", print::expression(&node, pretty)));
    }
    text.push(';');
    Some(text)
}

/// The `SELECT` of a query that has nothing around it, and nothing behind its condition.
fn plain_select(query: &ast::Query) -> Option<&ast::Select> {
    let around = query.with.is_some()
        || query.order_by.is_some()
        || query.limit_clause.is_some()
        || query.fetch.is_some();
    let SetExpr::Select(select) = query.body.as_ref() else { return None };
    let grouped = match &select.group_by {
        GroupByExpr::Expressions(keys, _) => !keys.is_empty(),
        GroupByExpr::All(_) => true,
    };
    let more = select.distinct.is_some()
        || select.having.is_some()
        || grouped
        || !select.named_window.is_empty();
    (!around && !more).then_some(select.as_ref())
}

/// The one relation, and the name that it goes by.
fn relation(select: &ast::Select) -> Option<(String, String)> {
    let [item] = select.from.as_slice() else { return None };
    let TableFactor::Table { name, alias, args: None, .. } = &item.relation else { return None };
    if !item.joins.is_empty() || alias.as_ref().is_some_and(|a| !a.columns.is_empty()) {
        return None;
    }
    let relation = object_name::name(name).ok()?;
    let known_as = alias.as_ref().map_or_else(|| relation.clone(), |a| identifier(&a.name));
    Some((relation, known_as))
}

/// What an item gives, with the names that it has.
fn output(item: &SelectItem, builder: &Builder<'_>) -> Option<Vec<(Node, String)>> {
    let expr = match item {
        SelectItem::Wildcard(_) => {
            let columns = builder.schema.columns.iter();
            return columns.map(|c| Some((builder.column(&c.name)?, c.name.clone()))).collect();
        }
        SelectItem::UnnamedExpr(expr) => {
            let node = builder.build(expr)?.settled(None)?;
            let Node::Column { name, .. } = &node else { return None };
            let name = name.clone();
            return Some(vec![(node, name)]);
        }
        SelectItem::ExprWithAlias { expr, alias } => (expr, identifier(alias)),
        _ => return None,
    };
    Some(vec![(builder.build(expr.0)?.settled(None)?, expr.1)])
}
