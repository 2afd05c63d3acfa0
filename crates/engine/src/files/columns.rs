//! The columns of files: those that are stored, and those that paths tell.

use std::collections::BTreeSet;

use types::{Column, LogicalType, Schema, SqlError};

/// A column of a relation of files.
#[derive(Clone, Debug)]
pub(crate) struct FileColumn {
    pub(super) name: String,
    pub(super) ty: ColumnType,
    pub(super) origin: Origin,
}

/// The type of a column.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum ColumnType {
    Known(LogicalType),
    /// There is none for what is stored, which is called so. Queries may leave it out.
    Unknown(String),
}

/// Where the values of a column come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Origin {
    /// The column of this number in the first file, or of this name in others.
    Stored(usize),
    /// The part of this number of a path.
    Path(usize),
}

impl FileColumn {
    /// The column as the planner knows it.
    pub(super) fn declared(&self) -> Column {
        let ty = match &self.ty {
            ColumnType::Known(ty) => *ty,
            ColumnType::Unknown(_) => LogicalType::Text,
        };
        Column { name: self.name.clone(), ty, nullable: true }
    }

    /// 0A000 for a column of which the values cannot be read.
    pub(super) fn refusal(&self) -> Option<SqlError> {
        let ColumnType::Unknown(stored) = &self.ty else { return None };
        let what = format!("column \"{}\" of type {stored}", self.name);
        Some(SqlError::unsupported(what).with_hint("Name the columns that the query needs."))
    }
}

/// A name that two columns have.
pub(super) fn named_twice(schema: &Schema) -> Option<&str> {
    let mut names = BTreeSet::new();
    schema.columns.iter().map(|c| c.name.as_str()).find(|name| !names.insert(*name))
}
