//! Calls of functions that have to do with numbers of sequences.

use std::ops::ControlFlow;

use datafusion_sql::sqlparser::ast::Expr;

use crate::parse::statement::query::Query;
use crate::walk::visit_expressions;

/// Functions that give numbers of sequences, set them or tell them: who alters a sequence keeps
/// them out.
const OF_NUMBERS: [&str; 5] = ["currval", "lastval", "nextval", "pg_sequence_last_value", "setval"];

impl Query {
    /// True if it calls functions that have to do with numbers of sequences; its views do not
    /// count.
    pub fn takes_numbers(&self) -> bool {
        let called = visit_expressions(&*self.ast, |expr| {
            let Expr::Function(function) = expr else { return ControlFlow::Continue(()) };
            let name = function.name.0.last().and_then(|part| part.as_ident());
            let is_one = |name: &str| OF_NUMBERS.iter().any(|own| own.eq_ignore_ascii_case(name));
            match name.is_some_and(|name| is_one(&name.value)) {
                true => ControlFlow::Break(()),
                false => ControlFlow::Continue(()),
            }
        });
        called.is_break()
    }
}
