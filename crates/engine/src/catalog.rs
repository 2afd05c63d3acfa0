//! The catalog in memory: an immutable snapshot per version, swapped as a whole.

mod persist;
mod temporary;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use sql::ViewDef;
use sql::catalog::{IndexDef, IndexId, TableDef, TableId};
use sql::constraints::ColumnDefault;
use sql::plan::IndexRef;
use sql::sequence::{Sequence, SequenceDef};
use storage::{Store, Tree, TreeId};
use types::row::RowLayout;
use types::{SqlError, SqlResult, SqlState};

use crate::access::{Access, Relation};
use crate::comments::Comments;
use crate::fault;
use crate::undo::ReadView;
use crate::visible::VisibleTree;

pub(crate) use persist::{load, reserve, save};
pub(crate) use temporary::Temporaries;

/// A table with its trees.
#[derive(Clone)]
pub(crate) struct TableEntry {
    pub(crate) def: Arc<TableDef>,
    pub(crate) tree_id: TreeId,
    pub(crate) tree: Tree,
    pub(crate) layout: Arc<RowLayout>,
    /// In the order of `def.indexes`.
    pub(crate) indexes: Vec<IndexEntry>,
    /// The next hidden row id, of a table without primary key.
    pub(crate) next_row_id: i64,
}

/// A secondary index with its tree.
#[derive(Clone)]
pub(crate) struct IndexEntry {
    pub(crate) id: IndexId,
    pub(crate) tree_id: TreeId,
    pub(crate) tree: Tree,
    pub(crate) layout: Arc<RowLayout>,
}

impl TableEntry {
    /// An entry for a table whose trees exist.
    pub(crate) fn new(
        store: &Store,
        def: TableDef,
        tree_id: TreeId,
        index_tree_ids: &[TreeId],
        next_row_id: i64,
    ) -> SqlResult<TableEntry> {
        assert_eq!(def.indexes.len(), index_tree_ids.len(), "each index has a tree");
        let layout = Arc::new(RowLayout::clustered(&def.schema, &def.primary_key));
        let index = |(index, &tree_id): (&Arc<IndexDef>, &TreeId)| {
            let (columns, included) = (&index.columns, &index.included);
            let layout = RowLayout::index(&def.schema, &def.primary_key, columns, included);
            let tree = store.tree(tree_id).map_err(fault::storage)?;
            Ok(IndexEntry { id: index.id, tree_id, tree, layout: Arc::new(layout) })
        };
        let indexes = def.indexes.iter().zip(index_tree_ids).map(index);
        let indexes = indexes.collect::<SqlResult<_>>()?;
        let tree = store.tree(tree_id).map_err(fault::storage)?;
        Ok(TableEntry { def: Arc::new(def), tree_id, tree, layout, indexes, next_row_id })
    }

    /// The tree that an access path names, with its layout.
    pub(crate) fn tree_of(&self, index: &IndexRef) -> (Tree, Arc<RowLayout>) {
        match index {
            IndexRef::Primary => (self.tree.clone(), self.layout.clone()),
            IndexRef::Secondary(def) => {
                let entry = self.indexes.iter().find(|i| i.id == def.id);
                let entry = entry.expect("plans are made from this catalog's snapshot");
                (entry.tree.clone(), entry.layout.clone())
            }
        }
    }

    /// Takes the sizes of the trees into the statistics.
    pub(crate) fn count_pages(&mut self) {
        let mut def = (*self.def).clone();
        let mut statistics = (*def.statistics).clone();
        statistics.leaf_pages = self.tree.stats().leaf_pages;
        statistics.index_leaf_pages =
            self.indexes.iter().map(|i| i.tree.stats().leaf_pages).collect();
        def.statistics = Arc::new(statistics);
        self.def = Arc::new(def);
    }

    /// The same table with another definition (statistics), over the same trees.
    pub(crate) fn with_def(&self, def: TableDef) -> TableEntry {
        TableEntry { def: Arc::new(def), ..self.clone() }
    }

    /// All its trees.
    pub(crate) fn tree_ids(&self) -> Vec<TreeId> {
        let indexes = self.indexes.iter().map(|i| i.tree_id);
        std::iter::once(self.tree_id).chain(indexes).collect()
    }
}

/// A version of the catalog.
#[derive(Clone, Default)]
pub(crate) struct Snapshot {
    pub(crate) tables: BTreeMap<String, Arc<TableEntry>>,
    pub(crate) views: BTreeMap<String, Arc<ViewDef>>,
    /// Those that `CREATE SEQUENCE` made; the others are parts of their columns.
    pub(crate) sequences: BTreeMap<String, Arc<SequenceDef>>,
    /// Tables that only one session sees.
    pub(crate) temporaries: Temporaries,
    /// What is said of the objects.
    pub(crate) comments: Arc<Comments>,
    /// Roles and privileges.
    pub(crate) access: Arc<Access>,
    /// The next id of a table or index.
    pub(crate) next_id: u32,
    /// The tree that holds this version on disk.
    pub(crate) tree_id: Option<TreeId>,
    /// Counts the versions.
    pub(crate) generation: u64,
    /// Trees that this version no longer needs; they go when it becomes that of all.
    pub(crate) abandoned: Vec<TreeId>,
    /// What its readers see.
    pub(crate) read_view: ReadView,
}

