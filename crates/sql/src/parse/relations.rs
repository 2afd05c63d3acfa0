//! What is known of the relations of a query before it is bound.

use std::ops::ControlFlow;

use datafusion_sql::sqlparser::ast::{
    Query, Select, SelectItem, SetExpr, TableFactor, Visit, Visitor,
};

use super::identifier;
use crate::catalog::Catalog;

/// The relations that a query may name.
pub(super) struct Relations<'a> {
    catalog: &'a dyn Catalog,
    /// Names of queries of `WITH`, which may stand before those of tables.
    hidden: Vec<String>,
}

impl<'a> Relations<'a> {
    pub(super) fn of(query: &Query, catalog: &'a dyn Catalog) -> Relations<'a> {
        let mut hiding = Hiding::default();
        // The visit itself never stops.
        let _ = query.visit(&mut hiding);
        Relations { catalog, hidden: hiding.0 }
    }

    /// The columns of a table; `None` of what is none.
    pub(super) fn columns(&self, relation: &TableFactor) -> Option<Vec<String>> {
        let TableFactor::Table { name, args: None, alias, .. } = relation else { return None };
        if alias.as_ref().is_some_and(|alias| !alias.columns.is_empty()) {
            return None;
        }
        let [name] = name.0.as_slice() else { return None };
        let name = identifier(name.as_ident()?);
        let table = self.catalog.table(&name).filter(|_| !self.hidden.contains(&name))?;
        Some(table.schema.columns.iter().map(|column| column.name.clone()).collect())
    }

    /// The names of columns and outputs that expressions of the query can name without a relation's; `None`
    /// unless all of its relations are tables.
    pub(super) fn names_in(&self, body: &SetExpr) -> Option<Vec<String>> {
        match body {
            SetExpr::Select(select) => self.names_in_select(select),
            SetExpr::Query(query) => self.names_in(&query.body),
            SetExpr::SetOperation { left, right, .. } => {
                let mut names = self.names_in(left)?;
                names.extend(self.names_in(right)?);
                Some(names)
            }
            _ => None,
        }
    }

    fn names_in_select(&self, select: &Select) -> Option<Vec<String>> {
        let outputs = select.projection.iter().filter_map(|item| match item {
            SelectItem::ExprWithAlias { alias, .. } => Some(identifier(alias)),
            _ => None,
        });
        let mut names: Vec<String> = outputs.collect();
        for item in &select.from {
            names.extend(self.columns(&item.relation)?);
            for join in &item.joins {
                names.extend(self.columns(&join.relation)?);
            }
        }
        Some(names)
    }
}

#[derive(Default)]
struct Hiding(Vec<String>);

impl Visitor for Hiding {
    type Break = ();

    fn pre_visit_query(&mut self, query: &Query) -> ControlFlow<()> {
        let named = query.with.iter().flat_map(|with| &with.cte_tables);
        self.0.extend(named.map(|named| identifier(&named.alias.name)));
        ControlFlow::Continue(())
    }
}
