//! What the shell needs of a database: the seam between the shell and the engine.

use std::io::{Read, Write};

use types::{SqlError, SqlResult};

/// A database connection as the shell sees it.
pub trait Backend {
    /// Runs one statement.
    fn execute(&mut self, sql: &str) -> SqlResult<Vec<Outcome>>;

    /// Runs `COPY table FROM STDIN` with `data` as its input.
    fn copy_in(&mut self, sql: &str, data: &mut dyn Read) -> SqlResult<Outcome>;

    /// Runs `COPY .. TO STDOUT`, its data written to `data`.
    fn copy_out(&mut self, sql: &str, data: &mut dyn Write) -> SqlResult<Outcome>;

    /// What statements had to tell since it was last asked: severities and messages.
    fn notices(&mut self) -> Vec<(&'static str, SqlError)>;

    /// Whether a transaction block is open.
    fn block(&self) -> TransactionBlock;

    /// The tables, ordered by name.
    fn relations(&self) -> Vec<Relation>;

    /// A function that cancels what runs, callable from another thread.
    fn canceller(&self) -> Box<dyn Fn() + Send>;
}

/// The transaction block of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TransactionBlock {
    /// None is open.
    None,
    /// One is open.
    Open,
    /// One is open that failed.
    Failed,
}

/// The result of one statement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// Rows.
    Rows(Table),
    /// A command tag, such as `CREATE TABLE`.
    Command(String),
}

/// Rows in text form; null is `None`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Table {
    /// The columns.
    pub columns: Vec<Heading>,
    /// The rows, each as long as `columns`.
    pub rows: Vec<Vec<Option<String>>>,
}

/// A column of a result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Heading {
    /// The name.
    pub name: String,
    /// How values are aligned and written in JSON.
    pub kind: Kind,
}

/// What matters of a type when values are printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Right-aligned; a bare number in JSON.
    Number,
    /// `t` and `f`; `true` and `false` in JSON.
    Boolean,
    /// Everything else.
    Text,
}

impl Table {
    /// A table of text columns without nulls.
    pub fn text(names: &[&str], rows: Vec<Vec<String>>) -> Table {
        let heading = |name: &&str| Heading { name: (*name).to_string(), kind: Kind::Text };
        let cells = |row: Vec<String>| row.into_iter().map(Some).collect();
        Table {
            columns: names.iter().map(heading).collect(),
            rows: rows.into_iter().map(cells).collect(),
        }
    }

    /// The same table with the columns at `ordinals` right-aligned, as numbers are.
    pub fn with_numbers(mut self, ordinals: &[usize]) -> Table {
        for &ordinal in ordinals {
            self.columns[ordinal].kind = Kind::Number;
        }
        self
    }
}

/// A table of the catalog.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Relation {
    /// The name.
    pub name: String,
    /// The columns.
    pub columns: Vec<RelationColumn>,
    /// Names of the primary key's columns, in key order.
    pub primary_key: Vec<String>,
    /// The secondary indexes.
    pub indexes: Vec<RelationIndex>,
    /// Rows, as far as statistics know.
    pub row_count: u64,
}

/// A column of a table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RelationColumn {
    /// The name.
    pub name: String,
    /// The type as SQL writes it.
    pub ty: String,
    /// Whether null is allowed.
    pub nullable: bool,
}

/// An index of a table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RelationIndex {
    /// The name.
    pub name: String,
    /// Names of the indexed columns, in key order.
    pub columns: Vec<String>,
    /// Names of the columns that it only carries.
    pub included: Vec<String>,
    /// Whether it forbids duplicates.
    pub unique: bool,
    /// Whether it upholds the primary key.
    pub primary: bool,
    /// When a transaction checks that, in the words of SQL; empty at the end of each statement.
    pub deferral: &'static str,
    /// The access method: `btree` or `hash`.
    pub method: &'static str,
}
