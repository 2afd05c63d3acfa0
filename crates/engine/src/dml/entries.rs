//! What a change means for one tree: keys that go, come, or get another value.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use arrow_array::RecordBatch;
use runtime::IoCounters;
use runtime::sync::Cancel;
use storage::{Depth, Redo, Store, Tree, TreeId, UndoSpace, planted};
use txn::locks::mode::{LockKey, LockMode};
use txn::noted::{Noted, noted_bytes};
use txn::undo::ReadView;
use txn::undo::records::Changing;
use txn::waiting::{ENTRIES_AT_ONCE, breathe, breathe_among, give_way};
use types::cells::Cells;
use types::key::{KeyColumn, KeyEncoder, split_columns};
use types::row::RowLayout;
use types::text::format_value;
use types::writer::{encode_key, encode_row};
use types::{SqlError, SqlResult};

use super::foreign::row_texts;
use super::in_parts::InParts;
use super::rows::Rows;
use crate::catalog::entry::TableEntry;
use crate::deferred::{Doubt, Doubted};
use crate::fault;
use crate::load::keys::{duplicate_key, key_arrays};
use crate::relation::keys::end_of;

/// Keys that are looked for together: enough reads in flight, and a node above has taken all of
/// them down in a millisecond.
const RANGES_AT_ONCE: usize = 4096;

/// Pages of a path from root to leaf.
const PATH_PAGES: u32 = 4;

/// The changes of one tree.
pub(crate) struct Entries {
    tree: Tree,
    layout: Arc<RowLayout>,
    unique: Option<Unique>,
    /// Whether its keys stand for rows, which are locked by them.
    is_of_rows: bool,
    /// By key, so that trees are changed in their order.
    changes: BTreeMap<Vec<u8>, EntryChange>,
    added: Rows,
}

/// A constraint: the leading columns of the key that must be unique.
struct Unique {
    entry: Arc<TableEntry>,
    /// The place of its index; `None` is the primary key.
    index: Option<usize>,
    count: usize,
    /// Whether it may be broken for a while.
    is_deferrable: bool,
}

impl Unique {
    /// The primary key of a table, if it has one.
    fn of_primary_key(entry: &Arc<TableEntry>) -> Option<Unique> {
        let count = entry.layout.key.len();
        let unique = || Unique { entry: entry.clone(), index: None, count, is_deferrable: false };
        (!entry.def.primary_key.is_empty()).then(unique)
    }

    /// An index, if it is unique.
    fn of_index(entry: &Arc<TableEntry>, position: usize) -> Option<Unique> {
        let index = &entry.def.indexes[position];
        index.unique.then(|| Unique {
            entry: entry.clone(),
            index: Some(position),
            count: index.columns.len(),
            is_deferrable: !index.deferral.is_never(),
        })
    }

    fn name(&self) -> String {
        match self.index {
            Some(position) => self.entry.def.indexes[position].name.clone(),
            None => self.entry.def.primary_key_name(),
        }
    }

    /// Ordinals of its columns.
    fn columns(&self) -> &[usize] {
        match self.index {
            Some(position) => &self.entry.def.indexes[position].columns,
            None => &self.entry.def.primary_key,
        }
    }
}

#[derive(Default)]
struct EntryChange {
    old: Option<Vec<u8>>,
    /// With the position of the row among those added.
    new: Option<(Vec<u8>, usize)>,
    /// It is of a row that stays, with its unique keys.
    keeps_key: bool,
}

/// True if rows that come have the same entries in a tree as those in whose places they come.
fn keep_entries(layout: &RowLayout, removed: &Rows, added: &Rows) -> bool {
    let (Some(old), Some(new)) = (removed.cells(), added.cells()) else { return false };
    let key = layout.key.iter().map(|column| column.ordinal);
    let mut held = key.chain(layout.value_columns().iter().copied());
    let is_kept =
        |column: usize| (0..old.len()).all(|row| old.value(row, column) == new.value(row, column));
    old.len() == new.len() && held.all(is_kept)
}

