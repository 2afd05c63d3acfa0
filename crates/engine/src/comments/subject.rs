//! What a comment is about, and the comments of a version of the catalog.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

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
