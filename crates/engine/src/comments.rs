//! `COMMENT ON`: what people say of the objects of a database, kept with its catalog.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use sql::parse::{Comment, Commented};
use types::{SqlError, SqlResult, SqlState};

use crate::catalog::snapshot::Snapshot;
use crate::writing::Writing;

/// What a comment is about. Columns go by their names, for their numbers change when others go.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Subject {
    /// By the table's id.
    Table(u32),
    /// By the table's id and the column's name.
    Column(u32, String),
    /// By its name.
    View(String),
    /// By the names of the view and its column.
    ViewColumn(String, String),
    /// By the index's id.
    Index(u32),
    /// Of the primary key's index, by the table's id.
    PrimaryKey(u32),
    /// The schema `public`.
    Schema,
    /// The database.
    Database,
}

/// All comments.
pub(crate) type Comments = BTreeMap<Subject, String>;

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

fn subject(snapshot: &Snapshot, commented: &Commented, database: &str) -> SqlResult<Subject> {
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

fn of_another_kind(name: &str, kind: &str) -> SqlError {
    let article = if kind == "index" { "an" } else { "a" };
    SqlError::new(SqlState::WRONG_OBJECT_TYPE, format!("\"{name}\" is not {article} {kind}"))
}

fn index(snapshot: &Snapshot, name: &str) -> Option<Subject> {
    if let Some((entry, position)) = snapshot.index(name) {
        return Some(Subject::Index(entry.def.indexes[position].id.0));
    }
    let mut keyed = snapshot.tables.values().filter(|entry| !entry.def.primary_key.is_empty());
    let table = keyed.find(|entry| entry.def.primary_key_name() == name)?;
    Some(Subject::PrimaryKey(table.def.id.0))
}

/// The table that an index is of.
pub(crate) fn table_of_index<'a>(snapshot: &'a Snapshot, name: &str) -> Option<&'a str> {
    let secondary = snapshot.index(name).map(|(entry, _)| entry);
    let primary = || {
        snapshot
            .tables
            .values()
            .find(|entry| !entry.def.primary_key.is_empty() && entry.def.primary_key_name() == name)
    };
    secondary.or_else(primary).map(|entry| entry.def.name.as_str())
}

impl Snapshot {
    /// Forgets what was said of what is no more.
    pub(crate) fn forget_comments(&mut self) {
        if self.comments.is_empty() {
            return;
        }
        let (tables, views) = (&self.tables, &self.views);
        let table = |id: u32| tables.values().map(|entry| &entry.def).find(|def| def.id.0 == id);
        let is_there = |subject: &Subject| match subject {
            Subject::Table(id) => table(*id).is_some(),
            Subject::Column(id, name) => {
                table(*id).is_some_and(|t| t.schema.ordinal(name).is_some())
            }
            Subject::View(name) | Subject::ViewColumn(name, _) => views.contains_key(name),
            Subject::Index(id) => {
                tables.values().any(|entry| entry.def.indexes.iter().any(|i| i.id.0 == *id))
            }
            Subject::PrimaryKey(id) => table(*id).is_some_and(|t| !t.primary_key.is_empty()),
            Subject::Schema | Subject::Database => true,
        };
        Arc::make_mut(&mut self.comments).retain(|subject, _| is_there(subject));
    }

    /// A column goes by another name, and what was said of it with it.
    pub(crate) fn rename_commented(&mut self, table: u32, old: &str, new: &str) {
        let subject = Subject::Column(table, old.to_owned());
        if let Some(text) = Arc::make_mut(&mut self.comments).remove(&subject) {
            let renamed = Subject::Column(table, new.to_owned());
            Arc::make_mut(&mut self.comments).insert(renamed, text);
        }
    }
}
