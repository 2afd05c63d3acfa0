//! Statements that may run again with other values.

use crate::parse::statement::kept::Kept;
use crate::parse::template::{Parameter, Template};

/// A statement with the values that it was bound with.
#[derive(Debug)]
pub struct Bound {
    /// The statement.
    pub template: Template,
    /// The values.
    pub parameters: Vec<Parameter>,
    /// Its generic plan; the syntax tree has placeholders then.
    pub(crate) generic: Option<Kept>,
}
