//! The catalog on disk.
//!
//! Each version is a tree of its own, bulk loaded, so that a crash leaves the old or the new one.
//! The store's catalog tree maps the version's number to the id of that tree; the last one counts.
//! A table's record is cut into chunks that fit an entry: key = table id, chunk number.

use std::ops::Bound;
use std::sync::Arc;

use runtime::IoCounters;
use serde::{Deserialize, Serialize};
use sql::ViewDef;
use sql::catalog::TableDef;
use sql::sequence::SequenceDef;
use storage::{Depth, Store, TreeId};
use types::{SqlError, SqlResult, SqlState};

use super::{Snapshot, TableEntry};
use crate::comments::Subject;
use crate::fault;

/// Bytes of a chunk: with its key well below a quarter of the smallest page.
const CHUNK_BYTES: usize = 512;

#[derive(Serialize, Deserialize)]
struct TableRecord {
    def: Vec<u8>,
    tree: u32,
    index_trees: Vec<u32>,
    next_row_id: i64,
}

/// The key before all tables: holds the next id.
const HEAD: u32 = 0;
/// The key behind all tables: holds the sequences that are not parts of columns.
const SEQUENCES: u32 = u32::MAX - 4;
/// The next key: holds the trees of temporary tables.
const TEMPORARY: u32 = u32::MAX - 3;
/// The next key: holds comments.
const COMMENTS: u32 = u32::MAX - 2;
/// The next key: holds roles and privileges.
const ACCESS: u32 = u32::MAX - 1;
/// The last key: holds the views.
const VIEWS: u32 = u32::MAX;

/// Pages that a bulk load of a small catalog takes: a run of leaves, one of inner nodes, the root;
/// and the same once more for what a statement adds.
const SAVED_PAGES_MIN: u32 = 64;

/// Makes sure of space on the disk for `save` and a checkpoint. To be asked while what has changed
/// can still be undone.
///
/// Errors: 53100.
pub(crate) async fn reserve(store: &Store, snapshot: &Snapshot) -> SqlResult<()> {
    let stats = match snapshot.tree_id {
        Some(tree) => Some(store.tree(tree).map_err(fault::storage)?.stats()),
        None => None,
    };
    let pages = stats.map_or(0, |stats| stats.leaf_pages + stats.inner_pages) as u32;
    // A bulk load takes runs of pages, each at most twice as long as the one before.
    store.reserve(2 * pages + SAVED_PAGES_MIN).await.map_err(fault::storage)
}

/// Writes `snapshot` as the next version. Durable after the next checkpoint.
pub(crate) async fn save(store: &Store, snapshot: &mut Snapshot) -> SqlResult<()> {
    let tree_id = store.create_tree().await.map_err(fault::storage)?;
    let tree = store.tree(tree_id).map_err(fault::storage)?;
    let mut loader = tree.bulk_loader().await.map_err(fault::storage)?;
    let head = (HEAD, snapshot.next_id.to_le_bytes().to_vec());
    let mut records = vec![head];
    for entry in snapshot.tables.values() {
        records.push((entry.def.id.0, record(entry)?));
    }
    let views: Vec<&ViewDef> = snapshot.views.values().map(AsRef::as_ref).collect();
    if !views.is_empty() {
        let bytes = serde_json::to_vec(&views).map_err(|e| SqlError::internal(e.to_string()))?;
        records.push((VIEWS, bytes));
    }
    let sequences: Vec<&SequenceDef> = snapshot.sequences.values().map(AsRef::as_ref).collect();
    if !sequences.is_empty() {
        let bytes = serde_json::to_vec(&sequences);
        records.push((SEQUENCES, bytes.map_err(|e| SqlError::internal(e.to_string()))?));
    }
    if !snapshot.comments.is_empty() {
        let comments: Vec<(&Subject, &String)> = snapshot.comments.iter().collect();
        let bytes = serde_json::to_vec(&comments).map_err(|e| SqlError::internal(e.to_string()))?;
        records.push((COMMENTS, bytes));
    }
    let temporary = snapshot.temporary_trees();
    if !temporary.is_empty() {
        records.push((TEMPORARY, temporary.iter().flat_map(|tree| tree.0.to_le_bytes()).collect()));
    }
    let access = serde_json::to_vec(&*snapshot.access);
    records.push((ACCESS, access.map_err(|e| SqlError::internal(e.to_string()))?));
    records.sort_by_key(|(id, _)| *id);
    for (id, bytes) in records {
        for (number, chunk) in bytes.chunks(CHUNK_BYTES).enumerate() {
            let key = [&id.to_be_bytes()[..], &(number as u16).to_be_bytes()].concat();
            loader.push(&key, chunk).await.map_err(fault::storage)?;
        }
    }
    loader.finish().await.map_err(fault::storage)?;
    snapshot.generation += 1;
    let (key, value) = (snapshot.generation.to_be_bytes(), tree_id.0.to_le_bytes());
    store.catalog().insert(&key, &value).await.map_err(fault::storage)?;
    if let Some(old) = snapshot.tree_id.replace(tree_id) {
        store.drop_tree(old).await.map_err(fault::storage)?;
    }
    Ok(())
}

