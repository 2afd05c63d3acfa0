//! `NATURAL` joins of tables as joins with `USING`, for which it is known what `*` means.

use std::ops::ControlFlow;

use datafusion_sql::sqlparser::ast::{
    Ident, JoinConstraint, JoinOperator, ObjectName, Query, SetExpr, TableFactor, TableWithJoins,
    VisitMut, VisitorMut,
};

use super::identifier;
use crate::catalog::Catalog;

/// Writes the columns of natural joins out, in all queries inside. Joins of what is no table stay.
pub(crate) fn write_columns(query: &mut Query, catalog: &dyn Catalog) {
    let mut hiding = Hiding::default();
    // The visits themselves never stop.
    let _ = query.visit(&mut hiding);
    let _ = query.visit(&mut Natural { catalog, hidden: hiding.0 });
}

/// The names of queries of `WITH`, which may stand before those of tables.
#[derive(Default)]
struct Hiding(Vec<String>);

impl VisitorMut for Hiding {
    type Break = ();

    fn pre_visit_query(&mut self, query: &mut Query) -> ControlFlow<()> {
        let named = query.with.iter().flat_map(|with| &with.cte_tables);
        self.0.extend(named.map(|named| identifier(&named.alias.name)));
        ControlFlow::Continue(())
    }
}

struct Natural<'a> {
    catalog: &'a dyn Catalog,
    hidden: Vec<String>,
}

impl VisitorMut for Natural<'_> {
    type Break = ();

    fn pre_visit_query(&mut self, query: &mut Query) -> ControlFlow<()> {
        if let SetExpr::Select(select) = query.body.as_mut() {
            select.from.iter_mut().for_each(|item| self.item(item));
        }
        ControlFlow::Continue(())
    }
}

impl Natural<'_> {
    fn item(&self, item: &mut TableWithJoins) {
        let Some(mut before) = self.columns(&item.relation) else { return };
        for join in &mut item.joins {
            let Some(theirs) = self.columns(&join.relation) else { return };
            let (JoinOperator::Join(constraint)
            | JoinOperator::Inner(constraint)
            | JoinOperator::Left(constraint)
            | JoinOperator::LeftOuter(constraint)
            | JoinOperator::Right(constraint)
            | JoinOperator::RightOuter(constraint)
            | JoinOperator::FullOuter(constraint)) = &mut join.join_operator
            else {
                return;
            };
            if matches!(constraint, JoinConstraint::Natural) {
                let shared = before.iter().filter(|name| theirs.contains(name));
                let name = |name: &String| ObjectName::from(vec![Ident::with_quote('"', name)]);
                let shared: Vec<ObjectName> = shared.map(name).collect();
                if shared.is_empty() {
                    return;
                }
                *constraint = JoinConstraint::Using(shared);
            }
            let others: Vec<String> = theirs.into_iter().filter(|n| !before.contains(n)).collect();
            before.extend(others);
        }
    }

    /// The columns of a table.
    fn columns(&self, relation: &TableFactor) -> Option<Vec<String>> {
        let TableFactor::Table { name, args: None, alias, .. } = relation else { return None };
        if alias.as_ref().is_some_and(|alias| !alias.columns.is_empty()) {
            return None;
        }
        let [name] = name.0.as_slice() else { return None };
        let name = identifier(name.as_ident()?);
        let table = self.catalog.table(&name).filter(|_| !self.hidden.contains(&name))?;
        Some(table.schema.columns.iter().map(|column| column.name.clone()).collect())
    }
}
