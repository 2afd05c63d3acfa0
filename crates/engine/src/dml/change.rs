//! Changes of tables, made durable together.
//!
//! Few rows are changed in place; for many the table's trees are written anew by a bulk load,
//! because each row that is changed in place may touch a page of every tree, which is written twice.
//! So are those of which a transaction block would have to put back too much.

use std::sync::Arc;

use arrow_array::{Array, ArrayRef, RecordBatch};
use arrow_schema::DataType;
use storage::{Redo, Store, UndoSpace, planted};
use txn::undo::ReadView;
use txn::waiting::{ENTRIES_AT_ONCE, breathe};
use types::{SqlError, SqlResult, SqlState};

use super::deferred::{check_now, checked_now};
use super::entries::Entries;
use super::rows::Rows;
use crate::block::Block;
use crate::catalog::entry::TableEntry;
use crate::catalog::snapshot::Snapshot;
use crate::catalog::trees::drop_trees;
use crate::database::Database;
use crate::fault::internal;
use crate::load::leaving::{Leaving, Left};
use crate::load::loader::{Loader, Rebuilt};
use crate::writing::Writing;
use crate::{catalog, fault, freeing, isolation};

/// Rows of a table that go and rows that come.
#[derive(Clone)]
pub(crate) struct Change {
    pub(crate) entry: Arc<TableEntry>,
    pub(crate) removed: Rows,
    pub(crate) added: Rows,
    /// So many of the last rows that go have become as many of the last rows that come, one by one.
    pub(crate) pairs: usize,
}

impl Change {
    /// A change of `entry`.
    pub(crate) fn new(entry: &Arc<TableEntry>, removed: Rows, added: Rows) -> Change {
        let pairs = removed.len().min(added.len());
        Change { entry: entry.clone(), removed, added, pairs }
    }

    fn is_empty(&self) -> bool {
        self.removed.is_empty() && self.added.is_empty()
    }
}

/// A change that is checked and ready.
struct Ready {
    change: Change,
    how: How,
}

enum How {
    InPlace(Vec<Entries>),
    Rebuilt(Rebuilt),
}

/// Rows that are changed in place, as far as they are counted.
#[derive(Clone, Copy, Default)]
pub(crate) struct InPlace {
    /// Bytes without those of texts: each row may touch a page of every tree.
    narrow_bytes: usize,
    /// All bytes: they are in memory at once.
    bytes: usize,
    rows: usize,
}

/// So many rows are changed in place however long they are: few pages are touched, and the whole
/// table would be written for a document.
const FEW_ROWS: usize = 8;

/// Bytes of a value without those of a text; `None` for what has no width.
fn narrow_width(ty: &DataType) -> Option<usize> {
    match ty {
        DataType::Utf8View | DataType::BinaryView => Some(size_of::<u128>()),
        other => other.primitive_width(),
    }
}

/// Bytes of a column without those of texts.
fn narrow_bytes(column: &ArrayRef) -> SqlResult<usize> {
    let nulls = column.nulls().map_or(0, |_| column.len().div_ceil(8));
    match narrow_width(column.data_type()) {
        Some(width) => Ok(column.len() * width + nulls),
        None => column.to_data().get_slice_memory_size().map_err(internal),
    }
}

impl InPlace {
    /// Counts more rows.
    pub(crate) fn add(&mut self, rows: &RecordBatch) -> SqlResult<()> {
        self.narrow_bytes += rows.columns().iter().map(narrow_bytes).sum::<SqlResult<usize>>()?;
        self.bytes += exec::batch_bytes(rows);
        self.rows += rows.num_rows();
        Ok(())
    }

    /// The same of rows of a table.
    fn add_rows(&mut self, rows: &Rows) -> SqlResult<()> {
        let Some(cells) = rows.cells() else { return self.add(rows.batch()) };
        let fields = rows.schema().fields().iter();
        let widths = fields.map(|field| narrow_width(field.data_type()).unwrap_or(1));
        self.narrow_bytes += cells.len() * widths.sum::<usize>();
        self.bytes += cells.memory();
        self.rows += cells.len();
        Ok(())
    }

    /// True if they are merged in by a bulk load: a small share of the pool is safe for pages that
    /// are touched, and memory for rows is limited.
    pub(crate) fn is_over(&self, db: &Database) -> bool {
        let pool_bytes = db.store().frame_count() * db.page_bytes();
        let are_long = self.rows > FEW_ROWS && self.bytes > pool_bytes / 8;
        self.narrow_bytes > pool_bytes / 256 || are_long
    }
}

