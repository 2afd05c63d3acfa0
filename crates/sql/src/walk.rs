//! Walks over syntax trees, compiled once for all visitors.
//!
//! The library's walks are generic over the visitor, and each of their instances is the whole grammar, some 700
//! functions: with one for each of our visitors they were half of this crate's code. Here a visitor is behind a
//! pointer, and what it breaks off with is kept beside it.

pub(crate) mod nodes;

use std::ops::ControlFlow;

use datafusion_sql::sqlparser::ast::{
    Expr, ObjectName, Query, Select, Statement, TableFactor, ValueWithSpan, Visit, VisitMut,
    Visitor, VisitorMut,
};

/// A tree that a visitor is led through.
pub(crate) trait Walk: Visit {
    /// Leads a visitor through all of it, until it breaks off.
    fn walk<V: Visitor>(&self, visitor: &mut V) -> ControlFlow<V::Break> {
        let mut kept = Kept(visitor, None);
        let walked = self.visit(&mut Erased(&mut kept, None));
        ended(walked, kept.1)
    }
}

impl<T: Visit> Walk for T {}

/// A tree that a visitor is led through, which may change it.
pub(crate) trait WalkMut: VisitMut {
    /// Leads a visitor through all of it, until it breaks off.
    fn walk_mut<V: VisitorMut>(&mut self, visitor: &mut V) -> ControlFlow<V::Break> {
        let mut kept = Kept(visitor, None);
        let walked = self.visit(&mut ErasedMut(&mut kept, None));
        ended(walked, kept.1)
    }
}

impl<T: VisitMut> WalkMut for T {}

/// Calls `look` with each expression, those around before those within.
pub(crate) fn visit_expressions<B>(
    tree: &impl Visit,
    mut look: impl FnMut(&Expr) -> ControlFlow<B>,
) -> ControlFlow<B> {
    tree.walk(&mut Expressions(&mut look))
}

/// Calls `change` with each expression, those within before those around.
pub(crate) fn visit_expressions_mut<B>(
    tree: &mut impl VisitMut,
    mut change: impl FnMut(&mut Expr) -> ControlFlow<B>,
) -> ControlFlow<B> {
    tree.walk_mut(&mut ExpressionsMut(&mut change))
}

/// Calls `look` with the name of each relation.
pub(crate) fn visit_relations<B>(
    tree: &impl Visit,
    mut look: impl FnMut(&ObjectName) -> ControlFlow<B>,
) -> ControlFlow<B> {
    tree.walk(&mut Relations(&mut look))
}

/// A visitor, and what it has broken off with.
struct Kept<'a, V, B>(&'a mut V, Option<B>);

/// One that a walk is compiled for.
struct Erased<'a>(&'a mut dyn Visitor<Break = ()>, Option<()>);
struct ErasedMut<'a>(&'a mut dyn VisitorMut<Break = ()>, Option<()>);

fn keep<B>(flow: ControlFlow<B>, kept: &mut Option<B>) -> ControlFlow<()> {
    flow.map_break(|with| *kept = Some(with))
}

fn ended<B>(walked: ControlFlow<()>, kept: Option<B>) -> ControlFlow<B> {
    walked.map_break(|()| kept.expect("what a visitor breaks off with is kept"))
}

macro_rules! forward {
    ($($hook:ident: $node:ty),* $(,)?) => {
        $(fn $hook(&mut self, node: $node) -> ControlFlow<()> {
            keep(self.0.$hook(node), &mut self.1)
        })*
    };
}

/// The hooks of both kinds of visitors.
macro_rules! hooks {
    (&) => {
        forward! {
            pre_visit_query: &Query,
            post_visit_query: &Query,
            pre_visit_select: &Select,
            post_visit_select: &Select,
            pre_visit_relation: &ObjectName,
            post_visit_relation: &ObjectName,
            pre_visit_table_factor: &TableFactor,
            post_visit_table_factor: &TableFactor,
            pre_visit_expr: &Expr,
            post_visit_expr: &Expr,
            pre_visit_statement: &Statement,
            post_visit_statement: &Statement,
            pre_visit_value: &ValueWithSpan,
            post_visit_value: &ValueWithSpan,
        }
    };
    (&mut) => {
        forward! {
            pre_visit_query: &mut Query,
            post_visit_query: &mut Query,
            pre_visit_select: &mut Select,
            post_visit_select: &mut Select,
            pre_visit_relation: &mut ObjectName,
            post_visit_relation: &mut ObjectName,
            pre_visit_table_factor: &mut TableFactor,
            post_visit_table_factor: &mut TableFactor,
            pre_visit_expr: &mut Expr,
            post_visit_expr: &mut Expr,
            pre_visit_statement: &mut Statement,
            post_visit_statement: &mut Statement,
            pre_visit_value: &mut ValueWithSpan,
            post_visit_value: &mut ValueWithSpan,
        }
    };
}

impl Visitor for Erased<'_> {
    type Break = ();

    hooks!(&);
}

impl<V: Visitor> Visitor for Kept<'_, V, V::Break> {
    type Break = ();

    hooks!(&);
}

impl VisitorMut for ErasedMut<'_> {
    type Break = ();

    hooks!(&mut);
}

impl<V: VisitorMut> VisitorMut for Kept<'_, V, V::Break> {
    type Break = ();

    hooks!(&mut);
}

struct Expressions<'a, B>(&'a mut dyn FnMut(&Expr) -> ControlFlow<B>);

impl<B> Visitor for Expressions<'_, B> {
    type Break = B;

    fn pre_visit_expr(&mut self, expr: &Expr) -> ControlFlow<B> {
        (self.0)(expr)
    }
}

struct ExpressionsMut<'a, B>(&'a mut dyn FnMut(&mut Expr) -> ControlFlow<B>);

impl<B> VisitorMut for ExpressionsMut<'_, B> {
    type Break = B;

    fn post_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<B> {
        (self.0)(expr)
    }
}

struct Relations<'a, B>(&'a mut dyn FnMut(&ObjectName) -> ControlFlow<B>);

impl<B> Visitor for Relations<'_, B> {
    type Break = B;

    fn pre_visit_relation(&mut self, relation: &ObjectName) -> ControlFlow<B> {
        (self.0)(relation)
    }
}
