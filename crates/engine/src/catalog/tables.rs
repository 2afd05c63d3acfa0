//! The tables of a version of the catalog. Versions share them until a definition changes, so that a
//! version which changes only rows costs the same with any number of tables.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Weak};

use plan::catalog::{TableDef, TableId};

use super::entry::TableEntry;

/// Tables by name, and by id.
#[derive(Clone, Default)]
pub(crate) struct Tables(Arc<Inner>);

#[derive(Clone, Default)]
struct Inner {
    by_name: BTreeMap<String, Arc<TableEntry>>,
    names: BTreeMap<TableId, String>,
    /// The sequences of columns by name, with table and ordinal.
    sequences: BTreeSet<(String, TableId, usize)>,
    /// Tables that are referred to, each with one that refers to it.
    references: BTreeSet<(TableId, TableId)>,
}

impl Inner {
    fn add(&mut self, entry: &TableEntry) {
        let def = &entry.def;
        self.names.insert(def.id, def.name.clone());
        self.sequences.extend(numbered(def).map(|at| (def.sequence_name(at), def.id, at)));
        self.references
            .extend(def.constraints.foreign_keys.iter().map(|k| (TableId(k.table), def.id)));
    }

    fn forget(&mut self, entry: &TableEntry) {
        let def = &entry.def;
        self.names.remove(&def.id);
        for at in numbered(def) {
            self.sequences.remove(&(def.sequence_name(at), def.id, at));
        }
        for key in &def.constraints.foreign_keys {
            self.references.remove(&(TableId(key.table), def.id));
        }
    }
}

/// Tells the tables of some definitions from those of others, and keeps none of them.
pub(crate) struct TablesMark(Weak<Inner>);

impl Tables {
    pub(crate) fn mark(&self) -> TablesMark {
        TablesMark(Arc::downgrade(&self.0))
    }
}

impl TablesMark {
    /// True if these are the tables.
    pub(crate) fn is_of(&self, tables: &Tables) -> bool {
        Weak::as_ptr(&self.0) == Arc::as_ptr(&tables.0)
    }
}

/// The ordinals of columns that have sequences.
fn numbered(def: &TableDef) -> impl Iterator<Item = usize> {
    let count = def.constraints.defaults.len();
    (0..count).filter(|ordinal| def.constraints.identity_of(*ordinal).is_some())
}

/// Whether tables around another one are what they were, as far as that has to do with them.
fn same<'a>(
    mut some: impl Iterator<Item = &'a Arc<TableEntry>>,
    mut others: impl Iterator<Item = &'a Arc<TableEntry>>,
    to: TableId,
) -> bool {
    let has_same = |now: &Arc<TableEntry>| others.next().is_some_and(|then| is_same(now, then, to));
    some.all(has_same) && others.next().is_none()
}

/// True if nothing of a table has changed but the statistics of its rows.
fn is_unchanged(now: &Arc<TableEntry>, then: &Arc<TableEntry>) -> bool {
    let (new, old) = (&now.def, &then.def);
    Arc::ptr_eq(now, then)
        || now.trees().eq(then.trees())
            && (new.id, &new.name, new.storage) == (old.id, &old.name, old.storage)
            && (&new.schema, &new.primary_key) == (&old.schema, &old.primary_key)
            && new.indexes.iter().map(Arc::as_ptr).eq(old.indexes.iter().map(Arc::as_ptr))
            && Arc::ptr_eq(&new.constraints, &old.constraints)
}

/// Whether a table is what it was, but for what it refers to besides `to`.
fn is_same(now: &Arc<TableEntry>, then: &Arc<TableEntry>, to: TableId) -> bool {
    let constraints = |entry: &TableEntry| {
        let mut constraints = (*entry.def.constraints).clone();
        constraints.foreign_keys.retain(|key| key.table == to.0);
        constraints
    };
    let (new, old) = (&now.def, &then.def);
    Arc::ptr_eq(now, then)
        || now.trees().eq(then.trees())
            && (new.id, &new.name, &new.primary_key) == (old.id, &old.name, &old.primary_key)
            && new.schema == old.schema
            && new.indexes.iter().map(Arc::as_ptr).eq(old.indexes.iter().map(Arc::as_ptr))
            && constraints(now) == constraints(then)
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

    /// True if all older tables are there unchanged, but for their statistics, and no other table
    /// refers to one of them.
    pub(crate) fn only_adds_to(&self, older: &Tables) -> bool {
        let is_same = |entry: &Arc<TableEntry>| {
            self.by_id(entry.def.id).is_some_and(|newer| is_unchanged(newer, entry))
        };
        let added = self.values().filter(|entry| older.by_id(entry.def.id).is_none());
        let mut referred = added.flat_map(|entry| &entry.def.constraints.foreign_keys);
        older.values().all(is_same) && referred.all(|key| older.by_id(TableId(key.table)).is_none())
    }

    /// The tables to which one refers.
    pub(crate) fn referred<'a>(
        &'a self,
        entry: &'a TableEntry,
    ) -> impl Iterator<Item = &'a Arc<TableEntry>> {
        let keys = entry.def.constraints.foreign_keys.iter();
        keys.filter_map(|key| self.by_id(TableId(key.table)))
    }

    /// Whether a table of older ones is the same, with those that refer to it and those to which it refers, as far
    /// as these have to do with it.
    pub(crate) fn has_as_in(&self, older: &Tables, id: TableId) -> bool {
        let (Some(now), Some(then)) = (self.by_id(id), older.by_id(id)) else { return false };
        is_unchanged(now, then)
            && same(self.referring(id), older.referring(id), id)
            && same(self.referred(now), older.referred(then), id)
    }

    /// The column whose sequence has this name.
    pub(crate) fn numbered_column(&self, name: &str) -> Option<(&Arc<TableEntry>, usize)> {
        let from = (name.to_owned(), TableId(0), 0);
        let (found, id, ordinal) = self.0.sequences.range(from..).next()?;
        (found == name).then_some((self.by_id(*id)?, *ordinal))
    }

    /// The tables that refer to one.
    pub(crate) fn referring(&self, parent: TableId) -> impl Iterator<Item = &Arc<TableEntry>> {
        let range = (parent, TableId(0))..=(parent, TableId(u32::MAX));
        self.0.references.range(range).filter_map(|(_, child)| self.by_id(*child))
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
        let displaced = inner.by_name.insert(entry.def.name.clone(), entry.clone());
        displaced.iter().for_each(|displaced| inner.forget(displaced));
        inner.add(&entry);
        displaced
    }

    /// Takes a table out.
    pub(crate) fn remove(&mut self, name: &str) -> Option<Arc<TableEntry>> {
        if !self.contains_key(name) {
            return None;
        }
        let inner = Arc::make_mut(&mut self.0);
        let removed = inner.by_name.remove(name)?;
        inner.forget(&removed);
        Some(removed)
    }
}
