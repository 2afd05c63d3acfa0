//! The catalog on disk: what has changed since the last version that is there is written to its records.
//! They become durable with the rows of the tables, in a frame of the log or by a checkpoint.

use std::collections::BTreeMap;
use std::sync::Arc;

use plan::catalog::TableId;
use plan::sequence::{Reserved, SequenceDef};
use serde::Serialize;
use serde::de::DeserializeOwned;
use sql::ViewDef;
use storage::{Redo, Store, TreeId, planted};
use types::{SqlError, SqlResult};

use super::entry::TableEntry;
use super::legacy;
use super::records::{Key, Kind, Records, all, damaged, fixed};
use super::sequence::SequenceKey;
use super::snapshot::{Numbered, Snapshot};
use crate::columns::stored::StoredColumns;
use crate::comments::subject::Subject;
use crate::device::stored::Profiles;
use crate::fault;
use crate::secrets::stored::Secrets;

/// Pages that a change of a few records takes, once in the tree and once in the double-write buffer; and the same
/// once more for what a statement adds.
const SAVED_PAGES_MIN: u32 = 64;

/// Makes sure of space on the disk for a checkpoint after rows have changed, whose log begins with
/// what transactions in flight have noted. To be asked while what has changed can still be undone.
///
/// # Errors
/// 53100
pub(crate) async fn reserve(store: &Store, noted_bytes: usize) -> SqlResult<()> {
    store.reserve(checkpoint_pages(store, noted_bytes)).await.map_err(fault::storage)
}

/// True if that is so already.
pub(crate) fn has_reserved(store: &Store, noted_bytes: usize) -> bool {
    store.has_reserved(checkpoint_pages(store, noted_bytes))
}

fn checkpoint_pages(store: &Store, noted_bytes: usize) -> u32 {
    noted_bytes.div_ceil(store.page_size()) as u32 + SAVED_PAGES_MIN
}

/// The same where definitions may differ from those that are on disk. Bytes that the records which differ
/// take in the log, at most.
///
/// # Errors
/// 53100
pub(crate) async fn reserve_for(
    store: &Store,
    noted_bytes: usize,
    (saved, next): (&Snapshot, &Snapshot),
) -> SqlResult<usize> {
    let changes = changes(saved, next)?;
    let bytes: usize = changes.iter().map(Change::bytes).sum();
    // Pages may be half full, and each old one that changes is in the double-write buffer, too.
    let pages = 4 * bytes.div_ceil(store.page_size());
    reserve(store, pages * store.page_size() + noted_bytes).await?;
    Ok(bytes)
}

/// What is saved of sequences.
pub(crate) type Numbers = BTreeMap<SequenceKey, Reserved>;

/// A change of records.
enum Change {
    Put(Key, Vec<u8>),
    Remove(Key),
    /// The numbers of the sequences of an object begin anew.
    RemoveNumbers(u32),
}

impl Change {
    /// What it takes in pages, as bytes.
    fn bytes(&self) -> usize {
        /// An entry that moves others.
        const ENTRY_BYTES: usize = 256;
        match self {
            Change::Put(_, value) => value.len() + ENTRY_BYTES,
            Change::Remove(_) | Change::RemoveNumbers(_) => ENTRY_BYTES,
        }
    }
}

/// Writes what differs between two versions, and where sequences stand that gave numbers out. Durable
/// when `redo`, to which it is added, is logged, or after the next checkpoint.
pub(crate) async fn save(
    store: &Store,
    saved: &Snapshot,
    next: &Snapshot,
    numbers: &Numbers,
    redo: &mut Redo,
) -> SqlResult<()> {
    let mut records = Records { tree: store.catalog(), redo };
    for change in changes(saved, next)? {
        match change {
            Change::Put(key, value) => records.put(key, &value).await?,
            Change::Remove(key) => records.remove(key).await?,
            Change::RemoveNumbers(id) => records.remove_all(Kind::Number, id).await?,
        }
    }
    for (key, reserved) in numbers {
        records.put(Key::number(*key), &number(*reserved)).await?;
    }
    Ok(())
}

