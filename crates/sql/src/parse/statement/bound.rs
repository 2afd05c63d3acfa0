//! Statements that may run again with other values.

use std::sync::Arc;

use crate::parse::parameter::Parameter;
use crate::parse::statement::kept::Kept;
use crate::parse::template::Template;

/// A statement with the values that it was bound with.
#[derive(Debug)]
pub struct Bound {
    /// The statement.
    pub template: Template,
    /// The values.
    pub parameters: Vec<Parameter>,
    /// Where the values were taken from, if they were: this is what is planned for them alone.
    pub(crate) text: Option<Arc<str>>,
    /// Its generic plan; the syntax tree has placeholders then.
    pub(crate) generic: Option<Kept>,
}

impl Bound {
    /// The same of a part of a `WITH` that changes rows.
    pub(super) fn of_part(&self, part: usize) -> Bound {
        Bound {
            template: self.template.of_part(part),
            parameters: self.parameters.clone(),
            text: self.text.clone(),
            generic: None,
        }
    }
}
