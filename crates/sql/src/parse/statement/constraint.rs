//! What definitions of columns and constraints say.

use plan::constraints::{ColumnDefault, Deferral, ReferentialAction};
use types::Column;

/// A constraint whose names are not resolved yet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ConstraintSpec {
    /// `PRIMARY KEY (columns)`.
    PrimaryKey {
        /// The constraint's name, if the statement gives one.
        name: Option<String>,
        /// The columns.
        columns: Vec<String>,
        /// When a transaction checks it.
        deferral: Deferral,
    },
    /// `UNIQUE (columns) INCLUDE (included)`.
    Unique {
        /// The constraint's name, if the statement gives one.
        name: Option<String>,
        /// The columns.
        columns: Vec<String>,
        /// Columns that its index only carries.
        included: Vec<String>,
        /// When a transaction checks it.
        deferral: Deferral,
    },
    /// `CHECK (expression)`.
    Check {
        /// The constraint's name, if the statement gives one.
        name: Option<String>,
        /// The condition.
        expression: String,
        /// The columns that it names.
        columns: Vec<String>,
    },
    /// `FOREIGN KEY`.
    ForeignKey(ForeignKeySpec),
}

/// `FOREIGN KEY (columns) REFERENCES table (columns)`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ForeignKeySpec {
    /// The constraint's name, if the statement gives one.
    pub name: Option<String>,
    /// The referencing columns.
    pub columns: Vec<String>,
    /// The referenced table.
    pub table: String,
    /// The referenced columns; empty means the primary key.
    pub referenced: Vec<String>,
    /// What happens when a referenced row is deleted.
    pub on_delete: ReferentialAction,
    /// What happens when a referenced key changes.
    pub on_update: ReferentialAction,
    /// When a transaction checks it.
    pub deferral: Deferral,
}

/// A column with what its definition says of it.
#[derive(Clone, Debug)]
pub struct ColumnSpec {
    /// Name, type, and whether null is allowed.
    pub column: Column,
    /// Its default.
    pub default: Option<ColumnDefault>,
    /// Constraints that stand with the column.
    pub constraints: Vec<ConstraintSpec>,
}

/// `SET CONSTRAINTS`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SetConstraints {
    /// Names of constraints; none means all.
    pub names: Vec<String>,
    /// Whether they are checked when the transaction commits.
    pub deferred: bool,
}
