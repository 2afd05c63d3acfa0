//! Where merged columns are named.

use std::ops::ControlFlow;

use datafusion_sql::sqlparser::ast::{
    Expr, Query, Select, SelectItem, TableFactor, VisitMut, VisitorMut, visit_expressions,
};

use super::super::relations::Relations;
use super::{Merged, find};

/// Puts the values of merged columns in the place of their names, in subqueries too unless something there
/// has the name, or may have it.
pub(super) fn replace(tree: &mut impl VisitMut, merged: &[Merged], relations: &Relations<'_>) {
    // The visit itself never stops.
    let _ = tree.visit(&mut Names { merged, relations, nested: vec![], unseen: vec![] });
}

/// Whether a select may name a merged column: by a name alone, or by `*`.
pub(super) fn may_name_merged(select: &Select) -> bool {
    let is_wildcard = |item: &SelectItem| matches!(item, SelectItem::Wildcard(_));
    let mut is_alone = false;
    // The visit itself never stops.
    let _ = visit_expressions(select, |expr| {
        is_alone |= matches!(expr, Expr::Identifier(_));
        ControlFlow::<()>::Continue(())
    });
    is_alone || select.projection.iter().any(is_wildcard)
}

struct Names<'a> {
    merged: &'a [Merged],
    relations: &'a Relations<'a>,
    /// What the queries around have names for; `None` where that is not known.
    nested: Vec<Option<Vec<String>>>,
    /// The names of selects within whose derived tables the visit is: these do not see them.
    unseen: Vec<Option<Vec<String>>>,
}

impl VisitorMut for Names<'_> {
    type Break = ();

    // What stands behind the selects of a query may name their outputs, too: its order.
    fn pre_visit_query(&mut self, _: &mut Query) -> ControlFlow<()> {
        self.nested.push(Some(vec![]));
        ControlFlow::Continue(())
    }

    fn pre_visit_select(&mut self, select: &mut Select) -> ControlFlow<()> {
        if !self.nested.is_empty() {
            self.nested.push(self.relations.names_within(select));
        }
        ControlFlow::Continue(())
    }

    fn post_visit_select(&mut self, select: &mut Select) -> ControlFlow<()> {
        self.nested.pop();
        if let Some(behind) = self.nested.last_mut() {
            *behind =
                behind.take().zip(self.relations.names_behind(select)).map(|(mut all, more)| {
                    all.extend(more);
                    all
                });
        }
        ControlFlow::Continue(())
    }

    fn post_visit_query(&mut self, _: &mut Query) -> ControlFlow<()> {
        self.nested.pop();
        ControlFlow::Continue(())
    }

    fn pre_visit_table_factor(&mut self, factor: &mut TableFactor) -> ControlFlow<()> {
        if is_closed(factor)
            && let Some(around) = self.nested.last_mut()
        {
            self.unseen.push(around.replace(vec![]));
        }
        ControlFlow::Continue(())
    }

    fn post_visit_table_factor(&mut self, factor: &mut TableFactor) -> ControlFlow<()> {
        if is_closed(factor)
            && let Some(around) = self.nested.last_mut()
        {
            *around = self.unseen.pop().flatten();
        }
        ControlFlow::Continue(())
    }

    fn post_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<()> {
        if let Expr::Identifier(name) = expr
            && let Some(found) = find(self.merged, name)
            && !self.nested.iter().any(|names| may_be(names.as_deref(), found))
        {
            *expr = found.value.clone();
        }
        ControlFlow::Continue(())
    }
}

/// Whether a relation sees nothing of those beside it.
fn is_closed(factor: &TableFactor) -> bool {
    matches!(factor, TableFactor::Derived { lateral: false, .. })
}

fn may_be(names: Option<&[String]>, merged: &Merged) -> bool {
    names.is_none_or(|names| names.contains(&super::identifier(&merged.name)))
}