impl EntryChange {
    fn stays(&self) -> bool {
        self.old.is_some() && self.new.is_some()
    }
}

impl Entries {
    /// The changes of all trees of the table.
    ///
    /// Errors: 23505 for rows that have a unique key twice, 54000 for entries that are too large.
    pub(crate) async fn of_table(
        entry: &Arc<TableEntry>,
        removed: &Rows,
        added: &Rows,
        cancel: &Cancel,
    ) -> SqlResult<Vec<Entries>> {
        let new = |tree: &Tree, layout: &Arc<RowLayout>, unique| Entries {
            tree: tree.clone(),
            layout: layout.clone(),
            unique,
            is_of_rows: false,
            changes: BTreeMap::new(),
            added: added.clone(),
        };
        let in_parts = InParts::of(entry, removed)?;
        let mut clustered = new(&entry.tree, &entry.layout, Unique::of_primary_key(entry));
        clustered.is_of_rows = true;
        clustered.fill(in_parts.others(removed), added, cancel).await?;
        let mut all = vec![clustered];
        let in_parts_gone = in_parts.deleted().filter(|_| !planted::is("deleted-parts-forgotten"));
        if let Some((tree, keys)) = in_parts_gone {
            let mut deleted = new(tree, &entry.layout, None);
            deleted.is_of_rows = true;
            deleted.note_deleted(keys);
            all.push(deleted);
        }
        for (position, stored) in entry.indexes.iter().enumerate() {
            if planted::is("index-skipped") && !removed.is_empty() && !added.is_empty() {
                continue;
            }
            if keep_entries(&stored.layout, removed, added) {
                continue;
            }
            let unique = Unique::of_index(entry, position);
            let mut entries = new(&stored.tree, &stored.layout, unique);
            entries.fill(removed, added, cancel).await?;
            all.push(entries);
        }
        for entries in &all {
            entries.check_added().await?;
        }
        if !removed.is_empty() && !added.is_empty() {
            note_kept_keys(&mut all, &entry.layout.key).await;
        }
        Ok(all)
    }

    /// Rows of parts go by an entry of their row id, which has no value.
    fn note_deleted(&mut self, keys: &[Vec<u8>]) {
        for (row, key) in keys.iter().enumerate() {
            self.changes.entry(key.clone()).or_default().new = Some((vec![], row));
        }
    }

    /// The rows, by their keys, whose entries of this unique index come or go.
    async fn rows_with_other_keys(&self, row_key: &[KeyColumn]) -> BTreeSet<Vec<u8>> {
        let key = &self.layout.key;
        let place = |column: &KeyColumn| key.iter().position(|k| k.ordinal == column.ordinal);
        let places: Vec<usize> = row_key.iter().filter_map(place).collect();
        assert_eq!(
            places.len(),
            row_key.len(),
            "entries of an index end with the key of their row"
        );
        let mut rows = BTreeSet::new();
        for (nth, (key, change)) in self.changes.iter().enumerate() {
            breathe_among(nth).await;
            if !change.stays() {
                let columns = split_columns(&self.layout.key, key);
                rows.insert(places.iter().flat_map(|&at| columns[at]).copied().collect());
            }
        }
        rows
    }

    async fn fill(&mut self, removed: &Rows, added: &Rows, cancel: &Cancel) -> SqlResult<()> {
        let layout = self.layout.clone();
        for (rows, is_new) in [(removed, false), (added, true)] {
            let encoder = Encoder::of(&layout, rows);
            for row in 0..rows.len() {
                give_way(cancel).await?;
                let (key, value) = encoder.entry(row)?;
                if is_new {
                    fault::check_entry(&self.tree, &key, &value)?;
                }
                let change = self.changes.entry(key).or_default();
                if !is_new {
                    change.old = Some(value);
                } else if change.new.replace((value, row)).is_some() {
                    return Err(self.violation(row));
                }
            }
        }
        Ok(())
    }