impl Snapshot {
    /// The table named `name`, or 42P01.
    pub(crate) fn table(&self, name: &str) -> SqlResult<&Arc<TableEntry>> {
        self.tables.get(name).ok_or_else(|| {
            let message = format!("relation \"{name}\" does not exist");
            SqlError::new(SqlState::UNDEFINED_TABLE, message)
        })
    }

    /// A tree as this version sees it.
    pub(crate) fn visible(&self, tree: Tree) -> VisibleTree {
        VisibleTree { tree, view: self.read_view.clone() }
    }

    /// The table with this id.
    pub(crate) fn table_by_id(&self, id: TableId) -> Option<&Arc<TableEntry>> {
        self.tables.values().find(|t| t.def.id == id)
    }

    /// The table that has the index named `name`, and the index's position.
    pub(crate) fn index(&self, name: &str) -> Option<(&Arc<TableEntry>, usize)> {
        let position = |t: &TableEntry| t.def.indexes.iter().position(|i| i.name == name);
        self.tables.values().find_map(|t| position(t).map(|i| (t, i)))
    }

    /// Whether a table, a view, an index or a sequence has this name.
    pub(crate) fn has_relation(&self, name: &str) -> bool {
        self.tables.contains_key(name)
            || self.views.contains_key(name)
            || self.has_sequence(name)
            || self.index(name).is_some()
    }

    /// Whether a sequence has this name, that of a column too.
    pub(crate) fn has_sequence(&self, name: &str) -> bool {
        self.sequences.contains_key(name) || self.numbered_column(name).is_some()
    }

    /// The numbers of all sequences.
    pub(crate) fn numbers(&self) -> impl Iterator<Item = &Sequence> {
        fn of_table(entry: &Arc<TableEntry>) -> impl Iterator<Item = &Sequence> {
            let defaults = entry.def.constraints.defaults.iter().flatten();
            defaults.filter_map(|default| match default {
                ColumnDefault::Identity(identity) => Some(&identity.sequence),
                _ => None,
            })
        }
        let made = self.sequences.values().map(|def| &def.sequence);
        self.tables.values().flat_map(of_table).chain(made)
    }

    /// The column whose sequence has this name.
    pub(crate) fn numbered_column(&self, name: &str) -> Option<(&Arc<TableEntry>, usize)> {
        self.tables.values().find_map(|entry| {
            let (constraints, def) = (&entry.def.constraints, &entry.def);
            let mut numbered = (0..constraints.defaults.len())
                .filter(|ordinal| constraints.identity_of(*ordinal).is_some());
            let found = numbered.find(|ordinal| def.sequence_name(*ordinal) == name);
            found.map(|ordinal| (entry, ordinal))
        })
    }

    /// A new id.
    pub(crate) fn take_id(&mut self) -> u32 {
        self.next_id += 1;
        self.next_id
    }

    /// Forgets the access lists of tables and views that are no more.
    pub(crate) fn forget_dropped(&mut self) {
        let tables = self.table_ids();
        let sequences: Vec<u32> = self.sequences.values().map(|sequence| sequence.id).collect();
        let views = &self.views;
        let is_there = |relation: &Relation<'_>| match relation {
            Relation::Table(id) => tables.contains(id),
            Relation::Sequence(id) => sequences.contains(id),
            Relation::View(name) => views.contains_key(*name),
        };
        if self.access.has_others(is_there) {
            Arc::make_mut(&mut self.access).retain(is_there);
        }
    }

    /// All trees that the version has to do with: those of its tables, its own, and those it lets go.
    pub(crate) fn trees(&self) -> BTreeSet<TreeId> {
        let tables = self.tables.values().flat_map(|entry| entry.tree_ids());
        let others = self.temporary_trees().into_iter().chain(self.abandoned.iter().copied());
        tables.chain(others).chain(self.tree_id).collect()
    }

    /// Whether it is a newer version than the other one.
    pub(crate) fn follows(&self, other: &Snapshot) -> bool {
        self.read_view.version() > other.read_view.version()
    }

    /// Lets trees go with the change that is being made.
    pub(crate) fn abandon(&mut self, trees: &[TreeId]) {
        self.abandoned.extend(trees);
    }

    /// Adds or replaces a table.
    pub(crate) fn put(&mut self, entry: TableEntry) {
        self.tables.insert(entry.def.name.clone(), Arc::new(entry));
    }
}

impl sql::catalog::Catalog for Snapshot {
    fn table(&self, name: &str) -> Option<Arc<TableDef>> {
        self.tables.get(name).map(|t| t.def.clone())
    }

    fn view(&self, name: &str) -> Option<Arc<ViewDef>> {
        self.views.get(name).cloned()
    }

    fn tables(&self) -> Vec<Arc<TableDef>> {
        self.tables.values().map(|t| t.def.clone()).collect()
    }
}
