//! What `COPY` says.

use crate::parse::copy::options::CopyOptions;
use crate::parse::object_name::RelationName;
use crate::parse::statement::Statement;
use crate::parse::statement::query::Query;

/// `COPY .. FROM`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Copy {
    /// The table.
    pub table: RelationName,
    /// Column names; empty means all in order.
    pub columns: Vec<String>,
    /// Where the data come from.
    pub source: CopySource,
    /// How to read them.
    pub options: CopyOptions,
}

/// Where `COPY` reads from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CopySource {
    /// A file on the machine of the engine.
    File(String),
    /// The client.
    Stdin,
}

/// `COPY .. TO`.
#[derive(Clone, Debug)]
pub struct CopyTo {
    /// What is copied.
    pub copied: Copied,
    /// Where the data go.
    pub target: CopyTarget,
    /// How they are written.
    pub options: CopyOptions,
}

/// What `COPY .. TO` copies.
#[derive(Clone, Debug)]
pub enum Copied {
    /// A table.
    Table {
        /// Its name.
        table: RelationName,
        /// Column names; empty means all in order.
        columns: Vec<String>,
    },
    /// The rows of a query.
    Query(Query),
    /// The rows that a statement which writes returns.
    Returning(Box<Statement>),
}

/// Where `COPY` writes to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CopyTarget {
    /// A file on the machine of the engine.
    File(String),
    /// The client.
    Stdout,
}
