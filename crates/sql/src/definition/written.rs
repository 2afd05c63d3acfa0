//! Definitions that are left as they were written, but for what a reader elsewhere needs: the schema of the
//! relations and sequences that they name, and the names that a view gives its columns.

use std::ops::ControlFlow;

use datafusion_sql::sqlparser::ast::{
    Expr, Function, FunctionArg, FunctionArgExpr, FunctionArguments, GroupByExpr, Ident,
    ObjectName, ObjectNamePart, Query, Select, SelectItem, TableFactor, Value, Visitor, VisitorMut,
};

use super::Style;
use crate::catalog::view::ViewDef;
use crate::dml::target;
use crate::parse::object_name::identifier;
use crate::parse::stored;
use crate::quote::{parse_name, quote_ident, quote_idents};
use crate::walk::{Walk, WalkMut, visit_expressions};

/// The query of a view with a semicolon behind it. `is_user` tells users' relations from others.
pub fn view_as_written(view: &ViewDef, is_user: impl Fn(&str) -> bool, style: Style) -> String {
    let Some(mut query) = query_of(view) else {
        return format!(" {};", view.query.trim().trim_end_matches(';'));
    };
    let spelled = |name: &str| style.relation(name);
    if style.qualified {
        let mut qualify = Qualify { is_user: &is_user, named: vec![], found: vec![] };
        // The visit itself never stops.
        let _ = query.walk_mut(&mut qualify);
    }
    let _ = query.walk_mut(&mut Sequences { spelled: &spelled });
    let query = stored::printed(&query);
    if view.columns.is_empty() {
        return format!(" {query};");
    }
    let columns = quote_idents(view.columns.iter().map(String::as_str));
    format!(" SELECT * FROM ({query}) {} ({columns});", quote_ident(&view.name))
}

/// Users' relations that the query of a view names, each once, and not those of its `WITH`.
pub fn relations_in(view: &ViewDef, is_user: impl Fn(&str) -> bool) -> Vec<String> {
    let Some(mut query) = query_of(view) else { return vec![] };
    let mut qualify = Qualify { is_user: &is_user, named: vec![], found: vec![] };
    let _ = query.walk_mut(&mut qualify);
    qualify.found.sort();
    qualify.found.dedup();
    qualify.found
}

fn query_of(view: &ViewDef) -> Option<Query> {
    stored::read(&view.query).ok()
}

/// A default with its sequences as `spelled` has them, in parentheses unless it is a value or a call: a
/// column's default is no expression of any kind.
pub fn default_as_written(text: &str, spelled: impl Fn(&str) -> String) -> String {
    let Ok(mut expression) = target::parsed(text) else { return text.to_owned() };
    let _ = expression.walk_mut(&mut Sequences { spelled: &spelled });
    match expression {
        Expr::Value(_) | Expr::Function(_) | Expr::Cast { .. } | Expr::Nested(_) => {
            expression.to_string()
        }
        _ => format!("({expression})"),
    }
}

/// The sequences that an expression takes numbers from.
pub fn sequences_in(text: &str) -> Vec<String> {
    let mut found = vec![];
    let Ok(expression) = target::parsed(text) else { return found };
    let _ = visit_expressions(&expression, |expr| {
        if let Expr::Function(function) = expr {
            found.extend(named_sequence(function));
        }
        ControlFlow::<()>::Continue(())
    });
    found
}

/// The names of the columns by which each query of a view groups.
pub fn grouped_by(view: &ViewDef) -> Vec<Vec<String>> {
    let Some(query) = query_of(view) else { return vec![] };
    let mut groups = Groups(vec![]);
    let _ = query.walk(&mut groups);
    groups.0
}

struct Groups(Vec<Vec<String>>);

impl Visitor for Groups {
    type Break = ();

    fn pre_visit_select(&mut self, select: &Select) -> ControlFlow<()> {
        if let GroupByExpr::Expressions(keys, _) = &select.group_by
            && !keys.is_empty()
        {
            let keys = keys.iter().map(|key| placed(select, key).unwrap_or(key));
            self.0.push(keys.filter_map(last_name).collect());
        }
        ControlFlow::Continue(())
    }
}

