//! Where merged columns are named.

use std::ops::ControlFlow;

use datafusion_sql::sqlparser::ast::{
    Expr, Query, Select, SelectItem, VisitMut, VisitorMut, visit_expressions,
};

use super::super::relations::Relations;
use super::{Merged, find};

/// Puts the values of merged columns in the place of their names, in subqueries too unless something there
/// has the name, or may have it.
pub(super) fn replace(tree: &mut impl VisitMut, merged: &[Merged], relations: &Relations<'_>) {
    // The visit itself never stops.
    let _ = tree.visit(&mut Names { merged, relations, nested: vec![] });
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
}

impl VisitorMut for Names<'_> {
    type Break = ();

    fn pre_visit_query(&mut self, query: &mut Query) -> ControlFlow<()> {
        self.nested.push(self.relations.names_in(&query.body));
        ControlFlow::Continue(())
    }

    fn post_visit_query(&mut self, _: &mut Query) -> ControlFlow<()> {
        self.nested.pop();
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

fn may_be(names: Option<&[String]>, merged: &Merged) -> bool {
    names.is_none_or(|names| names.contains(&super::identifier(&merged.name)))
}
