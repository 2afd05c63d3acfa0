//! The catalog as earlier programs wrote it: each version was a tree of its own, of records cut into
//! chunks (key: id, chunk), and the store's catalog tree had the number of that tree under the number of
//! the version.

use std::ops::Bound;

use plan::catalog::TableDef;
use serde::Deserialize;
use storage::{Store, TreeId};
use types::SqlResult;

use super::entry::TableEntry;
use super::persist::decoded;
use super::records::{KEY_BYTES, Kind, damaged, entries, fixed};
use super::snapshot::Snapshot;
use crate::fault;

/// A table; where its row ids went on is seen from its rows now.
#[derive(Deserialize)]
struct TableRecord {
    def: Vec<u8>,
    tree: u32,
    index_trees: Vec<u32>,
}

/// What the ids of records mean that are not tables. The trees of temporary tables are in no other record,
/// and go like all that are in none.
const HEAD: u32 = 0;
const TEMPORARY: u32 = u32::MAX - 3;
const KINDS: [(u32, Kind); 4] = [
    (u32::MAX - 4, Kind::Sequences),
    (u32::MAX - 2, Kind::Comments),
    (u32::MAX - 1, Kind::Access),
    (u32::MAX, Kind::Views),
];

type Entries = Vec<(Vec<u8>, Vec<u8>)>;

/// The versions that are there, if the catalog is of that form.
async fn versions(store: &Store) -> SqlResult<Entries> {
    let mut all = entries(&store.catalog(), Bound::Unbounded, Bound::Unbounded).await?;
    all.retain(|(key, _)| key.len() != KEY_BYTES);
    Ok(all)
}

/// The last version, if it is of that form.
pub(super) async fn load(store: &Store) -> SqlResult<Option<Snapshot>> {
    let versions = versions(store).await?;
    let Some((_, tree)) = versions.last() else { return Ok(None) };
    let tree_id = TreeId(u32::from_le_bytes(fixed(tree)?));
    let tree = store.tree(tree_id).map_err(fault::storage)?;
    let mut snapshot = Snapshot::default();
    for (id, bytes) in records(entries(&tree, Bound::Unbounded, Bound::Unbounded).await?)? {
        match KINDS.iter().find(|(known, _)| *known == id) {
            Some((_, kind)) => snapshot.take_record(*kind, &bytes)?,
            None if id == TEMPORARY => {}
            None if id == HEAD => snapshot.next_id = u32::from_le_bytes(fixed(&bytes)?),
            None => snapshot.put(table(store, &bytes)?),
        }
    }
    Ok(Some(snapshot))
}

/// Removes what says that the catalog is of that form.
pub(super) async fn forget(store: &Store) -> SqlResult<()> {
    let io = runtime::IoCounters::default();
    for (key, _) in versions(store).await? {
        store.catalog().delete(&key, &io).await.map_err(fault::storage)?;
    }
    Ok(())
}

/// Chunks put together, by id.
fn records(entries: Entries) -> SqlResult<Vec<(u32, Vec<u8>)>> {
    let mut records: Vec<(u32, Vec<u8>)> = vec![];
    for (key, chunk) in entries {
        let id = u32::from_be_bytes(fixed(key.get(..4).unwrap_or_default())?);
        match records.last_mut() {
            Some((last, bytes)) if *last == id => bytes.extend(chunk),
            _ => records.push((id, chunk)),
        }
    }
    Ok(records)
}

fn table(store: &Store, bytes: &[u8]) -> SqlResult<TableEntry> {
    let record: TableRecord = decoded(bytes)?;
    let def: TableDef = sql::statistics::decode_table(&record.def)?;
    let indexes: Vec<_> = record.index_trees.into_iter().map(TreeId).collect();
    if def.indexes.len() != indexes.len() {
        return Err(damaged("a table has other indexes than trees"));
    }
    TableEntry::new(store, def, TreeId(record.tree), &indexes)
}
