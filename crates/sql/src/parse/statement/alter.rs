//! What `ALTER TABLE` says.

use plan::constraints::{ColumnDefault, Deferral};
use types::LogicalType;

use crate::parse::object_name::RelationName;
use crate::parse::statement::constraint::{ColumnSpec, ConstraintSpec};

/// `ALTER TABLE`.
#[derive(Clone, Debug)]
pub struct AlterTable {
    /// The table.
    pub table: RelationName,
    /// No error if it does not exist.
    pub if_exists: bool,
    /// What changes, in order.
    pub alterations: Vec<Alteration>,
}

/// `ALTER TABLE | VIEW | INDEX | SEQUENCE .. RENAME TO`: each takes names of several kinds of
/// relations.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RenameRelation {
    /// The kind as the statement calls it.
    pub kind: Renamed,
    /// The relation.
    pub relation: RelationName,
    /// No error if it does not exist.
    pub if_exists: bool,
    /// Its new name.
    pub new: String,
}

/// The object that a statement gives another name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Renamed {
    /// A table, or any relation.
    Table,
    /// A view.
    View,
    /// An index.
    Index,
}

/// What `ALTER TABLE` changes.
#[derive(Clone, Debug)]
pub enum Alteration {
    /// `ADD COLUMN`.
    AddColumn {
        /// The column.
        column: Box<ColumnSpec>,
        /// No error if it exists.
        if_not_exists: bool,
    },
    /// `DROP COLUMN`.
    DropColumn {
        /// The column.
        name: String,
        /// No error if it does not exist.
        if_exists: bool,
        /// Keys and constraints of it go too.
        cascade: bool,
    },
    /// `RENAME COLUMN`.
    RenameColumn {
        /// The column.
        old: String,
        /// Its new name.
        new: String,
    },
    /// `RENAME TO`.
    Rename {
        /// The new name.
        new: String,
    },
    /// `ALTER INDEX .. RENAME TO` of one of its indexes.
    RenameIndex {
        /// The index.
        old: String,
        /// Its new name.
        new: String,
    },
    /// `ADD CONSTRAINT`.
    AddConstraint(ConstraintSpec),
    /// `DROP CONSTRAINT`.
    DropConstraint {
        /// The constraint.
        name: String,
        /// No error if it does not exist.
        if_exists: bool,
        /// Foreign keys that need it go too.
        cascade: bool,
    },
    /// `RENAME CONSTRAINT`.
    RenameConstraint {
        /// The constraint.
        old: String,
        /// Its new name.
        new: String,
    },
    /// `ALTER CONSTRAINT .. DEFERRABLE`, `NOT DEFERRABLE`.
    Deferral {
        /// The constraint.
        name: String,
        /// When a transaction checks it from now on.
        deferral: Deferral,
    },
    /// `ALTER COLUMN .. SET DEFAULT`, `DROP DEFAULT`, `ADD GENERATED .. AS IDENTITY`.
    Default {
        /// The column.
        column: String,
        /// `None` drops it.
        default: Option<ColumnDefault>,
    },
    /// `ALTER COLUMN .. SET NOT NULL`, `DROP NOT NULL`.
    Nullable {
        /// The column.
        column: String,
        /// Whether null is allowed from now on.
        nullable: bool,
    },
    /// `ALTER COLUMN .. TYPE`.
    Type {
        /// The column.
        column: String,
        /// The new type.
        ty: LogicalType,
        /// The new value as SQL; `None` casts the old one.
        using: Option<String>,
    },
}
