//! A version of the catalog.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::{Deref, DerefMut};
use std::sync::Arc;

use plan::catalog::{TableDef, TableId};
use plan::sequence::{Sequence, SequenceDef};
use sql::ViewDef;
use storage::{Redo, Tree, TreeId, planted};
use txn::undo::ReadView;
use txn::visible::VisibleTree;
use types::{LogicalType, SqlError, SqlResult, SqlState};

use super::entry::TableEntry;
use super::sequence::SequenceKey;
use super::tables::Tables;
use super::temporary::Temporaries;
use crate::access::rights::{Access, Relation};
use crate::comments::subject::Comments;
use crate::device::stored::Profiles;
use crate::objects::stores::Stores;
use crate::secrets::stored::Secrets;

/// A version of the catalog. Most versions differ in rows only: they share their definitions.
#[derive(Clone, Default)]
pub(crate) struct Snapshot {
    definitions: Arc<Definitions>,
    /// Trees that this version no longer needs; they go when it becomes that of all.
    pub(crate) abandoned: Vec<TreeId>,
    /// While it is made: trees that stay, whose tables have got rows beside them.
    pub(crate) outgrown: Vec<TreeId>,
    /// The view of its readers.
    pub(crate) read_view: ReadView,
    /// While it is made: what has been changed in trees in place, for the log.
    pub(crate) redo: Redo,
}

/// The definitions of a version of the catalog.
#[derive(Clone, Default)]
pub(crate) struct Definitions {
    pub(crate) tables: Tables,
    pub(crate) views: Arc<BTreeMap<String, Arc<ViewDef>>>,
    /// Those that `CREATE SEQUENCE` made; the others are parts of their columns.
    pub(crate) sequences: Arc<BTreeMap<String, Arc<SequenceDef>>>,
    /// Tables that only one session sees.
    pub(crate) temporaries: Temporaries,
    /// What is said of the objects.
    pub(crate) comments: Arc<Comments>,
    /// Roles and privileges.
    pub(crate) access: Arc<Access>,
    /// Keys of object stores.
    pub(crate) secrets: Arc<Secrets>,
    /// What the file had of its device when it was opened.
    pub(crate) profiles: Arc<Profiles>,
    /// The connections to these, which all versions share.
    pub(crate) stores: Stores,
    /// The next id of a table or index.
    pub(crate) next_id: u32,
}

impl Deref for Snapshot {
    type Target = Definitions;

    fn deref(&self) -> &Definitions {
        &self.definitions
    }
}

impl DerefMut for Snapshot {
    /// Definitions that another version shares are copied first.
    fn deref_mut(&mut self) -> &mut Definitions {
        Arc::make_mut(&mut self.definitions)
    }
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
        VisibleTree::seen(tree, self.read_view.clone())
    }

    /// The same version, its trees seen otherwise.
    pub(crate) fn with_view(&self, read_view: ReadView) -> Arc<Snapshot> {
        Arc::new(Snapshot { read_view, ..self.clone() })
    }

    /// The same version, which lets no trees go.
    pub(crate) fn keeping_trees(&self) -> Snapshot {
        Snapshot { abandoned: vec![], ..self.clone() }
    }

    /// The same definitions, as of no version: nobody keeps undo records for them.
    pub(crate) fn without_view(&self) -> Arc<Snapshot> {
        self.with_view(ReadView::default())
    }

    /// The table with this id.
    pub(crate) fn table_by_id(&self, id: TableId) -> Option<&Arc<TableEntry>> {
        self.tables.by_id(id).or_else(|| self.hidden_table(id)).or_else(|| self.aside_table(id))
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

    /// All sequences.
    pub(crate) fn numbers(&self) -> impl Iterator<Item = Numbered<'_>> {
        let made = self.sequences.values().map(|def| Numbered::of_statement(def));
        self.tables.values().flat_map(|entry| Numbered::of_table(&entry.def)).chain(made)
    }

    /// The column whose sequence has this name.
    pub(crate) fn numbered_column(&self, name: &str) -> Option<(&Arc<TableEntry>, usize)> {
        self.tables.numbered_column(name)
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
        let Definitions { access, views, .. } = &mut **self;
        let is_there = |relation: &Relation<'_>| match relation {
            Relation::Table(id) => tables.contains(id),
            Relation::Sequence(id) => sequences.contains(id),
            Relation::View(name) => views.contains_key(*name),
        };
        if access.has_others(is_there) {
            Arc::make_mut(access).retain(is_there);
        }
    }

    /// All trees that the version has to do with: those of its tables, and those it lets go.
    pub(crate) fn trees(&self) -> BTreeSet<TreeId> {
        self.trees_since(TreeId(0))
    }

    /// Those of them whose numbers are not below this one: numbers rise, so they were made since it was
    /// the next.
    pub(crate) fn trees_since(&self, first: TreeId) -> BTreeSet<TreeId> {
        let tables = self.tables.values().flat_map(|entry| entry.trees());
        let others = self.temporary_trees().into_iter().chain(self.abandoned.iter().copied());
        tables.chain(others).filter(|tree| *tree >= first).collect()
    }

    /// Whether it has trees that the one before it does not have. These were filled by loads, part of
    /// which no log has and a checkpoint that was made meanwhile may have half.
    pub(crate) fn has_trees_besides(&self, before: &Snapshot) -> bool {
        let is_same = self.tables.is_same(&before.tables)
            && self.temporary_trees().is_empty()
            && before.temporary_trees().is_empty();
        !is_same && !self.trees().is_subset(&before.trees())
    }

    /// Whether it has the same tables, views and sequences as the other one.
    pub(crate) fn has_relations_of(&self, other: &Snapshot) -> bool {
        self.tables.is_same(&other.tables)
            && Arc::ptr_eq(&self.views, &other.views)
            && Arc::ptr_eq(&self.sequences, &other.sequences)
    }

    /// Whether it has the same definitions as the other one.
    pub(crate) fn has_definitions_of(&self, other: &Snapshot) -> bool {
        self.has_relations_of(other)
            && Arc::ptr_eq(&self.access, &other.access)
            && Arc::ptr_eq(&self.secrets, &other.secrets)
            && Arc::ptr_eq(&self.comments, &other.comments)
    }

    /// Whether it has all definitions of an older one as they were, and besides them only what refers to no
    /// table of that one. Comments are none.
    pub(crate) fn only_adds_to(&self, older: &Snapshot) -> bool {
        self.tables.only_adds_to(&older.tables)
            && has_all(&self.views, &older.views)
            && has_all(&self.sequences, &older.sequences)
            && self.access.only_adds_to(&older.access)
            && Arc::ptr_eq(&self.secrets, &older.secrets)
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
        self.tables.insert(Arc::new(entry));
    }

    /// Puts a table in the place of what it was; trees that it has no longer go.
    pub(crate) fn put_over(&mut self, old: &TableEntry, entry: TableEntry) {
        if entry.has_parts_besides(old) {
            self.outgrown.push(entry.tree_id);
        }
        let kept: BTreeSet<TreeId> = entry.trees().collect();
        let left = old.trees().filter(|tree| !kept.contains(tree));
        self.abandoned.extend(left.filter(|_| !planted::is("left-trees-stay")));
        self.put(entry);
    }

    /// The views, to be changed.
    pub(crate) fn views_mut(&mut self) -> &mut BTreeMap<String, Arc<ViewDef>> {
        Arc::make_mut(&mut self.views)
    }

    /// The sequences, to be changed.
    pub(crate) fn sequences_mut(&mut self) -> &mut BTreeMap<String, Arc<SequenceDef>> {
        Arc::make_mut(&mut self.sequences)
    }
}

