//! Outer relations with the name of an inner column: `EXISTS (SELECT FROM o WHERE o.t = t.id)`, where `o`
//! has a column `t`. The library takes `t.id` for a field of it and looks no further. And queries of a
//! `WITH` with the name of one around it.

use std::ops::ControlFlow;

use datafusion_sql::sqlparser::ast::{
    Expr, Ident, ObjectName, ObjectNamePart, Query, Select, SelectItem,
    SelectItemQualifiedWildcardKind as Wild, SetExpr, TableAlias, TableFactor, Visitor, VisitorMut,
    With,
};

use crate::parse::object_name::identifier;
use crate::quote::unspelled::apart;
use crate::walk::{Walk, WalkMut};

/// Whether another query stands in this one: only there a relation can be an outer one.
pub(crate) fn has_inner_query(query: &Query) -> bool {
    query.walk(&mut Inner { depth: 0 }).is_break()
}

/// Stops at a query within another one.
struct Inner {
    depth: usize,
}

impl Visitor for Inner {
    type Break = ();

    fn pre_visit_query(&mut self, _: &Query) -> ControlFlow<()> {
        self.depth += 1;
        if self.depth > 1 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }
}

/// The relation whose column a message of the library takes for a field of a column of that name.
pub(crate) fn hidden_relation(message: &str) -> Option<String> {
    let fields = message.split_once("ould not parse compound identifier from [");
    let first = fields.and_then(|(_, parts)| parts.split(", ").next());
    let outer = message.split_once("not yet supported for OuterReferenceColumn ");
    let name = first.or_else(|| outer.and_then(|(_, column)| column.rsplit('.').next()))?;
    Some(name.trim_matches(|c| matches!(c, '"' | ']' | '\n' | ' ')).to_owned())
}

/// The query with another name for each relation of this one, wherever it is named.
pub(crate) fn with_relation_renamed(query: &Query, relation: &str) -> Query {
    let text = query.to_string();
    let free = |n: &usize| !text.contains(&format!("{relation}_{n}"));
    let number = (1..).find(free).unwrap_or_default();
    let new = Ident::with_quote('"', format!("{relation}_{number}"));
    let mut renamed = query.clone();
    // The visit itself never stops.
    let _ = renamed.walk_mut(&mut Renaming { relation, new });
    renamed
}

struct Renaming<'a> {
    relation: &'a str,
    new: Ident,
}

impl Renaming<'_> {
    fn is_meant(&self, ident: &Ident) -> bool {
        identifier(ident) == self.relation
    }

    fn rename_stars(&self, select: &mut Select) {
        for item in &mut select.projection {
            if let SelectItem::QualifiedWildcard(Wild::ObjectName(ObjectName(parts)), _) = item
                && let [ObjectNamePart::Identifier(only)] = parts.as_mut_slice()
                && self.is_meant(only)
            {
                *only = self.new.clone();
            }
        }
    }

    fn rename_alias(&self, alias: &mut Option<TableAlias>) {
        if let Some(alias) = alias.as_mut().filter(|alias| self.is_meant(&alias.name)) {
            alias.name = self.new.clone();
        }
    }

    fn body(&self, body: &mut SetExpr) {
        match body {
            SetExpr::Select(select) => self.rename_stars(select),
            SetExpr::SetOperation { left, right, .. } => {
                self.body(left);
                self.body(right);
            }
            _ => {}
        }
    }
}

impl VisitorMut for Renaming<'_> {
    type Break = ();

    fn pre_visit_query(&mut self, query: &mut Query) -> ControlFlow<()> {
        self.body(&mut query.body);
        ControlFlow::Continue(())
    }

    fn pre_visit_table_factor(&mut self, factor: &mut TableFactor) -> ControlFlow<()> {
        match factor {
            TableFactor::Table { name, alias: alias @ None, .. } => {
                let last = name.0.last().and_then(ObjectNamePart::as_ident);
                if last.is_some_and(|last| self.is_meant(last)) {
                    let name = self.new.clone();
                    *alias = Some(TableAlias { explicit: true, name, columns: vec![], at: None });
                }
            }
            TableFactor::Table { alias, .. }
            | TableFactor::Derived { alias, .. }
            | TableFactor::Function { alias, .. }
            | TableFactor::UNNEST { alias, .. }
            | TableFactor::TableFunction { alias, .. }
            | TableFactor::NestedJoin { alias, .. } => self.rename_alias(alias),
            _ => {}
        }
        ControlFlow::Continue(())
    }

    fn pre_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<()> {
        if let Expr::CompoundIdentifier(parts) = expr
            && let [first, _] = parts.as_mut_slice()
            && self.is_meant(first)
        {
            *first = self.new.clone();
        }
        ControlFlow::Continue(())
    }
}

/// Gives queries of a `WITH` that have the name of one around it names of their own: the library refuses the
/// second. Who names it knows it by the old one.
pub(crate) fn set_nested_apart(query: &mut Query) {
    // The visit itself never stops.
    let _ = query.walk_mut(&mut Nested::default());
}

/// The names of the queries of each `WITH` around, and how many have been renamed.
#[derive(Default)]
struct Nested {
    around: Vec<Vec<String>>,
    count: usize,
}

impl VisitorMut for Nested {
    type Break = ();

    fn pre_visit_query(&mut self, query: &mut Query) -> ControlFlow<()> {
        let names = query.with.iter().flat_map(|with| &with.cte_tables);
        self.around.push(names.map(|cte| identifier(&cte.alias.name)).collect());
        ControlFlow::Continue(())
    }

    /// Inner queries come first: what is left of a name there means the one around.
    fn post_visit_query(&mut self, query: &mut Query) -> ControlFlow<()> {
        let own = self.around.pop().unwrap_or_default();
        for (at, name) in own.into_iter().enumerate() {
            if self.around.iter().flatten().any(|other| *other == name) {
                self.count += 1;
                let new = apart(&name, self.count);
                rename(query, at, &Renamed { name, new: Ident::with_quote('"', new) });
            }
        }
        ControlFlow::Continue(())
    }
}

/// Renames one query of a `WITH`, where it can be seen.
fn rename(query: &mut Query, at: usize, renamed: &Renamed) {
    let Some(With { recursive, cte_tables, .. }) = &mut query.with else { return };
    let first = if *recursive { 0 } else { at + 1 };
    for cte in cte_tables.iter_mut().skip(first) {
        renamed.within(&mut cte.query);
    }
    if let Some(cte) = cte_tables.get_mut(at) {
        cte.alias.name = renamed.new.clone();
    }
    renamed.within(&mut query.body);
    renamed.within(&mut query.order_by);
    renamed.within(&mut query.limit_clause);
}

struct Renamed {
    name: String,
    new: Ident,
}

impl Renamed {
    fn within(&self, tree: &mut impl WalkMut) {
        // The visit itself never stops.
        let _ = tree.walk_mut(&mut &*self);
    }
}

impl VisitorMut for &Renamed {
    type Break = ();

    fn pre_visit_table_factor(&mut self, factor: &mut TableFactor) -> ControlFlow<()> {
        if let TableFactor::Table { name: ObjectName(parts), alias, args: None, .. } = factor
            && let [ObjectNamePart::Identifier(only)] = parts.as_mut_slice()
            && identifier(only) == self.name
        {
            let old = std::mem::replace(only, self.new.clone());
            let known = TableAlias { explicit: true, name: old, columns: vec![], at: None };
            alias.get_or_insert(known);
        }
        ControlFlow::Continue(())
    }
}
