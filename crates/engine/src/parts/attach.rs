//! A table that another database wrote, to be read: its columns and the headers of its chunks are those
//! that the list has at this moment, or had at an earlier one.

use std::sync::Arc;

use columnar::ChunkHeader;
use storage::{Store, TreeId};
use types::{Column, SqlError, SqlResult, SqlState};

use super::publish::definition;
use crate::catalog::trees::drop_trees;
use crate::columns::part::{COUNTS, Kind, key};
use crate::columns::remote::list;
use crate::columns::remote::list::{LIST, List, ListedPart};
use crate::columns::remote::stored::StoredRemote;
use crate::columns::stored::{StoredColumns, StoredPart};
use crate::database::Database;
use crate::fault;
use crate::fault::block as block_error;
use crate::objects::fault::of_object;
use crate::objects::seal::{is_sealed, open_list};
use crate::objects::stores::Bucket;

/// Reads the list of a location, or one that is kept of `location@sequence`; the columns of the table, and
/// its parts as trees that no catalog knows yet.
///
/// # Errors
/// Those of the store, XX001 for what is no list, and those of storage.
pub(crate) async fn attach(
    db: &Database,
    location: &str,
    deleted: TreeId,
) -> SqlResult<(Vec<Column>, StoredColumns)> {
    let (location, snapshot) = split(location);
    let bucket = db.newest().bucket(location)?;
    let Found { list: found, tag, sealed } = match snapshot {
        None => read(&bucket).await?,
        Some(sequence) => read_kept(&bucket, sequence).await?,
    };
    let columns = definition(&found)?.schema.columns;
    let remote = StoredRemote {
        location: bucket.location.to_string(),
        writer: None,
        sequence: found.sequence,
        tag,
        snapshot,
        sealed,
        lease: Arc::default(),
    };
    let mut stored = StoredColumns { deleted: deleted.0, parts: vec![], remote: Some(remote) };
    for part in &found.parts {
        if let Err(error) = add(db.store(), part, columns.len(), &mut stored).await {
            let made: Vec<TreeId> = stored.parts.iter().map(StoredPart::tree_id).collect();
            // The error that led here is the one to report.
            drop_trees(db.store(), &made).await.ok();
            return Err(error);
        }
    }
    Ok((columns, stored))
}

/// A location, and the sequence of the list that is meant, if it is not the newest one.
pub(crate) fn split(location: &str) -> (&str, Option<u64>) {
    let parts = location.rsplit_once('@');
    let parts = parts.and_then(|(place, sequence)| Some((place, sequence.parse().ok()?)));
    parts.map_or((location, None), |(place, sequence)| (place, Some(sequence)))
}

/// A list at the store.
pub(crate) struct Found {
    pub(crate) list: List,
    /// The tag of the object.
    pub(crate) tag: String,
    /// The number, in hexadecimal, under which the table is encrypted, if it is.
    sealed: Option<String>,
}

/// The list that is there now.
pub(crate) async fn read(bucket: &Bucket) -> SqlResult<Found> {
    read_as(bucket, LIST).await
}

/// The list of a sequence, which may be the newest one.
pub(crate) async fn read_kept(bucket: &Bucket, sequence: u64) -> SqlResult<Found> {
    let kept = match read_as(bucket, &list::snapshot_name(sequence)).await {
        Err(error) if error.state == SqlState::UNDEFINED_FILE => read(bucket).await?,
        kept => kept?,
    };
    let newest = kept.list.sequence;
    if newest == sequence {
        return Ok(kept);
    }
    let message =
        format!("snapshot {sequence} of the table at \"{}\" is not kept", bucket.location);
    Err(SqlError::new(SqlState::UNDEFINED_FILE, message)
        .with_detail(format!("The newest one is {newest}."))
        .with_hint(
            "The setting object_store_snapshots of the database that writes says how many are.",
        ))
}

/// The list of this name.
pub(crate) async fn read_as(bucket: &Bucket, name: &str) -> SqlResult<Found> {
    let key = bucket.location.key(name);
    let got = bucket.store.get(&key).await;
    let object = got.map_err(|error| of_object(&error, &bucket.location, name))?;
    let (bytes, tag) = (object.body.as_slice(), object.info.tag.unwrap_or_default());
    match &bucket.key {
        Some(key) if is_sealed(bytes) => {
            let (opened, table) = open_list(key, bytes).await?;
            list::verify(&opened).await?;
            Ok(Found { list: List::decode(&opened)?, tag, sealed: Some(table) })
        }
        _ => {
            let number = is_sealed(bytes).then_some("");
            bucket.clone().of_table(number)?;
            list::verify(bytes).await?;
            Ok(Found { list: List::decode(bytes)?, tag, sealed: None })
        }
    }
}

/// Writes the headers of a part into a tree, as the load of one does.
pub(crate) async fn add(
    store: &Store,
    part: &ListedPart,
    column_count: usize,
    stored: &mut StoredColumns,
) -> SqlResult<()> {
    let behind = stored.parts.last().map_or(i64::MIN, StoredPart::end);
    if part.first_row < behind || part.column_bytes.len() != column_count {
        return Err(list::damaged("its parts do not fit each other"));
    }
    let tree = store.create_tree().await.map_err(fault::storage)?;
    let (first_row, rows) = (part.first_row, part.rows);
    let column_bytes = part.column_bytes.clone();
    stored.parts.push(StoredPart { tree: tree.0, first_row, rows, column_bytes });
    let tree = store.tree(tree).map_err(fault::storage)?;
    let mut loader = tree.bulk_loader().await.map_err(fault::storage)?;
    let (mut at, mut counts) = (first_row, vec![]);
    for chunk in &part.chunks {
        let header = ChunkHeader::parse(&chunk.header).map_err(block_error)?;
        if header.row_count() != chunk.rows as usize || header.columns().len() != column_count {
            return Err(list::damaged("a chunk is not what its header says"));
        }
        let entries = [(Kind::Header, &chunk.header[..]), (Kind::Object, chunk.name.bytes())];
        for (kind, value) in entries {
            loader.push(&key(at, kind), value).await.map_err(fault::storage)?;
        }
        counts.extend(chunk.rows.to_le_bytes());
        at += i64::from(chunk.rows);
    }
    loader.push(&COUNTS, &counts).await.map_err(fault::storage)?;
    loader.finish().await.map_err(fault::storage)
}