/// Writes what probes have found of the device; durable after the next checkpoint.
pub(crate) async fn save_profiles(
    store: &Store,
    profiles: &Profiles,
    redo: &mut Redo,
) -> SqlResult<()> {
    let mut records = Records { tree: store.catalog(), redo };
    records.put(Key::only(Kind::Device), &encoded(profiles)?).await
}

fn changes(saved: &Snapshot, next: &Snapshot) -> SqlResult<Vec<Change>> {
    let mut changes = vec![];
    if saved.next_id != next.next_id {
        let bytes = next.next_id.to_le_bytes().to_vec();
        changes.push(Change::Put(Key::only(Kind::Head), bytes));
    }
    if !saved.tables.is_same(&next.tables) {
        table_changes(saved, next, &mut changes)?;
    }
    if !Arc::ptr_eq(&saved.sequences, &next.sequences) {
        sequence_changes(saved, next, &mut changes)?;
    }
    if !Arc::ptr_eq(&saved.views, &next.views) {
        let views: Vec<&ViewDef> = next.views.values().map(AsRef::as_ref).collect();
        changes.push(Change::Put(Key::only(Kind::Views), encoded(&views)?));
    }
    if !Arc::ptr_eq(&saved.comments, &next.comments) && !planted::is("comments-forgotten") {
        let comments: Vec<(&Subject, &String)> = next.comments.iter().collect();
        changes.push(Change::Put(Key::only(Kind::Comments), encoded(&comments)?));
    }
    if !Arc::ptr_eq(&saved.access, &next.access) {
        changes.push(Change::Put(Key::only(Kind::Access), encoded(&*next.access)?));
    }
    if !Arc::ptr_eq(&saved.secrets, &next.secrets) {
        changes.push(Change::Put(Key::only(Kind::Secrets), encoded(&next.secrets.stored())?));
    }
    Ok(changes)
}

fn table_changes(saved: &Snapshot, next: &Snapshot, changes: &mut Vec<Change>) -> SqlResult<()> {
    for id in saved.tables.ids().filter(|id| next.tables.by_id(*id).is_none()) {
        changes.push(Change::Remove(Key::table(id.0)));
        changes.push(Change::Remove(Key::columns(id.0)));
        changes.push(Change::RemoveNumbers(id.0));
    }
    for entry in next.tables.values() {
        let id = entry.def.id;
        let is_saved = |saved: &Arc<TableEntry>| {
            Arc::ptr_eq(saved, entry) || planted::is("altered-table-forgotten")
        };
        if saved.tables.by_id(id).is_some_and(is_saved) {
            continue;
        }
        changes.push(Change::Put(Key::table(id.0), table_record(entry)));
        if let Some(columns) = entry.stored_columns() {
            changes.push(Change::Put(Key::columns(id.0), encoded(&columns)?));
        }
        changes.push(Change::RemoveNumbers(id.0));
        changes.extend(Numbered::of_table(&entry.def).map(put_number));
    }
    Ok(())
}

fn sequence_changes(saved: &Snapshot, next: &Snapshot, changes: &mut Vec<Change>) -> SqlResult<()> {
    let sequences: Vec<&SequenceDef> = next.sequences.values().map(AsRef::as_ref).collect();
    changes.push(Change::Put(Key::only(Kind::Sequences), encoded(&sequences)?));
    let by_id = |snapshot: &Snapshot| -> BTreeMap<u32, Arc<SequenceDef>> {
        snapshot.sequences.values().map(|def| (def.id, def.clone())).collect()
    };
    let (saved, next) = (by_id(saved), by_id(next));
    for id in saved.keys().filter(|id| !next.contains_key(id)) {
        changes.push(Change::RemoveNumbers(*id));
    }
    for (id, def) in &next {
        if !saved.get(id).is_some_and(|saved| Arc::ptr_eq(saved, def)) {
            changes.push(put_number(Numbered::of_statement(def)));
        }
    }
    Ok(())
}

