//! A table with its trees.

use std::sync::{Arc, OnceLock};

use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use plan::IndexRef;
use plan::catalog::{IndexDef, IndexId, IndexMethod, TableDef, TableStatistics, TableStorage};
use storage::{Store, Tree, TreeId};
use types::SqlResult;
use types::row::{RowLayout, row_id_of};

use super::row_ids::RowIds;
use crate::columns::stored::StoredColumns;
use crate::columns::table::Columns;
use crate::fault;

/// A table with its trees.
#[derive(Clone)]
pub(crate) struct TableEntry {
    pub(crate) def: Arc<TableDef>,
    pub(crate) tree_id: TreeId,
    pub(crate) tree: Tree,
    pub(crate) layout: Arc<RowLayout>,
    /// In the order of `def.indexes`.
    pub(crate) indexes: Vec<IndexEntry>,
    /// Of a column table.
    pub(crate) columns: Option<Columns>,
    pub(super) row_ids: RowIds,
    /// A batch of its columns without rows, once one was asked for.
    no_rows: OnceLock<RecordBatch>,
}

/// Where columns lie in the entries of an index.
pub(crate) fn index_layout(def: &TableDef, index: &IndexDef) -> RowLayout {
    let (schema, primary_key) = (&def.schema, &def.primary_key);
    match index.method {
        IndexMethod::Tree => RowLayout::index(schema, primary_key, &index.columns, &index.included),
        IndexMethod::Hash => RowLayout::hash_index(schema, primary_key, index.columns[0]),
    }
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
    ) -> SqlResult<TableEntry> {
        assert_eq!(def.indexes.len(), index_tree_ids.len(), "each index has a tree");
        let layout = Arc::new(RowLayout::clustered(&def.schema, &def.primary_key));
        let index = |(index, &tree_id): (&Arc<IndexDef>, &TreeId)| {
            let layout = index_layout(&def, index);
            let tree = store.tree(tree_id).map_err(fault::storage)?;
            let tree = tree.hashed(index.is_hash()).interleaved(true);
            Ok(IndexEntry { id: index.id, tree_id, tree, layout: Arc::new(layout) })
        };
        let indexes = def.indexes.iter().zip(index_tree_ids).map(index);
        let indexes = indexes.collect::<SqlResult<_>>()?;
        let tree = store.tree(tree_id).map_err(fault::storage)?.interleaved(true);
        Ok(TableEntry {
            def: Arc::new(def),
            tree_id,
            tree,
            layout,
            indexes,
            columns: None,
            row_ids: RowIds::default(),
            no_rows: OnceLock::new(),
        })
    }

    /// The same with the trees that a column table has besides.
    ///
    /// # Errors
    /// XX001 for trees that there are not.
    pub(crate) fn with_columns(
        self,
        store: &Store,
        stored: Option<&StoredColumns>,
    ) -> SqlResult<TableEntry> {
        let Some(stored) = stored else { return Ok(self) };
        let columns = Some(Columns::open(store, stored)?);
        let mut def = self.def;
        Arc::make_mut(&mut def).storage = TableStorage::Column;
        Ok(TableEntry { def, columns, ..self })
    }

    /// The table with these trees of the indexes of another definition.
    ///
    /// # Errors
    /// XX001 for trees that there are not.
    pub(crate) fn with_indexes(
        &self,
        store: &Store,
        def: TableDef,
        trees: &[TreeId],
    ) -> SqlResult<TableEntry> {
        let new = TableEntry::new(store, def, self.tree_id, trees)?;
        new.with_columns(store, self.stored_columns().as_ref())
    }

    /// What a record says of those.
    pub(crate) fn stored_columns(&self) -> Option<StoredColumns> {
        self.columns.as_ref().map(Columns::stored)
    }

    /// True if its rows are at a location of their own.
    pub(crate) fn lies_elsewhere(&self) -> bool {
        self.columns.as_ref().is_some_and(|columns| columns.remote.is_some())
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

    /// A batch of its columns without rows.
    pub(crate) fn no_rows(&self) -> &RecordBatch {
        self.no_rows.get_or_init(|| RecordBatch::new_empty(self.def.schema.arrow()))
    }

    /// Its columns.
    pub(crate) fn schema(&self) -> SchemaRef {
        self.no_rows().schema()
    }

    /// Its rows, those too that nobody sees yet.
    pub(crate) fn row_count(&self) -> u64 {
        self.tree.stats().entries + self.columns.as_ref().map_or(0, Columns::row_count)
    }

    /// The definition with the counts of the moment, as planning wants it.
    pub(crate) fn current(&self) -> Arc<TableDef> {
        let (known, now) = (&self.def.statistics, self.tree.stats());
        let index_leaf_pages = || self.indexes.iter().map(|index| index.tree.stats().leaf_pages);
        let row_count = self.row_count();
        let column_count = self.def.schema.columns.len();
        let (column_pages, column_bytes) = match &self.columns {
            None => (0, vec![]),
            Some(columns) => (columns.page_count(), columns.column_bytes(column_count)),
        };
        let is_remote = self.lies_elsewhere();
        let leaf_pages = now.leaf_pages + column_pages;
        if known.row_count == row_count
            && known.column_bytes == column_bytes
            && known.is_remote == is_remote
            && known.leaf_pages == leaf_pages
            && known.index_leaf_pages.iter().copied().eq(index_leaf_pages())
        {
            return self.def.clone();
        }
        let statistics = TableStatistics {
            row_count,
            leaf_pages,
            index_leaf_pages: index_leaf_pages().collect(),
            column_bytes,
            is_remote,
            columns: known.columns.clone(),
        };
        let mut def = (*self.def).clone();
        def.statistics = Arc::new(statistics);
        Arc::new(def)
    }

    /// The same table with another definition (statistics), over the same trees.
    pub(crate) fn with_def(&self, def: TableDef) -> TableEntry {
        TableEntry { def: Arc::new(def), no_rows: OnceLock::new(), ..self.clone() }
    }

    /// The tree in which a row goes: one in a part of a column table goes by a mark.
    pub(crate) fn tree_of_row(&self, key: &[u8]) -> TreeId {
        let columns = self.columns.as_ref().filter(|columns| columns.has(row_id_of(key)));
        columns.map_or(self.tree_id, |columns| columns.deleted.id())
    }

    /// Whether it has the columns and constraints of the other one, which is the same table at another time.
    pub(crate) fn has_shape_of(&self, other: &TableEntry) -> bool {
        let indexes =
            |entry: &TableEntry| entry.def.indexes.iter().map(|i| i.id).collect::<Vec<_>>();
        self.def.schema == other.def.schema
            && Arc::ptr_eq(&self.def.constraints, &other.def.constraints)
            && indexes(self) == indexes(other)
    }

    /// All its trees: the clustered one, then those of the indexes, then those of its columns.
    pub(crate) fn trees(&self) -> impl Iterator<Item = TreeId> {
        let columns = self.columns.iter().flat_map(Columns::trees);
        std::iter::once(self.tree_id).chain(self.index_trees()).chain(columns)
    }

    /// Whether it has the delta and the marks of an older one, and parts which that has not: a load has added rows.
    pub(crate) fn has_parts_besides(&self, older: &TableEntry) -> bool {
        let (Some(now), Some(then)) = (&self.columns, &older.columns) else { return false };
        self.tree_id == older.tree_id
            && now.deleted.id() == then.deleted.id()
            && !now.trees().all(|tree| then.trees().any(|old| old == tree))
    }

    /// The same as a list.
    pub(crate) fn tree_ids(&self) -> Vec<TreeId> {
        self.trees().collect()
    }

    /// Those of the indexes.
    pub(crate) fn index_trees(&self) -> impl Iterator<Item = TreeId> {
        self.indexes.iter().map(|index| index.tree_id)
    }
}