/// Makes all changes or none, in a block. What it changes is locked until that ends.
///
/// Errors: 40001 when others have changed the rows meanwhile, 40P01; 23505 for keys that are there already, and those of storage.
pub(crate) async fn commit(writing: &Writing<'_>, changes: Vec<Change>) -> SqlResult<()> {
    let due = checked_now(writing, &changes);
    let again = may_leave_out(writing, &changes)?.then(|| changes.clone());
    let done = match (attempt(writing, changes, false).await, again) {
        (Err(error), Some(changes)) if error.state == SqlState::DISK_FULL => {
            Box::pin(attempt_again(writing, changes)).await?
        }
        (done, _) => done?,
    };
    if done { check_now(writing, due).await } else { Ok(()) }
}

/// The same for rows that go, where the disk was full: pages that have changed until now do not
/// count behind a checkpoint, and the rows that stay may need fewer pages than those that go.
async fn attempt_again(writing: &Writing<'_>, changes: Vec<Change>) -> SqlResult<bool> {
    freeing::make_room(writing).await?;
    match attempt(writing, changes.clone(), false).await {
        Err(error) if error.state == SqlState::DISK_FULL => attempt(writing, changes, true).await,
        done => done,
    }
}

/// True if rows only go, and so many that a load may leave them out.
fn may_leave_out(writing: &Writing<'_>, changes: &[Change]) -> SqlResult<bool> {
    let only_removes = changes.iter().all(|change| change.added.is_empty());
    let are_many = changes.iter().any(|change| change.removed.len() > FEW_ROWS);
    Ok(only_removes && are_many && !writing.block()?.is_frozen())
}

/// Makes all changes, those of many rows `by_load` if that is wanted; false when there are none.
async fn attempt(writing: &Writing<'_>, changes: Vec<Change>, by_load: bool) -> SqlResult<bool> {
    let mut ready = vec![];
    for change in changes.into_iter().filter(|c| !c.is_empty()) {
        let by_load = by_load && change.removed.len() > FEW_ROWS;
        match prepare(writing, change, by_load).await {
            Ok(one) => ready.push(one),
            Err(error) => {
                discard(writing.db.store(), ready).await?;
                return Err(error);
            }
        }
    }
    let some = !ready.is_empty();
    if some {
        make(writing, ready).await?;
    }
    Ok(some)
}

/// Puts trees that were written anew in the place of those of a table, as [`commit`].
pub(super) async fn replace(
    writing: &Writing<'_>,
    entry: &Arc<TableEntry>,
    rebuilt: Rebuilt,
) -> SqlResult<()> {
    let change = Change::new(entry, Rows::none(entry), Rows::none(entry));
    make(writing, vec![Ready { change, how: How::Rebuilt(rebuilt) }]).await
}

async fn make(writing: &Writing<'_>, ready: Vec<Ready>) -> SqlResult<()> {
    for one in &ready {
        writing.db.versions().note_numbers_of(&one.change.entry.def);
        writing.block()?.note_grown(&one.change.entry);
    }
    let block = writing.block()?.clone();
    let view = writing.snapshot().read_view.clone();
    let change = writing.change(move |store, snapshot| {
        Box::pin(async move {
            let done = apply_all(&ready, store, (&view, &mut snapshot.redo), &block).await;
            if let Err(error) = done {
                for one in &ready {
                    if let How::Rebuilt(rebuilt) = &one.how {
                        drop_trees(store, &rebuilt.made).await?;
                    }
                }
                return Err(error);
            }
            for one in ready {
                one.publish(store, snapshot)?;
            }
            Ok(())
        })
    });
    change.await
}

async fn prepare(writing: &Writing<'_>, change: Change, by_load: bool) -> SqlResult<Ready> {
    let (db, cancel) = (writing.db, &writing.cancel);
    if writing.block()?.is_frozen() {
        check_same_trees(writing, &change.entry)?;
    }
    let (removed, added) = (&change.removed, &change.added);
    let mut counted = InPlace::default();
    counted.add_rows(removed)?;
    counted.add_rows(added)?;
    let in_place = match by_load || counted.is_over(db) {
        false => Some(Entries::of_table(&change.entry, removed, added, cancel).await?),
        true => None,
    };
    let how = match in_place.filter(|entries| has_room(db, &change.entry, entries)) {
        Some(entries) => {
            lock(writing, &change.entry, &entries).await?;
            How::InPlace(entries)
        }
        // A future for itself: that of a few rows is small without it, and moved and made often.
        None => How::Rebuilt(Box::pin(rebuilt(writing, &change)).await?),
    };
    Ok(Ready { change, how })
}

