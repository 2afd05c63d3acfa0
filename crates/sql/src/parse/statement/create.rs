//! What `CREATE TABLE`, `CREATE INDEX` and `DROP` say.

use plan::generated::{first_free, joined};

use crate::catalog::view::ViewDef;
use crate::parse::object_name::RelationName;
use crate::parse::statement::constraint::{ColumnSpec, ConstraintSpec};
use crate::parse::statement::query::Query;

/// What becomes of a temporary table when a transaction commits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OnCommit {
    /// Nothing.
    #[default]
    PreserveRows,
    /// It loses its rows.
    DeleteRows,
    /// It is dropped.
    Drop,
}

/// `CREATE TABLE`.
#[derive(Clone, Debug)]
pub struct CreateTable {
    /// The name.
    pub name: RelationName,
    /// No error if it exists.
    pub if_not_exists: bool,
    /// The columns, with the constraints that stand with them.
    pub columns: Vec<ColumnSpec>,
    /// The other constraints.
    pub constraints: Vec<ConstraintSpec>,
    /// `AS query`.
    pub query: Option<Query>,
    /// Only its session sees it.
    pub temporary: bool,
    /// What becomes of it when a transaction commits.
    pub on_commit: OnCommit,
    /// How its rows are kept, if the statement says so.
    pub storage: Option<plan::catalog::TableStorage>,
    /// Where its chunks lie, if not in the file.
    pub location: Option<String>,
}

/// `CREATE INDEX`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CreateIndex {
    /// The name, if the statement gives one.
    pub name: Option<String>,
    /// The table.
    pub table: RelationName,
    /// Names of the indexed columns, in key order.
    pub columns: Vec<String>,
    /// How each of them is to be ordered.
    pub orders: Vec<plan::catalog::KeyOrder>,
    /// Names of the columns that entries only carry.
    pub included: Vec<String>,
    /// Whether duplicates are refused.
    pub unique: bool,
    /// What the entries are to be ordered by.
    pub method: plan::catalog::IndexMethod,
    /// No error if it exists.
    pub if_not_exists: bool,
}

impl CreateIndex {
    /// The name given, or one made of table and columns that is not taken.
    pub fn name_among(&self, is_taken: impl Fn(&str) -> bool) -> String {
        let columns = joined(self.columns.iter().chain(&self.included).map(String::as_str));
        let free = || first_free((&self.table, &columns, "idx"), is_taken);
        self.name.clone().unwrap_or_else(free)
    }
}

/// `DROP`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Drop {
    /// What kind of object.
    pub object: DropObject,
    /// The names.
    pub names: Vec<RelationName>,
    /// No error if one does not exist.
    pub if_exists: bool,
    /// What depends on them goes too.
    pub cascade: bool,
}

/// What `DROP` drops.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DropObject {
    /// A table with its indexes.
    Table,
    /// A secondary index.
    Index,
    /// A view.
    View,
    /// A sequence.
    Sequence,
}

/// `CREATE VIEW`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CreateView {
    /// Its name as the statement has it.
    pub name: RelationName,
    /// The view.
    pub view: ViewDef,
    /// Takes the place of a view of this name.
    pub or_replace: bool,
}
