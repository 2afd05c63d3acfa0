//! `COMMENT ON`.

use datafusion_sql::sqlparser::ast::{CommentObject, ObjectName};
use types::{SqlError, SqlResult, SqlState};

use crate::parse::object_name::{identifier, name};

/// `COMMENT ON .. IS ..`
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Comment {
    /// What it is about.
    pub subject: Commented,
    /// What is said; `None` takes back what was.
    pub text: Option<String>,
}

/// What a comment is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Commented {
    /// A table.
    Table(String),
    /// A view.
    View(String),
    /// A column of a table or view.
    Column(String, String),
    /// A secondary index, or that of a primary key.
    Index(String),
    /// The schema of this name.
    Schema(String),
    /// The database of this name.
    Database(String),
}

pub(super) fn comment(
    kind: CommentObject,
    object: &ObjectName,
    text: Option<String>,
) -> SqlResult<Comment> {
    let subject = match kind {
        CommentObject::Table => Commented::Table(name(object)?),
        CommentObject::View => Commented::View(name(object)?),
        CommentObject::Index => Commented::Index(name(object)?),
        CommentObject::Schema => Commented::Schema(last(object)?),
        CommentObject::Database => Commented::Database(last(object)?),
        CommentObject::Column => {
            let mut relation = object.clone();
            relation.0.pop();
            if relation.0.is_empty() {
                let message = "column name must be qualified";
                return Err(SqlError::new(SqlState::SYNTAX_ERROR, message));
            }
            Commented::Column(name(&relation)?, last(object)?)
        }
        other => return Err(SqlError::unsupported(format!("COMMENT ON {other}"))),
    };
    Ok(Comment { subject, text })
}

fn last(object: &ObjectName) -> SqlResult<String> {
    let last = object.0.last().and_then(|part| part.as_ident()).map(identifier);
    last.ok_or_else(|| SqlError::new(SqlState::SYNTAX_ERROR, "a name is missing"))
}
