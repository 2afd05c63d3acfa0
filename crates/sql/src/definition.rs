//! Expressions of definitions as PostgreSQL writes them: each constant with its type, each conversion
//! that it would make, parentheses by its rules (its `ruleutils.c`). What is not known here is left as
//! it was written: `None`.

mod node;
mod print;
#[cfg(test)]
mod tests;
mod view;
mod written;

use types::{LogicalType, Schema};

use crate::dml::target;
use node::Builder;

pub use view::view;
pub use written::{default_as_written, grouped_by, relations_in, sequences_in, view_as_written};

/// How a definition is printed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Style {
    /// Without parentheses that are not needed.
    pub pretty: bool,
    /// With the schema in front of users' relations.
    pub qualified: bool,
}

impl Style {
    /// A relation of a user, as it is spelled.
    fn relation(self, name: &str) -> String {
        let schema = if self.qualified { "public." } else { "" };
        format!("{schema}{}", crate::quote::quote_ident(name))
    }
}

/// The condition of a check, or an expression over a table's columns. `pretty` leaves out
/// parentheses that are not needed.
pub fn condition(expression: &str, schema: &Schema, pretty: bool) -> Option<String> {
    let parsed = target::parsed(expression).ok()?;
    let node = Builder { schema, prefix: None }.build(&parsed)?.settled(None)?;
    Some(print::expression(&node, pretty))
}

/// The default of a column of type `ty`: what is converted to it last is not shown.
pub fn default(expression: &str, ty: LogicalType, pretty: bool) -> Option<String> {
    let parsed = target::parsed(expression).ok()?;
    let schema = Schema::default();
    let node = Builder { schema: &schema, prefix: None }.build(&parsed)?.settled(Some(ty))?;
    Some(print::expression(&node, pretty))
}
