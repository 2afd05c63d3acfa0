//! What a table demands of its rows besides types and keys: defaults, checks, foreign keys.

use serde::{Deserialize, Serialize};

use crate::sequence::Sequence;

/// The constraints of a table. Expressions are kept as text and bound where they are used.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Constraints {
    /// Name of the primary key's constraint; `None` is the usual one, `<table>_pkey`.
    #[serde(default)]
    pub primary_key_name: Option<String>,
    /// Values of columns that a statement leaves out: one per column, or none at all.
    #[serde(default)]
    pub defaults: Vec<Option<ColumnDefault>>,
    /// Names of the unique indexes that are constraints.
    #[serde(default)]
    pub unique: Vec<String>,
    /// Conditions that no row may make false.
    #[serde(default)]
    pub checks: Vec<Check>,
    /// References to rows of other tables.
    #[serde(default)]
    pub foreign_keys: Vec<ForeignKey>,
}

/// The value of a column that a statement leaves out.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum ColumnDefault {
    /// An expression without columns.
    Expression(String),
    /// The numbers of an identity column or a `serial`.
    Identity(Identity),
    /// An expression over the other columns, stored (`GENERATED ALWAYS AS (..) STORED`).
    Generated(String),
}

/// A sequence that belongs to a column.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Identity {
    /// Its numbers.
    #[serde(flatten)]
    pub sequence: Sequence,
    /// The sequence's name, once it is not that of table and column any more.
    #[serde(default)]
    pub name: Option<String>,
    /// True if a statement may not give values of its own (`GENERATED ALWAYS`).
    pub always: bool,
    /// True if it is the standard's identity column, not a `serial`.
    #[serde(default)]
    pub standard: bool,
}

/// `CHECK (expression)`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Check {
    /// The constraint's name.
    pub name: String,
    /// The condition.
    pub expression: String,
}

/// `FOREIGN KEY (columns) REFERENCES table (columns)`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ForeignKey {
    /// The constraint's name.
    pub name: String,
    /// Ordinals of the referencing columns.
    pub columns: Vec<usize>,
    /// Id of the referenced table.
    pub table: u32,
    /// Ordinals of the referenced columns: those of a key that is not deferrable.
    pub referenced: Vec<usize>,
    /// What happens to rows that refer to a row that is deleted.
    pub on_delete: ReferentialAction,
    /// What happens to rows that refer to a key that changes.
    pub on_update: ReferentialAction,
    /// When a transaction checks it.
    #[serde(default)]
    pub deferral: Deferral,
}

/// When a transaction checks a constraint.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Deferral {
    /// At the end of each statement: `NOT DEFERRABLE`.
    #[default]
    Never,
    /// At the end of each statement, unless `SET CONSTRAINTS` defers it: `DEFERRABLE`.
    Possible,
    /// When it commits, unless `SET CONSTRAINTS` says otherwise: `INITIALLY DEFERRED`.
    Initial,
}

impl Deferral {
    /// As a constraint's definition says it behind the rest; nothing where it need not.
    pub fn words(self) -> &'static str {
        match self {
            Deferral::Never => "",
            Deferral::Possible => " DEFERRABLE",
            Deferral::Initial => " DEFERRABLE INITIALLY DEFERRED",
        }
    }

    /// True if it is checked at the end of each statement, whatever a transaction says.
    pub fn is_never(&self) -> bool {
        *self == Deferral::Never
    }
}

/// What happens to referring rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum ReferentialAction {
    /// The statement fails if there are any, or the transaction when the key is deferred: `NO
    /// ACTION`.
    Refuse,
    /// The statement fails if there are any.
    Restrict,
    /// They are deleted, or changed alike.
    Cascade,
    /// Their columns become null.
    SetNull,
    /// Their columns take their defaults.
    SetDefault,
}

impl Constraints {
    /// The identity of a column, or of a `serial`.
    pub fn identity_of(&self, ordinal: usize) -> Option<&Identity> {
        match self.default_of(ordinal) {
            Some(ColumnDefault::Identity(identity)) => Some(identity),
            _ => None,
        }
    }

    /// The default of a column.
    pub fn default_of(&self, ordinal: usize) -> Option<&ColumnDefault> {
        self.defaults.get(ordinal)?.as_ref()
    }

    /// True if rows are checked one by one, or have columns that are computed from others.
    pub fn have_rules(&self) -> bool {
        let is_generated = |default| matches!(default, &ColumnDefault::Generated(_));
        !self.checks.is_empty() || self.defaults.iter().flatten().any(is_generated)
    }

    /// True if there is nothing to check or fill in.
    pub fn is_empty(&self) -> bool {
        *self == Constraints::default()
    }
}
