//! Removes lists that are not to be kept any more, and objects that no list names: those of statements that
//! failed, and those that `REORGANIZE` and changes of large parts of a table have replaced.

use std::collections::BTreeSet;

use objectstore::ObjectInfo;
use types::{SqlError, SqlResult};

use super::attach::read_as;
use super::publish::names;
use crate::catalog::entry::TableEntry;
use crate::columns::remote::list::{SNAPSHOTS, sequence_of, snapshot_name};
use crate::columns::remote::name::{ChunkName, FOLDER};
use crate::database::Database;
use crate::objects::fault::{of_object, of_store};
use crate::objects::stores::Bucket;

/// Objects that are younger stay: somebody elsewhere may still read by a list that names them.
pub(crate) const GRACE_S: i64 = 3600;

/// Objects of a location at most.
pub(crate) const OBJECTS_MAX: usize = 1 << 20;

/// Removes what is left over at the location of a table that writes there; how many objects that were.
/// While somebody in this process reads an older version of the table, nothing is removed.
///
/// # Errors
/// Those of the store and of storage.
pub(crate) async fn expire(db: &Database, entry: &TableEntry) -> SqlResult<usize> {
    let Some(columns) = entry.stored_columns() else { return Ok(0) };
    let Some(remote) = columns.remote.as_ref().filter(|remote| remote.writer.is_some()) else {
        return Ok(0);
    };
    let newest = db.newest();
    if newest.stores.leases().are_held(&remote.location) {
        return Ok(0);
    }
    let mut used = BTreeSet::new();
    for part in &columns.parts {
        used.extend(names(db.store(), part).await?);
    }
    let bucket = remote.bucket(&newest)?;
    let (store, location) = (&bucket.store, &bucket.location);
    let mut count = snapshots(&bucket, newest.stores.snapshots(), &mut used).await?;
    let prefix = location.key("");
    let found = store.list_all(&location.key(FOLDER), OBJECTS_MAX).await;
    for object in found.map_err(|error| of_store(&error, location))? {
        let name = object.key.strip_prefix(&prefix).and_then(ChunkName::of_object);
        let is_old = is_old(&object);
        let Some(name) = name.filter(|name| is_old && !used.contains(name)) else { continue };
        let removed = store.delete(&object.key).await;
        removed.map_err(|error| -> SqlError { of_object(&error, location, &name.to_string()) })?;
        count += 1;
    }
    Ok(count)
}

pub(crate) fn is_old(object: &ObjectInfo) -> bool {
    let now_s = runtime::time::unix_us() / 1_000_000;
    object.modified_s.is_some_and(|at| now_s.saturating_sub(at) >= GRACE_S)
}

/// Removes all lists but the newest ones; how many. What the others name is used.
pub(crate) async fn snapshots(
    bucket: &Bucket,
    kept: usize,
    used: &mut BTreeSet<ChunkName>,
) -> SqlResult<usize> {
    let Bucket { store, location, .. } = bucket;
    let prefix = location.key("");
    let found = store.list_all(&location.key(SNAPSHOTS), OBJECTS_MAX).await;
    let found = found.map_err(|error| of_store(&error, location))?.into_iter();
    let named = found.filter_map(|object| {
        let sequence = object.key.strip_prefix(&prefix).and_then(sequence_of)?;
        Some((sequence, object))
    });
    let mut lists: Vec<(u64, ObjectInfo)> = named.collect();
    lists.sort_unstable_by_key(|(sequence, _)| std::cmp::Reverse(*sequence));
    let mut count = 0;
    for (at, (sequence, object)) in lists.into_iter().enumerate() {
        let name = snapshot_name(sequence);
        if at >= kept && is_old(&object) {
            let removed = store.delete(&object.key).await;
            removed.map_err(|error| of_object(&error, location, &name))?;
            count += 1;
            continue;
        }
        let list = read_as(bucket, &name).await?.list;
        let chunks = list.parts.iter().flat_map(|part| &part.chunks);
        used.extend(chunks.map(|chunk| chunk.name));
    }
    Ok(count)
}