    /// The leading bytes of a key that must be unique; `None` when one of the values is null.
    fn unique_prefix<'a>(&self, key: &'a [u8]) -> Option<&'a [u8]> {
        let count = self.unique.as_ref()?.count;
        let columns = split_columns(&self.layout.key, key);
        let null = |(column, bytes): (&KeyColumn, &&[u8])| column.nullable && bytes.len() == 1;
        if self.layout.key[..count].iter().zip(&columns).any(null) {
            return None;
        }
        Some(&key[..columns[..count].iter().map(|c| c.len()).sum()])
    }

    fn violation(&self, row: usize) -> SqlError {
        let Some(unique) = &self.unique else {
            return SqlError::internal("two rows have the same row id");
        };
        let table = &unique.entry.def;
        let name = |&ordinal: &usize| table.schema.columns[ordinal].name.as_str();
        let names: Vec<&str> = unique.columns().iter().map(name).collect();
        let value = |&ordinal: &usize| {
            let value = format_value(self.added.batch().column(ordinal), row);
            value.unwrap_or_else(|| "null".into())
        };
        let values: Vec<String> = unique.columns().iter().map(value).collect();
        let (names, values) = (names.join(", "), values.join(", "));
        duplicate_key(&unique.name())
            .with_detail(format!("Key ({names})=({values}) already exists."))
            .of_table(&table.name)
            .of_row(row)
    }

    /// Refuses duplicates among the rows that are added.
    async fn check_added(&self) -> SqlResult<()> {
        for (nth, repeated) in self.repeated().enumerate() {
            match repeated {
                Some(row) if !self.is_deferrable() => return Err(self.violation(row)),
                _ => breathe_among(nth).await,
            }
        }
        Ok(())
    }

    /// For each change the row that it adds, if that has the unique key of another one that is
    /// added.
    fn repeated(&self) -> impl Iterator<Item = Option<usize>> {
        let mut last: Option<&[u8]> = None;
        self.changes.iter().map(move |(key, change)| {
            let (_, row) = change.new.as_ref()?;
            let prefix = self.unique_prefix(key);
            let is_repeated = prefix.is_some() && prefix == last;
            last = prefix;
            is_repeated.then_some(*row)
        })
    }

    fn is_deferrable(&self) -> bool {
        self.unique.as_ref().is_some_and(|unique| unique.is_deferrable)
    }

    /// What is in doubt of a deferrable key before the tree is looked at: rows that are added with the same key.
    pub(crate) fn doubts(&self) -> Vec<Doubt> {
        match self.is_deferrable() {
            true => self.repeated().flatten().filter_map(|row| self.doubt(row)).collect(),
            false => vec![],
        }
    }

    fn doubt(&self, row: usize) -> Option<Doubt> {
        let unique = self.unique.as_ref()?;
        let values = row_texts(self.added.batch(), unique.columns(), row)?;
        let (table, constraint) = (unique.entry.def.id, unique.name());
        Some(Doubt { table, constraint, what: Doubted::Unique, values })
    }

    /// Refuses duplicates of stored rows that stay; those of a deferrable key are in doubt.
    pub(crate) async fn check_stored(&self) -> SqlResult<Vec<Doubt>> {
        if planted::is("unique-not-checked") {
            return Ok(vec![]);
        }
        let (mut ranges, mut rows) = (vec![], vec![]);
        for (nth, (key, change)) in self.changes.iter().enumerate() {
            breathe_among(nth).await;
            if let (None, Some((_, row)), Some(prefix)) =
                (&change.old, &change.new, self.unique_prefix(key))
            {
                ranges.push((prefix.to_vec(), end_of(prefix)));
                rows.push(*row);
            }
        }
        let (mut found, io) = (vec![], IoCounters::default());
        if let ([(key, _)], [row], true) = (&*ranges, &*rows, self.is_whole_key()) {
            let stored = self.tree.get(key, &io, |_| ()).await.map_err(fault::storage)?;
            // A key is free if its entry goes with this change.
            let goes = self.changes.get(key).is_some_and(|change| change.old.is_some());
            found.extend(stored.filter(|()| !goes).map(|()| *row));
            ranges.clear();
        }
        for (ranges, rows) in ranges.chunks(RANGES_AT_ONCE).zip(rows.chunks(RANGES_AT_ONCE)) {
            let mut visit = |position: usize, key: &[u8], _: &[u8]| {
                let goes = self.changes.get(key).is_some_and(|change| change.old.is_some());
                if !goes {
                    found.push(rows[position]);
                }
            };
            let searched = self.tree.range_batch(ranges, Depth::Many, &io, &mut visit).await;
            searched.map_err(fault::storage)?;
            breathe().await;
        }
        match found.first() {
            Some(&row) if !self.is_deferrable() => Err(self.violation(row)),
            _ => Ok(found.into_iter().filter_map(|row| self.doubt(row)).collect()),
        }
    }

    /// True if the columns that must be unique are all of the key.
    fn is_whole_key(&self) -> bool {
        self.unique.as_ref().is_some_and(|unique| unique.count == self.layout.key.len())
    }

    /// Whether keys come to a unique index: others may have had one of them until now. A row's own key that others
    /// have changed is refused.
    pub(crate) fn adds_unique_entries(&self) -> bool {
        let comes = |(key, change): (&Vec<u8>, &EntryChange)| {
            change.old.is_none() && self.unique_prefix(key).is_some()
        };
        !self.is_of_rows && self.changes.iter().any(comes)
    }

    /// What has to be locked: rows that change, and unique keys that come or go.
    pub(crate) async fn locks(&self) -> Vec<(LockKey, LockMode)> {
        let locked = |key: &[u8], mode| (LockKey { tree: self.tree.id(), key: key.to_vec() }, mode);
        let lock = |(key, change): (&Vec<u8>, &EntryChange)| match (
            self.is_of_rows,
            change.keeps_key,
            change.stays(),
        ) {
            (true, true, _) => Some(locked(key, LockMode::NoKeyUpdate)),
            (true, false, _) => Some(locked(key, LockMode::Update)),
            (false, _, true) => None,
            (false, _, false) => Some(locked(self.unique_prefix(key)?, LockMode::Update)),
        };
        let mut locks = vec![];
        for (nth, change) in self.changes.iter().enumerate() {
            locks.extend(lock(change));
            breathe_among(nth).await;
        }
        locks
    }

    /// Whether others have changed, since the statement saw them, rows that go or change.
    pub(crate) async fn is_outdated(&self, view: &ReadView) -> bool {
        let counts = |change: &EntryChange| self.unique.is_none() || change.old.is_some();
        self.is_any(counts, |keys| view.is_outdated(self.tree.id(), keys.iter().copied())).await
    }

    /// Whether another part of the statement has changed rows that go or change.
    pub(crate) async fn is_changed_later(&self, view: &ReadView) -> bool {
        let is_later = |keys: &[&[u8]]| view.is_changed_later(self.tree.id(), keys.iter().copied());
        self.is_of_rows && self.is_any(|change| change.old.is_some(), is_later).await
    }

    /// The same of keys that come, which a transaction that keeps its version would not see.
    pub(crate) async fn hides_added(&self, view: &ReadView) -> bool {
        self.is_any(|_| true, |keys| view.is_outdated(self.tree.id(), keys.iter().copied())).await
    }

    /// True if something is so for a part of the keys whose changes count. Each part is asked about
    /// by itself.
    async fn is_any(
        &self,
        counts: impl Fn(&EntryChange) -> bool,
        is_so: impl Fn(&[&[u8]]) -> bool,
    ) -> bool {
        let changes = self.changes.iter().filter(|(_, change)| counts(change));
        let mut keys = changes.map(|(key, _)| key.as_slice());
        loop {
            let part: Vec<&[u8]> = keys.by_ref().take(ENTRIES_AT_ONCE).collect();
            if is_so(&part) {
                return true;
            }
            if part.len() < ENTRIES_AT_ONCE {
                return false;
            }
            breathe().await;
        }
    }

    /// Records what the entries are, for who reads them as they are. Others may see some of the
    /// records before the last one is there: they say what the tree holds until then.
    pub(crate) async fn record<'a>(&'a self, view: &ReadView) {
        if !self.is_of_rows && planted::is("index-undo-missing") {
            return;
        }
        let is_recorded =
            |change: &EntryChange| change.old.is_some() || !planted::is("inserts-unrecorded");
        let entries = self.changes.iter().filter(|(_, change)| is_recorded(change));
        let changing = |(key, change): (&'a Vec<u8>, &'a EntryChange)| Changing {
            key,
            old: change.old.as_deref(),
            keeps_key: change.keeps_key,
        };
        let mut old = entries.map(changing).peekable();
        while old.peek().is_some() {
            view.record(self.tree.id(), old.by_ref().take(ENTRIES_AT_ONCE));
            breathe().await;
        }
    }

    /// The entries as they are, for a block that may have to put them back.
    pub(crate) fn noted(&self) -> impl Iterator<Item = Noted> {
        self.changes.iter().map(|(key, change)| Noted {
            tree: self.tree.clone(),
            key: key.clone(),
            old: change.old.clone(),
        })
    }

    /// The tree.
    pub(crate) fn tree_id(&self) -> TreeId {
        self.tree.id()
    }

    /// What the entries are to be, for the log.
    pub(crate) async fn log(&self, redo: &mut Redo) {
        let tree = self.tree.id();
        for (nth, (key, change)) in self.changes.iter().enumerate() {
            breathe_among(nth).await;
            let new = change.new.as_ref().map(|(value, _)| value.as_slice());
            let is_forgotten = new.is_none() && planted::is("deletes-not-logged");
            if new != change.old.as_deref() && !is_forgotten {
                redo.push(tree, key, new);
            }
        }
    }

    /// What it takes to note them.
    pub(crate) fn noted_bytes(&self) -> usize {
        let bytes =
            |(key, change): (&Vec<u8>, &EntryChange)| noted_bytes(key, change.old.as_deref());
        self.changes.iter().map(bytes).sum()
    }

    /// Pages of each long value that goes, which it takes to put it back.
    pub(crate) fn value_pages(&self) -> impl Iterator<Item = u32> {
        let pages = |(key, change): (&Vec<u8>, &EntryChange)| match &change.old {
            Some(old) if change.new.as_ref().is_none_or(|(new, _)| new != old) => {
                self.tree.value_pages(key, old)
            }
            _ => 0,
        };
        self.changes.iter().map(pages).filter(|pages| *pages > 0)
    }

    /// How many entries change.
    pub(crate) fn count(&self) -> usize {
        self.changes.len()
    }

    /// Pages of the tree that change, about: leaves, and inner nodes above some of them.
    pub(crate) async fn count_pages(&self) -> SqlResult<u32> {
        let keys = self.changes.keys().map(Vec::as_slice);
        let leaves = self.tree.count_leaves(keys, &IoCounters::default()).await;
        let leaves = leaves.map_err(fault::storage)?;
        Ok(leaves + leaves / 8 + PATH_PAGES)
    }

    /// Changes the tree. When that fails, what was done is undone, in pages that are held for that.
    pub(crate) async fn apply(&self, store: &Store, space: &Arc<UndoSpace>) -> SqlResult<()> {
        let tree = self.tree.undoable(space);
        for (done, (key, change)) in self.changes.iter().enumerate() {
            breathe_among(done).await;
            let new = change.new.as_ref().map(|(value, _)| value);
            if let Err(error) = set(&tree, key, change.old.as_ref(), new).await {
                self.undo_first(done, store, space).await;
                return Err(error);
            }
        }
        Ok(())
    }

    /// Undoes the whole change.
    pub(crate) async fn undo(&self, store: &Store, space: &Arc<UndoSpace>) {
        self.undo_first(self.changes.len(), store, space).await;
    }

    /// The error that led here is the one to report. What cannot be undone must not become durable:
    /// the store gives up. The last change is undone first, so that each leaf has room again for
    /// what it had.
    async fn undo_first(&self, count: usize, store: &Store, space: &Arc<UndoSpace>) {
        let tree = self.tree.undoing(space);
        let kept = self.changes.len() - count;
        for (nth, (key, change)) in self.changes.iter().rev().skip(kept).enumerate() {
            breathe_among(nth).await;
            let new = change.new.as_ref().map(|(value, _)| value);
            if let Err(error) = set(&tree, key, new, change.old.as_ref()).await {
                store.give_up(&format!("a failed statement could not be undone: {error}"));
            }
        }
    }
}

