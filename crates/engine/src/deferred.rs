//! Constraints that a transaction checks when it commits.

use std::collections::{BTreeMap, BTreeSet};

use plan::catalog::TableId;
use plan::constraints::Deferral;
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

    /// Whether violations of a constraint are looked for at the end of the transaction, not of the statement.
    pub(crate) fn defers(&self, name: &str, deferral: Deferral) -> bool {
        let said = self.named.get(name).copied().or(self.all);
        match deferral {
            Deferral::Never => false,
            Deferral::Possible => said.unwrap_or(false),
            Deferral::Initial => said.unwrap_or(true),
        }
    }
}

/// Values of which rows may break a deferrable constraint, as a statement has left them.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Doubt {
    /// The table that has the constraint.
    pub(crate) table: TableId,
    /// The constraint's name.
    pub(crate) constraint: String,
    /// What is in doubt.
    pub(crate) what: Doubted,
    /// The values of its columns, as texts; none where all its rows are in doubt.
    pub(crate) values: Vec<String>,
}

/// What is in doubt of some values.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Doubted {
    /// Rows have come that refer to none.
    Missing,
    /// The row that others refer to has gone.
    Removed,
    /// Several rows may have them in a unique key.
    Unique,
}

/// Those of a transaction. Some of them may be in doubt no more, or be undone.
pub(crate) type Doubts = BTreeSet<Doubt>;
