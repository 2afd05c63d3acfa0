//! The constraints of users' tables.

use std::sync::Arc;

use sql::catalog::TableDef;

use super::View;
use super::names;
use super::objects::{Index, constraint_oid, indexes};

/// A constraint.
pub(crate) struct Constraint<'a> {
    pub(crate) oid: i64,
    pub(crate) name: String,
    /// `p` primary key, `u` unique.
    pub(crate) kind: &'static str,
    pub(crate) table: &'a Arc<TableDef>,
    /// The index that upholds it.
    pub(crate) index: Index,
}

impl Constraint<'_> {
    /// As `ALTER TABLE .. ADD` takes it.
    pub(crate) fn definition(&self) -> String {
        let columns = names::list(self.index.column_names(self.table));
        match self.kind {
            "p" => format!("PRIMARY KEY ({columns})"),
            _ => format!("UNIQUE ({columns})"),
        }
    }

    /// In the words of `information_schema`.
    pub(crate) fn type_name(&self) -> &'static str {
        match self.kind {
            "p" => "PRIMARY KEY",
            _ => "UNIQUE",
        }
    }
}

/// Whether a unique index came from a constraint: `CREATE TABLE` names it so.
fn is_constraint(table: &TableDef, index: &Index) -> bool {
    index.unique
        && index.name == format!("{}_{}_key", table.name, index.column_names(table).join("_"))
}

impl View {
    /// All constraints.
    pub(crate) fn constraints(&self) -> Vec<Constraint<'_>> {
        let mut found = vec![];
        for table in self.user_tables() {
            for index in indexes(table) {
                if !index.primary && !is_constraint(table, &index) {
                    continue;
                }
                let kind = if index.primary { "p" } else { "u" };
                let (oid, name) = (constraint_oid(index.oid), index.name.clone());
                found.push(Constraint { oid, name, kind, table, index });
            }
        }
        found
    }
}