fn put_number(numbered: Numbered<'_>) -> Change {
    Change::Put(Key::number(numbered.key), number(numbered.numbers.stored()))
}

/// A sequence of this version stands where a record says that has changed; false for records of
/// anything else.
///
/// # Errors
/// XX001 for a key or a number that is none.
pub(crate) fn restore_number(
    snapshot: &Snapshot,
    key: &[u8],
    value: Option<&[u8]>,
) -> SqlResult<bool> {
    let key = Key::decode(key)?;
    let (Kind::Number, Some(value)) = (key.kind, value) else { return Ok(false) };
    let wanted = SequenceKey(key.id, key.number);
    let Some(numbered) = snapshot.numbers().find(|numbered| numbered.key == wanted) else {
        return Ok(false);
    };
    let [value @ .., is_called] = fixed::<9>(value)?;
    numbered.numbers.restore(i64::from_le_bytes(value), is_called != 0);
    Ok(true)
}

/// A number, and whether it was given out.
fn number(reserved: Reserved) -> Vec<u8> {
    [&reserved.value.to_le_bytes()[..], &[u8::from(reserved.is_called)]].concat()
}

fn table_record(entry: &TableEntry) -> Vec<u8> {
    let mut bytes = entry.tree_id.0.to_le_bytes().to_vec();
    bytes.extend((entry.indexes.len() as u32).to_le_bytes());
    bytes.extend(entry.index_trees().flat_map(|tree| tree.0.to_le_bytes()));
    bytes.extend(sql::statistics::encode_table(&entry.def));
    bytes
}

fn table(store: &Store, record: &[u8]) -> SqlResult<TableEntry> {
    let mut words = record.chunks_exact(4).map(|word| fixed(word).map(u32::from_le_bytes));
    let mut word = || words.next().unwrap_or_else(|| Err(damaged("a table is too short")));
    let (tree, count) = (word()?, word()?);
    let mut indexes = vec![];
    for _ in 0..count {
        indexes.push(TreeId(word()?));
    }
    let def = sql::statistics::decode_table(&record[8 + 4 * indexes.len()..])?;
    if def.indexes.len() != indexes.len() {
        return Err(damaged("a table has other indexes than trees"));
    }
    TableEntry::new(store, def, TreeId(tree), &indexes)
}

fn encoded(value: &impl Serialize) -> SqlResult<Vec<u8>> {
    serde_json::to_vec(value).map_err(|error| SqlError::internal(error.to_string()))
}

pub(super) fn decoded<T: DeserializeOwned>(bytes: &[u8]) -> SqlResult<T> {
    serde_json::from_slice(bytes).map_err(|error| damaged(&error.to_string()))
}

/// Reads the version that is on disk; one that an earlier program has written becomes one of this form.
/// Trees that it does not know go with its next change: they are those of
/// temporary tables, or the end of the process cut off what made them.
pub(crate) async fn load(store: &Store) -> SqlResult<Snapshot> {
    let mut snapshot = match legacy::load(store).await? {
        Some(old) => {
            let mut redo = Redo::default();
            save(store, &Snapshot::default(), &old, &Numbers::new(), &mut redo).await?;
            legacy::forget(store).await?;
            store.checkpoint().await.map_err(fault::storage)?;
            old
        }
        None => read(store).await?,
    };
    let known = snapshot.trees();
    let is_known = |id: &TreeId| known.contains(id) || *id == store.catalog().id();
    let orphans: Vec<TreeId> = store.tree_ids().into_iter().filter(|id| !is_known(id)).collect();
    if !planted::is("orphans-stay") {
        snapshot.abandon(&orphans);
    }
    Ok(snapshot)
}

