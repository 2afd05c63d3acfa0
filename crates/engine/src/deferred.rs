//! Constraints that a transaction checks when it commits.

use std::collections::{BTreeMap, BTreeSet};

use sql::catalog::TableId;
use sql::constraints::{Deferral, ForeignKey};
use sql::parse::SetConstraints;

/// Which deferrable constraints a transaction defers: what `SET CONSTRAINTS` has said.
#[derive(Clone, Debug, Default)]
pub(crate) struct Deferrals {
    all: Option<bool>,
    /// By the constraint's name, said after `all`.
    named: BTreeMap<String, bool>,
}

impl Deferrals {
    /// Notes what the statement says.
    pub(crate) fn set(&mut self, set: &SetConstraints) {
        if set.names.is_empty() {
            *self = Deferrals { all: Some(set.deferred), named: BTreeMap::new() };
        }
        self.named.extend(set.names.iter().map(|name| (name.clone(), set.deferred)));
    }

    /// Whether a violation is looked for at the end of the transaction, not of the statement.
    pub(crate) fn defers(&self, key: &ForeignKey) -> bool {
        let said = self.named.get(&key.name).copied().or(self.all);
        match key.deferral {
            Deferral::Never => false,
            Deferral::Possible => said.unwrap_or(false),
            Deferral::Initial => said.unwrap_or(true),
        }
    }
}

/// Values that a deferred foreign key has found no row for, when a statement ended.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Dangling {
    /// The table that refers.
    pub(crate) table: TableId,
    /// The foreign key's name.
    pub(crate) constraint: String,
    /// Whether the row that was referred to has gone; else rows have come that refer to none.
    pub(crate) was_removed: bool,
    /// The values of its columns, as texts.
    pub(crate) values: Vec<String>,
}

/// Those of a transaction. Some of them may dangle no more, or be undone.
pub(crate) type DanglingKeys = BTreeSet<Dangling>;
