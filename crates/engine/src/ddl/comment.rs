//! `COMMENT ON`.

use std::sync::Arc;

use sql::parse::{Comment, Commented};
use types::{SqlError, SqlResult, SqlState};

use crate::catalog::snapshot::Snapshot;
use crate::comments::subject::Subject;
use crate::writing::Writing;

/// Keeps a comment, or takes it back.
pub(crate) async fn comment(writing: &Writing<'_>, comment: Comment) -> SqlResult<()> {
    let subject = subject(writing.snapshot(), &comment.subject, &writing.db.name())?;
    // An empty text is none, as in PostgreSQL.
    let text = comment.text.filter(|text| !text.is_empty());
    let change = writing.change(move |_, snapshot| {
        Box::pin(async move {
            let comments = Arc::make_mut(&mut snapshot.comments);
            match text {
                Some(text) => comments.insert(subject, text),
                None => comments.remove(&subject),
            };
            Ok(())
        })
    });
    change.await
}

pub(crate) fn subject(
    snapshot: &Snapshot,
    commented: &Commented,
    database: &str,
) -> SqlResult<Subject> {
    let missing = |state, what: String| SqlError::new(state, format!("{what} does not exist"));
    let undefined = |name: &str| missing(SqlState::UNDEFINED_TABLE, format!("relation \"{name}\""));
    match commented {
        Commented::Table(name) => match snapshot.tables.get(name) {
            Some(entry) => Ok(Subject::Table(entry.def.id.0)),
            None if snapshot.has_relation(name) => Err(of_another_kind(name, "table")),
            None => Err(undefined(name)),
        },
        Commented::View(name) => match snapshot.views.contains_key(name) {
            true => Ok(Subject::View(name.clone())),
            false if snapshot.has_relation(name) => Err(of_another_kind(name, "view")),
            false => Err(undefined(name)),
        },
        Commented::Index(name) => {
            index(snapshot, name).ok_or_else(|| match snapshot.has_relation(name) {
                true => of_another_kind(name, "index"),
                false => undefined(name),
            })
        }
        Commented::Column(relation, column) => {
            let no_column = || {
                let what = format!("column \"{column}\" of relation \"{relation}\"");
                missing(SqlState::UNDEFINED_COLUMN, what)
            };
            if let Some(view) = snapshot.views.get(relation) {
                let columns = sql::view_columns(view, snapshot)?;
                let found = columns.iter().any(|c| c.name == *column);
                let subject = Subject::ViewColumn(relation.clone(), column.clone());
                return found.then_some(subject).ok_or_else(no_column);
            }
            let entry = snapshot.tables.get(relation).ok_or_else(|| undefined(relation))?;
            entry.def.schema.ordinal(column).ok_or_else(no_column)?;
            Ok(Subject::Column(entry.def.id.0, column.clone()))
        }
        Commented::Schema(name) if name == "public" => Ok(Subject::Schema),
        Commented::Schema(name) => Err(missing(SqlState("3F000"), format!("schema \"{name}\""))),
        Commented::Database(name) if name == database => Ok(Subject::Database),
        Commented::Database(name) => {
            Err(missing(SqlState::INVALID_CATALOG_NAME, format!("database \"{name}\"")))
        }
    }
}

pub(crate) fn of_another_kind(name: &str, kind: &str) -> SqlError {
    let article = if kind == "index" { "an" } else { "a" };
    SqlError::new(SqlState::WRONG_OBJECT_TYPE, format!("\"{name}\" is not {article} {kind}"))
}

pub(crate) fn index(snapshot: &Snapshot, name: &str) -> Option<Subject> {
    if let Some((entry, position)) = snapshot.index(name) {
        return Some(Subject::Index(entry.def.indexes[position].id.0));
    }
    let mut keyed = snapshot.tables.values().filter(|entry| !entry.def.primary_key.is_empty());
    let table = keyed.find(|entry| entry.def.primary_key_name() == name)?;
    Some(Subject::PrimaryKey(table.def.id.0))
}
