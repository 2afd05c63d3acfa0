//! The comments of a version of the catalog.

use std::sync::Arc;

use super::subject::Subject;
use crate::catalog::snapshot::{Definitions, Snapshot};

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
        let Definitions { tables, views, comments, .. } = &mut **self;
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
        Arc::make_mut(comments).retain(|subject, _| is_there(subject));
    }

    /// A view goes by another name, and what was said of it and its columns with it.
    pub(crate) fn rename_commented_view(&mut self, old: &str, new: &str) {
        let renamed = |subject: &Subject| match subject {
            Subject::View(name) if name == old => Some(Subject::View(new.to_owned())),
            Subject::ViewColumn(name, column) if name == old => {
                Some(Subject::ViewColumn(new.to_owned(), column.clone()))
            }
            _ => None,
        };
        let moved: Vec<(Subject, Subject)> =
            self.comments.keys().filter_map(|old| Some((old.clone(), renamed(old)?))).collect();
        for (old, new) in moved {
            let comments = Arc::make_mut(&mut self.comments);
            if let Some(text) = comments.remove(&old) {
                comments.insert(new, text);
            }
        }
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