/// The output that a key means by its number.
fn placed<'a>(select: &'a Select, key: &Expr) -> Option<&'a Expr> {
    let Expr::Value(value) = key else { return None };
    let Value::Number(number, _) = &value.value else { return None };
    match select.projection.get(number.parse::<usize>().ok()?.checked_sub(1)?)? {
        SelectItem::UnnamedExpr(expr) | SelectItem::ExprWithAlias { expr, .. } => Some(expr),
        _ => None,
    }
}

fn last_name(key: &Expr) -> Option<String> {
    match key {
        Expr::Identifier(name) => Some(identifier(name)),
        Expr::CompoundIdentifier(parts) => parts.last().map(identifier),
        Expr::Nested(inner) => last_name(inner),
        _ => None,
    }
}

/// The sequence that a call names by a text.
fn named_sequence(function: &Function) -> Option<String> {
    let name = function.name.0.last().and_then(ObjectNamePart::as_ident).map(identifier)?;
    if !["nextval", "currval", "setval"].contains(&name.as_str()) {
        return None;
    }
    let FunctionArguments::List(list) = &function.args else { return None };
    let FunctionArg::Unnamed(FunctionArgExpr::Expr(first)) = list.args.first()? else {
        return None;
    };
    let text = match first {
        Expr::Cast { expr, .. } => expr,
        other => other,
    };
    let Expr::Value(value) = text else { return None };
    let Value::SingleQuotedString(text) = &value.value else { return None };
    match parse_name(text).ok()?.as_slice() {
        [name] => Some(name.clone()),
        [schema, name] if schema == "public" => Some(name.clone()),
        _ => None,
    }
}

/// Spells the sequences that calls name, as the constants that PostgreSQL makes of them.
struct Sequences<'a> {
    spelled: &'a dyn Fn(&str) -> String,
}

impl VisitorMut for Sequences<'_> {
    type Break = ();

    fn post_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<()> {
        let Expr::Function(function) = expr else { return ControlFlow::Continue(()) };
        if let Some(name) = named_sequence(function)
            && let FunctionArguments::List(list) = &mut function.args
            && let Some(first) = list.args.first_mut()
        {
            let text = (self.spelled)(&name).replace('\'', "''");
            if let Ok(constant) = target::parsed(&format!("'{text}'::regclass")) {
                *first = FunctionArg::Unnamed(FunctionArgExpr::Expr(constant));
            }
        }
        ControlFlow::Continue(())
    }
}

/// Writes the schema in front of users' relations.
struct Qualify<'a> {
    is_user: &'a dyn Fn(&str) -> bool,
    /// The queries of `WITH` that can be named, of each query that is open.
    named: Vec<Vec<String>>,
    /// The names of those relations.
    found: Vec<String>,
}

impl VisitorMut for Qualify<'_> {
    type Break = ();

    fn pre_visit_query(&mut self, query: &mut Query) -> ControlFlow<()> {
        let with = query.with.iter().flat_map(|with| &with.cte_tables);
        self.named.push(with.map(|cte| identifier(&cte.alias.name)).collect());
        ControlFlow::Continue(())
    }

    fn post_visit_query(&mut self, _query: &mut Query) -> ControlFlow<()> {
        self.named.pop();
        ControlFlow::Continue(())
    }

    fn pre_visit_table_factor(&mut self, factor: &mut TableFactor) -> ControlFlow<()> {
        let TableFactor::Table { name, args: None, .. } = factor else {
            return ControlFlow::Continue(());
        };
        let is_public = |schema: &ObjectNamePart| {
            schema.as_ident().is_some_and(|schema| identifier(schema) == "public")
        };
        let only = match name.0.as_slice() {
            [ObjectNamePart::Identifier(only)] => only.clone(),
            [schema, ObjectNamePart::Identifier(last)] if is_public(schema) => {
                self.found.push(identifier(last));
                return ControlFlow::Continue(());
            }
            _ => return ControlFlow::Continue(()),
        };
        let plain = identifier(&only);
        let is_query = self.named.iter().flatten().any(|query| *query == plain);
        if !is_query && (self.is_user)(&plain) {
            *name = ObjectName::from(vec![Ident::new("public"), only]);
            self.found.push(plain);
        }
        ControlFlow::Continue(())
    }
}