/// Encodes rows as entries of a tree.
enum Encoder<'a> {
    Cells(&'a RowLayout, &'a Cells),
    Vectors(&'a RowLayout, &'a RecordBatch, KeyEncoder),
}

impl<'a> Encoder<'a> {
    fn of(layout: &'a RowLayout, rows: &'a Rows) -> Encoder<'a> {
        if let Some(cells) = rows.cells() {
            return Encoder::Cells(layout, cells);
        }
        let key = key_arrays(&layout.key, rows.batch(), rows.ids());
        Encoder::Vectors(layout, rows.batch(), KeyEncoder::new(&layout.key, &key))
    }

    /// Key and value of a row.
    fn entry(&self, row: usize) -> SqlResult<(Vec<u8>, Vec<u8>)> {
        let (mut key, mut value) = (vec![], vec![]);
        match self {
            Encoder::Cells(layout, cells) => {
                encode_key(&layout.key, cells, row, &mut key)?;
                encode_row(layout, cells, row, &mut value)?;
            }
            Encoder::Vectors(layout, batch, encoder) => {
                encoder.encode(row, &mut key)?;
                layout.encode_value(batch, row, &mut value)?;
            }
        }
        Ok((key, value))
    }
}

/// Notes which rows stay with their unique keys: those whose entries of unique indexes stay as
/// well.
async fn note_kept_keys(all: &mut [Entries], row_key: &[KeyColumn]) {
    let mut moved = BTreeSet::new();
    for index in all.iter().filter(|entries| !entries.is_of_rows && entries.unique.is_some()) {
        moved.append(&mut index.rows_with_other_keys(row_key).await);
    }
    // A row that leaves a part of a column table comes with another id, as another row.
    let clustered = all.first_mut().expect("a table has a clustered tree");
    for (nth, (key, change)) in clustered.changes.iter_mut().enumerate() {
        breathe_among(nth).await;
        change.keeps_key = change.stays() && !moved.contains(key);
    }
}

/// Puts `new` in the place of `old`.
async fn set(
    tree: &Tree,
    key: &[u8],
    old: Option<&Vec<u8>>,
    new: Option<&Vec<u8>>,
) -> SqlResult<()> {
    let io = IoCounters::default();
    let done = match (old, new) {
        (Some(old), Some(new)) if old == new => Ok(true),
        (Some(_), Some(new)) => tree.replace(key, new, &io).await,
        (Some(_), None) => tree.delete(key, &io).await,
        (None, Some(new)) => tree.insert(key, new).await.map(|i| i == storage::Inserted::New),
        (None, None) => Ok(true),
    };
    match done.map_err(fault::storage)? {
        true => Ok(()),
        false => Err(SqlError::internal("an entry is not as it was a moment ago")),
    }
}
