//! How much there is to plan: the caller plans what is large where nobody waits for it.

use std::ops::ControlFlow;
use std::sync::Arc;

use datafusion_sql::sqlparser::ast::{
    BinaryOperator, DollarQuotedString, Expr, ObjectName, Query as Ast, Value, Visitor,
};

use crate::catalog::view::ViewDef;
use crate::parse::marks::grouping_set_count;
use crate::parse::object_name::last_name;
use crate::parse::statement::query::Query;
use crate::parse::stored;
use crate::walk::Walk;

/// Parts of a query that are planned at once, which takes some milliseconds at most.
const PARTS_MAX: usize = 64;

/// What a relation or a query inside counts: paths and joins are chosen for each.
const RELATION_PARTS: usize = 4;

/// Keys of a cube whose sets are counted; more are large in any case.
const SETS_BITS_MAX: usize = 16;

/// Longest literal that is planned at once.
const LITERAL_BYTES_MAX: usize = 64 << 10;

/// Longest query of a view that is parsed to see what there is to plan: some tens of microseconds.
const VIEW_BYTES_MAX: usize = 4 << 10;

/// Functions that make much of little: what is constant is computed while planning.
const GROWING: [&str; 6] =
    ["repeat", "lpad", "rpad", "array_fill", "regexp_replace", "string_to_table"];

impl Query {
    /// Whether planning it may keep others waiting, with the queries of the views that it names.
    pub fn is_large(&self, view: &dyn Fn(&str) -> Option<Arc<ViewDef>>) -> bool {
        self.ast.walk(&mut Parts { view, count: 0 }).is_break()
    }
}

/// True if binding the query of a view may keep others waiting, with those of the views that it
/// names.
pub fn is_large_view(view: &ViewDef, views: &dyn Fn(&str) -> Option<Arc<ViewDef>>) -> bool {
    Parts { view: views, count: 0 }.add_view(view).is_break()
}

struct Parts<'a> {
    view: &'a dyn Fn(&str) -> Option<Arc<ViewDef>>,
    count: usize,
}

impl Parts<'_> {
    fn add(&mut self, parts: usize) -> ControlFlow<()> {
        self.count += parts;
        match self.count > PARTS_MAX {
            true => ControlFlow::Break(()),
            false => ControlFlow::Continue(()),
        }
    }

    /// Views that name each other in a circle come to too many parts.
    fn add_view(&mut self, view: &ViewDef) -> ControlFlow<()> {
        if view.query.len() > VIEW_BYTES_MAX {
            return ControlFlow::Break(());
        }
        self.add(RELATION_PARTS)?;
        match stored::read(&view.query) {
            Ok(query) => query.walk(self),
            Err(_) => ControlFlow::Break(()),
        }
    }
}

impl Visitor for Parts<'_> {
    type Break = ();

    fn pre_visit_query(&mut self, _query: &Ast) -> ControlFlow<()> {
        self.add(RELATION_PARTS)
    }

    fn pre_visit_relation(&mut self, relation: &ObjectName) -> ControlFlow<()> {
        match (self.view)(&last_name(relation)) {
            Some(view) => self.add_view(&view),
            None => self.add(RELATION_PARTS),
        }
    }

    fn pre_visit_expr(&mut self, expr: &Expr) -> ControlFlow<()> {
        match expr {
            Expr::Function(call) => match last_name(&call.name).as_str() {
                name if GROWING.contains(&name) => ControlFlow::Break(()),
                _ => self.add(1),
            },
            // An aggregation is planned for each grouping set.
            Expr::Dictionary(_) => self.add((RELATION_PARTS * grouping_set_count(expr)).max(1)),
            // As they are written.
            Expr::Cube(keys) => self.add(RELATION_PARTS << keys.len().min(SETS_BITS_MAX)),
            Expr::Rollup(sets) | Expr::GroupingSets(sets) => self.add(RELATION_PARTS * sets.len()),
            Expr::BinaryOp { op, right, .. } if is_match(op) && repeats(right) => {
                ControlFlow::Break(())
            }
            Expr::Value(value) if is_long(&value.value) => ControlFlow::Break(()),
            _ => self.add(1),
        }
    }
}

fn text_of(expr: &Expr) -> Option<&str> {
    match expr {
        Expr::Value(value) => match &value.value {
            Value::SingleQuotedString(text) => Some(text),
            _ => None,
        },
        _ => None,
    }
}

fn is_match(op: &BinaryOperator) -> bool {
    use BinaryOperator::{PGRegexIMatch, PGRegexMatch, PGRegexNotIMatch, PGRegexNotMatch};
    matches!(op, PGRegexMatch | PGRegexIMatch | PGRegexNotMatch | PGRegexNotIMatch)
}

/// Whether a pattern may be compiled for some time: what is to be repeated is compiled as often.
fn repeats(pattern: &Expr) -> bool {
    text_of(pattern).is_some_and(|pattern| pattern.contains('{'))
}

/// Whether a literal is copied for some time.
fn is_long(value: &Value) -> bool {
    match value {
        Value::SingleQuotedString(text)
        | Value::EscapedStringLiteral(text)
        | Value::DollarQuotedString(DollarQuotedString { value: text, .. }) => {
            text.len() > LITERAL_BYTES_MAX
        }
        _ => false,
    }
}
