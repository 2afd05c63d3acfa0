//! Writes a tree bottom-up from sorted entries.

use std::sync::atomic::Ordering::Relaxed;

use runtime::sync::Cancel;
use storage::{Store, TreeId};
use txn::waiting::give_way;
use types::SqlResult;
use types::key::KeyColumn;

use super::keys::duplicate_key;
use crate::catalog::trees::drop_trees;
use crate::database::Job;
use crate::fault;
use crate::sorter::merge::Sorted;

/// What a tree that is written has to be, who watches, and who ends it.
pub(super) struct Filling<'a> {
    pub(super) key: &'a [KeyColumn],
    pub(super) unique: &'a Option<(usize, String)>,
    pub(super) job: &'a Job,
    pub(super) cancel: Cancel,
}

/// On an error neither the tree nor the sorted runs stay: the disk may be full.
pub(super) async fn write_tree(
    store: &Store,
    mut sorted: Sorted,
    filling: Filling<'_>,
) -> SqlResult<TreeId> {
    let written = match store.create_tree().await.map_err(fault::storage) {
        Ok(tree_id) => {
            let filled = fill(store, tree_id, &mut sorted, filling).await;
            if filled.is_err() {
                // The error that led here is the one to report.
                drop_trees(store, &[tree_id]).await.ok();
            }
            filled.map(|()| tree_id)
        }
        Err(error) => Err(error),
    };
    if written.is_err() {
        sorted.discard().await;
    }
    written
}

async fn fill(
    store: &Store,
    tree_id: TreeId,
    sorted: &mut Sorted,
    filling: Filling<'_>,
) -> SqlResult<()> {
    let Filling { key, unique, job, cancel } = filling;
    let tree = store.tree(tree_id).map_err(fault::storage)?;
    let mut loader = tree.bulk_loader().await.map_err(fault::storage)?;
    let mut last: Vec<u8> = vec![];
    while let Some((bytes, value)) = sorted.next().await? {
        give_way(&cancel).await?;
        if let Some((count, constraint)) = unique
            && same_key(&key[..*count], key, &last, bytes)
        {
            return Err(duplicate_key(constraint));
        }
        loader.push(bytes, value).await.map_err(fault::storage)?;
        last.clear();
        last.extend_from_slice(bytes);
        job.done.fetch_add(1, Relaxed);
    }
    loader.finish().await.map_err(fault::storage)
}

/// Whether two keys agree in the unique columns and none of these is null.
pub(crate) fn same_key(unique: &[KeyColumn], key: &[KeyColumn], a: &[u8], b: &[u8]) -> bool {
    if a.is_empty() || (unique.len() == key.len() && a != b) {
        return false;
    }
    let (a, b) = (types::key::split_columns(key, a), types::key::split_columns(key, b));
    let null = |(column, bytes): (&KeyColumn, &&[u8])| column.nullable && bytes.len() == 1;
    a[..unique.len()] == b[..unique.len()] && !unique.iter().zip(&a).any(null)
}
