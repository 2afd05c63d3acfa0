//! Where merged columns are named.

use std::ops::ControlFlow;

use datafusion_sql::sqlparser::ast::{
    Expr, Query, Select, SelectItem, SetExpr, TableFactor, VisitorMut,
};

use crate::rewrite::merged::{Merged, find};
use crate::rewrite::relations::Relations;
use crate::walk::{WalkMut, visit_expressions};

/// Puts the values of merged columns in the place of their names, in subqueries too unless something there
/// has the name, or may have it.
pub(crate) fn replace(tree: &mut impl WalkMut, merged: &[Merged], relations: &Relations<'_>) {
    // The visit itself never stops.
    let _ = tree.walk_mut(&mut Names { merged, relations, around: vec![], unseen: vec![] });
}

/// Whether a select may name a merged column: by a name alone, or by `*`.
pub(crate) fn may_name_merged(select: &Select) -> bool {
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
    /// The queries and selects around.
    around: Vec<Scope>,
    /// The names of selects within whose derived tables the visit is: these do not see them.
    unseen: Vec<Option<Vec<String>>>,
}

/// What something around has names for; `None` where that is not known.
enum Scope {
    /// A query, for what stands behind its selects: their outputs as well.
    Query(Option<Vec<String>>),
    /// A query of several sides, whose outputs alone stand behind them.
    Sides(Option<Vec<String>>),
    Select(Option<Vec<String>>),
}

impl Names<'_> {
    /// Whether something around may have the name of a merged column.
    fn is_hidden(&self, merged: &Merged) -> bool {
        let mut scopes = self.around.iter().peekable();
        while let Some(scope) = scopes.next() {
            let names = match scope {
                // Its selects have scopes of their own.
                Scope::Query(_) if matches!(scopes.peek(), Some(Scope::Select(_))) => continue,
                Scope::Sides(_) if scopes.peek().is_some() => continue,
                Scope::Query(names) | Scope::Sides(names) | Scope::Select(names) => names,
            };
            if may_be(names.as_deref(), merged) {
                return true;
            }
        }
        false
    }
}

impl VisitorMut for Names<'_> {
    type Break = ();

    fn pre_visit_query(&mut self, query: &mut Query) -> ControlFlow<()> {
        let names = self.relations.names_behind(&query.body);
        self.around.push(match query.body.as_ref() {
            SetExpr::SetOperation { .. } => Scope::Sides(names),
            _ => Scope::Query(names),
        });
        ControlFlow::Continue(())
    }

    fn post_visit_query(&mut self, _: &mut Query) -> ControlFlow<()> {
        self.around.pop();
        ControlFlow::Continue(())
    }

    fn pre_visit_select(&mut self, select: &mut Select) -> ControlFlow<()> {
        // The outermost is the one whose merged columns these are.
        if !self.around.is_empty() {
            self.around.push(Scope::Select(self.relations.names_within(select)));
        }
        ControlFlow::Continue(())
    }

    fn post_visit_select(&mut self, _: &mut Select) -> ControlFlow<()> {
        self.around.pop();
        ControlFlow::Continue(())
    }

    fn pre_visit_table_factor(&mut self, factor: &mut TableFactor) -> ControlFlow<()> {
        if is_closed(factor)
            && let Some(Scope::Select(names)) = self.around.last_mut()
        {
            self.unseen.push(names.replace(vec![]));
        }
        ControlFlow::Continue(())
    }

    fn post_visit_table_factor(&mut self, factor: &mut TableFactor) -> ControlFlow<()> {
        if is_closed(factor)
            && let Some(Scope::Select(names)) = self.around.last_mut()
        {
            *names = self.unseen.pop().flatten();
        }
        ControlFlow::Continue(())
    }

    fn post_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<()> {
        if let Expr::Identifier(name) = expr
            && let Some(found) = find(self.merged, name)
            && !self.is_hidden(found)
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
    names.is_none_or(|names| names.contains(&crate::rewrite::merged::identifier(&merged.name)))
}