/// The trees of a table, written anew with a change.
async fn rebuilt(writing: &Writing<'_>, change: &Change) -> SqlResult<Rebuilt> {
    let Change { entry, removed, added, .. } = change;
    alone(writing, entry, !removed.is_empty()).await?;
    let (entry, left) = (entry.clone(), leaving(writing, change).await?);
    let target = writing.target(&entry)?;
    let mut loader = Loader::without(writing.db, target, left, writing.cancel.clone()).await?;
    loader.push_all(added.batch(), added.ids()).await?;
    loader.build(writing.db).await
}

/// Locks what is to be changed, and looks whether it is still what the statement has found.
async fn lock(writing: &Writing<'_>, entry: &TableEntry, entries: &[Entries]) -> SqlResult<()> {
    let mut keys = vec![];
    for tree in entries {
        keys.append(&mut tree.locks().await);
    }
    writing.lock_rows(entry, keys).await?;
    let view = &writing.snapshot().read_view;
    for tree in entries {
        if tree.is_outdated(view).await && !planted::is("lost-update") {
            return Err(writing.block()?.overtaken());
        }
    }
    let block = writing.block()?;
    for tree in entries.iter().filter(|_| block.is_frozen()) {
        if tree.is_changed_later(view).await {
            return Err(changed_twice(entry));
        }
    }
    entries.iter().for_each(|tree| block.note_doubts(tree.doubts()));
    Ok(())
}

/// The rows that go, for a load that leaves them out.
async fn leaving(writing: &Writing<'_>, change: &Change) -> SqlResult<Left> {
    let Change { entry, removed, .. } = change;
    if removed.is_empty() {
        return Ok(Left::Nothing);
    }
    let mut leaving = Leaving::of(writing.db, entry);
    leaving.push(removed.batch(), removed.ids(), &writing.cancel).await?;
    Ok(leaving.finish())
}

/// Has the table for itself from now on, and looks whether it is still what the statement has found, if that
/// `removes` rows.
pub(super) async fn alone(
    writing: &Writing<'_>,
    entry: &Arc<TableEntry>,
    removes: bool,
) -> SqlResult<()> {
    let block = writing.block()?;
    let had_definitions = block.defines();
    writing.alone(entry).await?;
    check_writes_anew(writing, entry)?;
    let view = &writing.snapshot().read_view;
    // Others may have gone first: what refers to the table, and to what its rows refer, is another one then.
    // A transaction that keeps its version has failed for that (`Block::exclude`).
    let may_lag = !had_definitions && !block.keeps_version();
    let is_overtaken = removes && entry.trees().any(|tree| view.is_tree_outdated(tree))
        || may_lag && !has_definitions_of(writing.snapshot(), &block.changed(), entry);
    match is_overtaken || !Arc::ptr_eq(entry, &writing.refreshed(entry)?) {
        true => Err(writing.block()?.overtaken()),
        false => Ok(()),
    }
}

/// Whether what a statement has found of definitions that have to do with a table is as it is now. A temporary one
/// has to do with tables of its session alone.
fn has_definitions_of(found: &Snapshot, now: &Snapshot, entry: &TableEntry) -> bool {
    let id = entry.def.id;
    match found.is_temporary_id(id.0) {
        true => now.tables.has_as_in(&found.tables, id),
        false => now.has_definitions_of(found),
    }
}

/// Refuses (0A000) to change a table of which another part of the statement has written the trees
/// anew; 40001 where others have, as `TRUNCATE` does.
fn check_same_trees(writing: &Writing<'_>, entry: &TableEntry) -> SqlResult<()> {
    let block = writing.block()?;
    let has_same = |newest: &Arc<TableEntry>| newest.trees().eq(entry.trees());
    match block.changed().table_by_id(entry.def.id).is_some_and(has_same) {
        true => Ok(()),
        // A part that writes trees anew has the right to define.
        false if !block.defines() => Err(block.overtaken()),
        false => Err(too_many_rows(entry)),
    }
}

/// Refuses (0A000) to write the trees of a table anew that another part of the statement has changed.
pub(super) fn check_writes_anew(writing: &Writing<'_>, entry: &TableEntry) -> SqlResult<()> {
    let view = &writing.snapshot().read_view;
    match writing.block()?.is_frozen() && entry.trees().any(|tree| view.is_tree_changed_later(tree))
    {
        true => Err(too_many_rows(entry)),
        false => Ok(()),
    }
}

