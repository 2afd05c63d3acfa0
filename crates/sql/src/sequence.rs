//! Defaults and queries that take numbers of sequences.

use std::ops::ControlFlow;

use datafusion_sql::sqlparser::ast::Expr;

use crate::parse::statement::query::Query;
use crate::quote::parse_name;
use crate::walk::visit_expressions;

/// Functions that give numbers of sequences, set them or tell them: who alters a sequence keeps them out.
const OF_NUMBERS: [&str; 5] = ["currval", "lastval", "nextval", "pg_sequence_last_value", "setval"];

impl Query {
    /// Whether it calls functions that have to do with numbers of sequences; not by its views.
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

/// The sequence whose next number a default is.
pub fn numbered_by(text: &str) -> Option<String> {
    let call = text.trim().get(.."nextval(".len())?;
    let argument = text.trim()[call.len()..].strip_suffix(')')?.trim();
    let (literal, cast) = argument.strip_prefix('\'')?.rsplit_once('\'')?;
    if !["", "::regclass"].contains(&cast.to_ascii_lowercase().as_str()) {
        return None;
    }
    let parts = parse_name(&literal.replace("''", "'")).ok()?;
    match (&parts[..], call.eq_ignore_ascii_case("nextval(")) {
        ([name], true) => Some(name.clone()),
        ([schema, name], true) if schema == "public" => Some(name.clone()),
        _ => None,
    }
}

/// The default that takes the next number of a sequence, as PostgreSQL writes it. The sequence as a
/// statement spells it.
pub fn next_of(sequence: &str) -> String {
    format!("nextval('{}'::regclass)", sequence.replace('\'', "''"))
}