fn record(entry: &TableEntry) -> SqlResult<Vec<u8>> {
    let record = TableRecord {
        def: sql::statistics::encode_table(&entry.def),
        tree: entry.tree_id.0,
        index_trees: entry.indexes.iter().map(|i| i.tree_id.0).collect(),
        next_row_id: entry.next_row_id,
    };
    serde_json::to_vec(&record).map_err(|e| SqlError::internal(e.to_string()))
}

/// Reads the last version. Trees that it does not know go with its next change: the end of the process
/// cut off what made them.
pub(crate) async fn load(store: &Store) -> SqlResult<Snapshot> {
    let mut snapshot = last_version(store).await?;
    let known = snapshot.trees();
    let is_known = |id: &TreeId| known.contains(id) || *id == store.catalog().id();
    let orphans: Vec<TreeId> = store.tree_ids().into_iter().filter(|id| !is_known(id)).collect();
    snapshot.abandon(&orphans);
    Ok(snapshot)
}

async fn last_version(store: &Store) -> SqlResult<Snapshot> {
    let versions = entries(store.catalog()).await?;
    let mut snapshot = Snapshot::default();
    let Some((generation, tree)) = versions.last() else { return Ok(snapshot) };
    let tree_id = TreeId(u32::from_le_bytes(fixed(tree)?));
    snapshot.generation = u64::from_be_bytes(fixed(generation)?);
    snapshot.tree_id = Some(tree_id);
    let tree = store.tree(tree_id).map_err(fault::storage)?;
    for (id, bytes) in records(&entries(tree).await?)? {
        if id == HEAD {
            snapshot.next_id = u32::from_le_bytes(fixed(&bytes)?);
        } else if id == ACCESS {
            let access = serde_json::from_slice(&bytes).map_err(|e| damaged(&e.to_string()))?;
            snapshot.access = Arc::new(access);
        } else if id == TEMPORARY {
            // Their sessions ended with the last process.
            for tree in bytes.chunks(4) {
                snapshot.abandon(&[TreeId(u32::from_le_bytes(fixed(tree)?))]);
            }
        } else if id == SEQUENCES {
            let sequences: Vec<SequenceDef> =
                serde_json::from_slice(&bytes).map_err(|e| damaged(&e.to_string()))?;
            let named = sequences.into_iter().map(|s| (s.name.clone(), Arc::new(s)));
            snapshot.sequences = named.collect();
        } else if id == COMMENTS {
            let comments: Vec<(Subject, String)> =
                serde_json::from_slice(&bytes).map_err(|e| damaged(&e.to_string()))?;
            snapshot.comments = Arc::new(comments.into_iter().collect());
        } else if id == VIEWS {
            let views: Vec<ViewDef> =
                serde_json::from_slice(&bytes).map_err(|e| damaged(&e.to_string()))?;
            let named = views.into_iter().map(|v| (v.name.clone(), Arc::new(v)));
            snapshot.views = named.collect();
        } else {
            snapshot.put(table(store, &bytes)?);
        }
    }
    Ok(snapshot)
}

type Entries = Vec<(Vec<u8>, Vec<u8>)>;

async fn entries(tree: storage::Tree) -> SqlResult<Entries> {
    let io = IoCounters::default();
    let mut found = vec![];
    let mut parts = vec![tree.root_part(Bound::Unbounded, Bound::Unbounded)];
    while let Some(part) = parts.pop() {
        let mut visit = |key: &[u8], value: &[u8]| found.push((key.to_vec(), value.to_vec()));
        let children = tree.expand(part, Depth::Many, &io, &mut visit).await;
        parts.extend(children.map_err(fault::storage)?.into_iter().rev());
    }
    Ok(found)
}

/// Chunks put together, by id.
fn records(entries: &Entries) -> SqlResult<Vec<(u32, Vec<u8>)>> {
    let mut records: Vec<(u32, Vec<u8>)> = vec![];
    for (key, chunk) in entries {
        let id = u32::from_be_bytes(fixed(key.get(..4).unwrap_or_default())?);
        match records.last_mut() {
            Some((last, bytes)) if *last == id => bytes.extend(chunk),
            _ => records.push((id, chunk.clone())),
        }
    }
    Ok(records)
}

fn table(store: &Store, bytes: &[u8]) -> SqlResult<TableEntry> {
    let record: TableRecord = serde_json::from_slice(bytes).map_err(|e| damaged(&e.to_string()))?;
    let def: TableDef = sql::statistics::decode_table(&record.def)?;
    let index_trees: Vec<_> = record.index_trees.into_iter().map(TreeId).collect();
    TableEntry::new(store, def, TreeId(record.tree), &index_trees, record.next_row_id)
}

fn fixed<const N: usize>(bytes: &[u8]) -> SqlResult<[u8; N]> {
    bytes.try_into().map_err(|_| damaged("a field has the wrong length"))
}

fn damaged(why: &str) -> SqlError {
    SqlError::new(SqlState::DATA_CORRUPTED, format!("the catalog is damaged: {why}"))
}
