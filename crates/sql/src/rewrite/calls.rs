//! Calls on their way to the binder: by the names that functions have first, and not nested so that
//! asking for a type takes time without end.
//!
//! The binder of the library gives a call by another name (`char_length`) an alias of its own, which
//! holds the text of the arguments twice for each level. And to find the type of a `CASE` it asks its
//! branches for their types, then for whether they may be null; a call within asks for both each time:
//! what is nested so takes twice as long for each level.

use std::ops::ControlFlow;

use datafusion_sql::sqlparser::ast::{Expr, Function, Ident, ObjectName, Query, VisitorMut};
use types::{SqlError, SqlResult};

use crate::catalog::Catalog;
use crate::functions::library::LIBRARY;
use crate::parse::object_name::last_name;
use crate::parse::tokens;
use crate::walk::WalkMut;

/// Steps that finding a type may take for each part of the expression: what is not nested takes a few.
const STEPS_PER_PART: u64 = 16;

/// What short expressions may take beyond that: ten calls around a `CASE` in each other.
const STEPS_FREE: u64 = 1 << 13;

/// Gives calls their first names.
///
/// # Errors
/// 54001 for an expression whose type cannot be found in a reasonable time.
pub(crate) fn prepare(query: &mut Query, catalog: &dyn Catalog) -> SqlResult<()> {
    let mut calls = Calls { catalog, open: vec![Steps::default()] };
    match query.walk_mut(&mut calls) {
        ControlFlow::Continue(()) => Ok(()),
        ControlFlow::Break(error) => Err(*error),
    }
}

struct Calls<'a> {
    catalog: &'a dyn Catalog,
    /// What the parts took of each expression that is being visited; the last is the innermost.
    open: Vec<Steps>,
}

/// How many steps the library takes for an expression.
#[derive(Clone, Copy, Debug, Default)]
struct Steps {
    /// To find its type.
    ty: u64,
    /// To find whether it may be null.
    nullable: u64,
    /// To find both.
    field: u64,
    /// Parts that it consists of.
    parts: u64,
}

impl Steps {
    fn and(self, other: Steps) -> Steps {
        Steps {
            ty: self.ty.saturating_add(other.ty),
            nullable: self.nullable.saturating_add(other.nullable),
            field: self.field.saturating_add(other.field),
            parts: self.parts.saturating_add(other.parts),
        }
    }

    /// Of an expression with these parts.
    fn around(self, expr: &Expr) -> Steps {
        let parts = self.and(Steps { ty: 1, nullable: 1, field: 1, parts: 1 });
        match expr {
            Expr::Case { .. } => Steps { field: parts.ty.saturating_add(parts.nullable), ..parts },
            Expr::Cast { .. } => Steps { ty: 1, ..parts },
            Expr::Nested(_) => self,
            // A call, or what is made one: it asks for both, whatever it is asked for.
            _ => Steps { ty: parts.field, nullable: parts.field, ..parts },
        }
    }

    fn is_too_many(self) -> bool {
        self.field > STEPS_FREE.saturating_add(self.parts.saturating_mul(STEPS_PER_PART))
    }
}

impl VisitorMut for Calls<'_> {
    type Break = Box<SqlError>;

    fn pre_visit_expr(&mut self, _expr: &mut Expr) -> ControlFlow<Self::Break> {
        self.open.push(Steps::default());
        ControlFlow::Continue(())
    }

    fn post_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<Self::Break> {
        if let Expr::Function(function) = expr {
            by_first_name(function, self.catalog);
        }
        let steps = self.open.pop().unwrap_or_default().around(expr);
        if steps.is_too_many() {
            return ControlFlow::Break(Box::new(tokens::too_deep()));
        }
        if let Some(outer) = self.open.last_mut() {
            *outer = outer.and(steps);
        }
        ControlFlow::Continue(())
    }
}

/// A call by another name as one by the first.
fn by_first_name(function: &mut Function, catalog: &dyn Catalog) {
    let name = last_name(&function.name);
    if catalog.system_function(&name).is_some() {
        return;
    }
    if let Some(known) = LIBRARY.scalar(&name).filter(|known| known.name() != name) {
        function.name = ObjectName::from(vec![Ident::new(known.name())]);
    }
}

#[cfg(test)]
mod tests;