async fn read(store: &Store) -> SqlResult<Snapshot> {
    let (mut snapshot, mut numbers) = (Snapshot::default(), vec![]);
    for (key, bytes) in all(&store.catalog()).await? {
        match key.kind {
            Kind::Head => snapshot.next_id = u32::from_le_bytes(fixed(&bytes)?),
            Kind::Table => snapshot.put(table(store, &bytes)?),
            Kind::Columns => {
                let entry = snapshot.tables.by_id(TableId(key.id)).cloned();
                let entry = entry.ok_or_else(|| damaged("columns belong to no table"))?;
                let columns: StoredColumns = decoded(&bytes)?;
                snapshot.put(TableEntry::clone(&entry).with_columns(store, Some(&columns))?);
            }
            Kind::Number => numbers.push((SequenceKey(key.id, key.number), bytes)),
            kind => snapshot.take_record(kind, &bytes)?,
        }
    }
    let numbers: BTreeMap<SequenceKey, Vec<u8>> = numbers.into_iter().collect();
    for numbered in snapshot.numbers() {
        let stored = numbers.get(&numbered.key).ok_or_else(|| damaged("a sequence has no number"));
        let [value @ .., is_called] = fixed::<9>(stored?)?;
        numbered.numbers.restore(i64::from_le_bytes(value), is_called != 0);
    }
    Ok(snapshot)
}

impl Snapshot {
    /// Takes a record of a kind of which there is one.
    pub(super) fn take_record(&mut self, kind: Kind, bytes: &[u8]) -> SqlResult<()> {
        match kind {
            Kind::Views => {
                let views: Vec<ViewDef> = decoded(bytes)?;
                self.views_mut().extend(views.into_iter().map(|v| (v.name.clone(), Arc::new(v))));
            }
            Kind::Sequences => {
                let made: Vec<SequenceDef> = decoded(bytes)?;
                self.sequences_mut()
                    .extend(made.into_iter().map(|s| (s.name.clone(), Arc::new(s))));
            }
            Kind::Comments => {
                let comments: Vec<(Subject, String)> = decoded(bytes)?;
                self.comments = Arc::new(comments.into_iter().collect());
            }
            Kind::Access => self.access = Arc::new(decoded(bytes)?),
            Kind::Secrets => self.secrets = Arc::new(Secrets::of(decoded(bytes)?)),
            Kind::Device => self.profiles = Arc::new(decoded(bytes)?),
            Kind::Head | Kind::Table | Kind::Number | Kind::Columns => {
                return Err(damaged("a record is misplaced"));
            }
        }
        Ok(())
    }

    /// What is to be saved of sequences, each with whether some numbers more are to count as given out.
    /// Those of temporary tables, and of what is no more, are not saved.
    pub(crate) fn reserved(&self, given: &BTreeMap<SequenceKey, bool>) -> Numbers {
        let reserved = |(key, ahead): (&SequenceKey, &bool)| {
            let Numbered { numbers, ty, .. } = self.numbered(*key)?;
            Some((*key, if *ahead { numbers.reserve(ty) } else { numbers.stored() }))
        };
        given.iter().filter_map(reserved).collect()
    }

    /// What was to be saved of sequences is on disk.
    pub(crate) fn note_saved(&self, saved: &Numbers) {
        for (key, reserved) in saved {
            let numbered = self.numbered(*key);
            numbered.iter().for_each(|numbered| numbered.numbers.reserved(reserved));
        }
    }

    /// A sequence, by where its number is on disk.
    pub(crate) fn numbered(&self, key: SequenceKey) -> Option<Numbered<'_>> {
        if let Some(entry) = self.tables.by_id(TableId(key.0)) {
            return Numbered::of_table(&entry.def).find(|numbered| numbered.key == key);
        }
        let def = self.sequences.values().find(|def| def.id == key.0)?;
        Some(Numbered::of_statement(def))
    }
}
