//! What statements about prepared statements say.

use datafusion_sql::sqlparser::ast;

use crate::parse::statement::explain::Explaining;
use crate::parse::template::Template;

/// `PREPARE name [(types)] AS statement`.
#[derive(Clone, Debug)]
pub struct Prepare {
    /// The name.
    pub name: String,
    /// The types of its first parameters, as PostgreSQL numbers them; 0 is left to their places.
    pub types: Vec<u32>,
    /// What is prepared.
    pub template: Template,
    /// The text of the whole `PREPARE`.
    pub text: String,
}

/// `EXECUTE name [(arguments)]`.
#[derive(Clone, Debug)]
pub struct Execute {
    /// The prepared statement.
    pub name: String,
    pub(crate) arguments: Vec<ast::Expr>,
    /// `EXPLAIN` stands before it.
    pub explain: Option<Explaining>,
}

/// What `DISCARD` forgets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Discard {
    /// All state of the session.
    All,
    /// Cached plans.
    Plans,
    /// What sequences gave last.
    Sequences,
    /// Temporary tables.
    Temporary,
}
