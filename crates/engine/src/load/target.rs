//! What is loaded into.

use std::sync::Arc;

use plan::catalog::{IndexDef, IndexId};

use crate::catalog::entry::TableEntry;

/// A table that is loaded.
pub(crate) struct Target {
    /// The table.
    pub(crate) entry: Arc<TableEntry>,
    /// Its unique indexes of which it is not looked whether they are.
    pub(crate) unchecked: Vec<IndexId>,
}

impl Target {
    /// A table whose unique keys are checked.
    pub(crate) fn of(entry: Arc<TableEntry>) -> Target {
        Target { entry, unchecked: vec![] }
    }

    /// How many leading columns of an index's key must be unique, and the name of the constraint.
    pub(crate) fn unique(&self, index: &IndexDef) -> Option<(usize, String)> {
        let is_checked = index.unique && !self.unchecked.contains(&index.id);
        is_checked.then(|| (index.columns.len(), index.name.clone()))
    }
}