/// Whether some named objects are all that the older ones are.
pub(crate) fn has_all<T>(
    newer: &BTreeMap<String, Arc<T>>,
    older: &BTreeMap<String, Arc<T>>,
) -> bool {
    let has = |(name, object): (&String, &Arc<T>)| {
        newer.get(name).is_some_and(|newer| Arc::ptr_eq(newer, object))
    };
    older.iter().all(has)
}

/// A sequence among all.
pub(crate) struct Numbered<'a> {
    pub(crate) key: SequenceKey,
    pub(crate) numbers: &'a Sequence,
    pub(crate) ty: LogicalType,
}

impl<'a> Numbered<'a> {
    /// The sequences of a table's columns.
    pub(crate) fn of_table(def: &'a TableDef) -> impl Iterator<Item = Numbered<'a>> {
        let column = move |ordinal: usize| {
            let identity = def.constraints.identity_of(ordinal)?;
            let key = SequenceKey(def.id.0, ordinal as u16);
            Some(Numbered { key, numbers: &identity.sequence, ty: def.schema.columns[ordinal].ty })
        };
        (0..def.constraints.defaults.len()).filter_map(column)
    }

    /// One that `CREATE SEQUENCE` made.
    pub(crate) fn of_statement(def: &'a SequenceDef) -> Numbered<'a> {
        Numbered { key: SequenceKey(def.id, 0), numbers: &def.sequence, ty: def.ty() }
    }
}

impl sql::catalog::Catalog for Snapshot {
    fn table(&self, name: &str) -> Option<Arc<TableDef>> {
        self.tables.get(name).map(|entry| entry.current())
    }

    fn read_table(&self, schema: Option<&str>, name: &str) -> Option<Arc<TableDef>> {
        let found = match schema {
            None => self.tables.get(name),
            Some("public") => self.permanent(name),
            Some(_) => None,
        };
        found.map(|entry| entry.current())
    }

    fn view(&self, name: &str) -> Option<Arc<ViewDef>> {
        self.views.get(name).cloned()
    }

    fn tables(&self) -> Vec<Arc<TableDef>> {
        self.tables.values().map(|entry| entry.current()).collect()
    }
}

/// The ordinals of the columns named; each must exist and occur once.
pub(crate) fn ordinals(
    snapshot: &Snapshot,
    table: &str,
    names: &[String],
) -> SqlResult<Vec<usize>> {
    let schema = &snapshot.table(table)?.def.schema;
    let mut found = vec![];
    for name in names {
        let ordinal = schema.ordinal(name).ok_or_else(|| {
            let message = format!("column \"{name}\" of relation \"{table}\" does not exist");
            SqlError::new(SqlState::UNDEFINED_COLUMN, message)
        })?;
        if found.contains(&ordinal) {
            let message = format!("column \"{name}\" specified more than once");
            return Err(SqlError::new(SqlState::DUPLICATE_COLUMN, message));
        }
        found.push(ordinal);
    }
    Ok(found)
}
