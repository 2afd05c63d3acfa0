//! The tables of a version of the catalog. Versions share them until a definition changes, so that a
//! version which changes only rows costs the same with any number of tables.

use std::collections::BTreeMap;
use std::sync::Arc;

use sql::catalog::TableId;

use super::TableEntry;

/// Tables by name, and by id.
#[derive(Clone, Default)]
pub(crate) struct Tables(Arc<Inner>);

#[derive(Clone, Default)]
struct Inner {
    by_name: BTreeMap<String, Arc<TableEntry>>,
    names: BTreeMap<TableId, String>,
}

impl Tables {
    /// The table of this name.
    pub(crate) fn get(&self, name: &str) -> Option<&Arc<TableEntry>> {
        self.0.by_name.get(name)
    }

    /// Whether there is a table of this name.
    pub(crate) fn contains_key(&self, name: &str) -> bool {
        self.0.by_name.contains_key(name)
    }

    /// The table with this id.
    pub(crate) fn by_id(&self, id: TableId) -> Option<&Arc<TableEntry>> {
        self.get(self.0.names.get(&id)?)
    }

    /// All tables, ordered by name.
    pub(crate) fn values(&self) -> impl Iterator<Item = &Arc<TableEntry>> {
        self.0.by_name.values()
    }

    /// Their names, in order.
    pub(crate) fn keys(&self) -> impl Iterator<Item = &String> {
        self.0.by_name.keys()
    }

    /// Their ids, in order.
    pub(crate) fn ids(&self) -> impl Iterator<Item = TableId> {
        self.0.names.keys().copied()
    }

    /// Whether both are the same tables, by a look at where they are: nothing has changed between them.
    pub(crate) fn is_same(&self, other: &Tables) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }

    /// Puts a table in; the one that had its name goes.
    pub(crate) fn insert(&mut self, entry: Arc<TableEntry>) -> Option<Arc<TableEntry>> {
        let inner = Arc::make_mut(&mut self.0);
        let (id, name) = (entry.def.id, entry.def.name.clone());
        let displaced = inner.by_name.insert(name.clone(), entry);
        if let Some(displaced) = &displaced {
            inner.names.remove(&displaced.def.id);
        }
        inner.names.insert(id, name);
        displaced
    }

    /// Takes a table out.
    pub(crate) fn remove(&mut self, name: &str) -> Option<Arc<TableEntry>> {
        if !self.contains_key(name) {
            return None;
        }
        let inner = Arc::make_mut(&mut self.0);
        let removed = inner.by_name.remove(name)?;
        inner.names.remove(&removed.def.id);
        Some(removed)
    }
}