fn too_many_rows(entry: &TableEntry) -> SqlError {
    let what = format!("changing very many rows of table \"{}\" in a WITH twice", entry.def.name);
    SqlError::unsupported(what)
        .with_hint("Change the table in statements of their own, in one transaction.")
}

/// 27000 for a row that another part of the statement has changed.
fn changed_twice(entry: &TableEntry) -> SqlError {
    let message =
        format!("two parts of a statement change the same row of table \"{}\"", entry.def.name);
    SqlError::new(SqlState::TRIGGERED_DATA_CHANGE, message)
        .with_hint("Change each row in one query of the WITH, or in statements of their own.")
}

/// Whether a block, if there is one, has room to note what it would change in place.
fn has_room(db: &Database, entry: &TableEntry, entries: &[Entries]) -> bool {
    let bytes = || entries.iter().map(Entries::noted_bytes).sum();
    db.block().is_none_or(|block| block.has_room(entry, bytes()))
}

async fn discard(store: &Store, ready: Vec<Ready>) -> SqlResult<()> {
    for one in ready {
        if let How::Rebuilt(rebuilt) = one.how {
            drop_trees(store, &rebuilt.made).await?;
        }
    }
    Ok(())
}

/// Changes the trees that are changed in place: all or none of them. Afterwards there is space on
/// the disk to make that durable.
async fn apply_all(
    ready: &[Ready],
    store: &Store,
    (view, redo): (&ReadView, &mut Redo),
    block: &Block,
) -> SqlResult<()> {
    let in_place = ready.iter().filter_map(|one| match &one.how {
        How::InPlace(trees) => Some(trees),
        How::Rebuilt(_) => None,
    });
    let trees: Vec<&Entries> = in_place.flatten().collect();
    for tree in &trees {
        let doubts = tree.check_stored().await;
        if doubts.is_err() || tree.adds_unique_entries() {
            block.note_newest_seen();
        }
        block.note_doubts(doubts?);
        if block.keeps_version() && tree.hides_added(view).await {
            return Err(isolation::concurrent_update());
        }
    }
    make_sure_of_space(&trees, store, block).await?;
    let space = block.undo_space();
    let runs: Vec<u32> = trees.iter().flat_map(|tree| tree.value_pages()).collect();
    space.hold_runs(&runs).await.map_err(fault::storage)?;
    // Now the entries are known to be what the statement takes them for.
    for tree in &trees {
        tree.record(view).await;
        let mut noted = tree.noted().peekable();
        while noted.peek().is_some() {
            block.note(noted.by_ref().take(ENTRIES_AT_ONCE));
            breathe().await;
        }
    }
    for (done, tree) in trees.iter().enumerate() {
        if let Err(error) = tree.apply(store, space).await {
            undo(&trees[..done], store, space).await;
            return Err(error);
        }
    }
    let reserved = catalog::persist::reserve(store, block.public().versions().noted_bytes()).await;
    if reserved.is_err() {
        undo(&trees, store, space).await;
        return reserved;
    }
    let logged = trees.iter().filter(|tree| !block.has_made_tree(tree.tree_id()));
    for tree in logged {
        tree.log(redo).await;
    }
    Ok(())
}

/// Makes sure of space for a checkpoint with all pages that are going to change: those of a
/// statement that is undone have changed, too.
///
/// Errors: 53100; nothing has changed then.
async fn make_sure_of_space(trees: &[&Entries], store: &Store, block: &Block) -> SqlResult<()> {
    let count: usize = trees.iter().map(|tree| tree.count()).sum();
    let noted_bytes = block.public().versions().noted_bytes();
    let bytes_of = |pages: u32| noted_bytes + pages as usize * store.page_size();
    if catalog::persist::has_reserved(store, bytes_of(count as u32)) {
        return Ok(());
    }
    let mut pages = 0;
    for tree in trees {
        pages += tree.count_pages().await?;
    }
    catalog::persist::reserve(store, bytes_of(pages)).await
}

async fn undo(trees: &[&Entries], store: &Store, space: &Arc<UndoSpace>) {
    for tree in trees.iter().rev() {
        tree.undo(store, space).await;
    }
}

impl Ready {
    /// Puts trees that were written anew in the place of the old ones. What was changed in place changes no
    /// definition.
    fn publish(self, store: &Store, snapshot: &mut Snapshot) -> SqlResult<()> {
        let How::Rebuilt(rebuilt) = self.how else { return Ok(()) };
        let entry = self.change.entry;
        snapshot.put_over(&entry, rebuilt.entry(store, (*entry.def).clone())?);
        Ok(())
    }
}
