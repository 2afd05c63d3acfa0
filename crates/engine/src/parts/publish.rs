//! Publishes the list of a table's chunks: put on the condition that the list there is the one that
//! this database wrote last. It is put before the statement commits. So a list that says more than the
//! catalog is one of this database whose statement did not come to its end; the next statement that
//! writes puts its own in its place.

use std::sync::Arc;

use columnar::ChunkHeader;
use objectstore::{Condition, ErrorKind};
use plan::catalog::TableDef;
use runtime::IoCounters;
use storage::{Store, Tree, TreeId};
use types::{SqlError, SqlResult, SqlState};

use crate::catalog::entry::TableEntry;
use crate::columns::part::{Kind, Part, key};
use crate::columns::remote::list;
use crate::columns::remote::list::{
    LIST, LIST_BYTES_MAX, List, ListedChunk, ListedPart, snapshot_name, write_hash,
};
use crate::columns::remote::name::ChunkName;
use crate::columns::remote::stored::StoredRemote;
use crate::columns::stored::{StoredColumns, StoredPart};
use crate::database::Database;
use crate::fault;
use crate::fault::damaged_columns as damaged;
use crate::objects::fault::of_object;
use crate::objects::location::Location;
use crate::objects::stores::Bucket;

/// The first list of a new table. A location that a table has which was ever written to is left alone.
///
/// # Errors
/// 42710 for a location that is taken, 0A000 for one that is only read, 25001 in a block, and those of
/// the store.
pub(crate) async fn claim(
    db: &Database,
    def: &TableDef,
    location: &str,
) -> SqlResult<StoredRemote> {
    refuse_in_block(db)?;
    let location = Location::parse(location)?;
    if location.scheme.only_reads() {
        let message = format!("a new table at \"{location}\", which can only be read");
        return Err(SqlError::unsupported(message));
    }
    let writer: String = runtime::entropy::<16>().iter().map(|b| format!("{b:02x}")).collect();
    let mut remote = StoredRemote {
        location: location.to_string(),
        writer: Some(writer),
        sequence: 0,
        tag: String::new(),
        snapshot: None,
        sealed: None,
        lease: Arc::default(),
    };
    let newest = db.newest();
    let bucket = newest.bucket(&remote.location)?;
    if bucket.key.is_some() {
        remote.sealed = remote.writer.clone();
    }
    let bucket = bucket.of_table(remote.sealed.as_deref())?;
    let is_kept = newest.stores.snapshots() > 0;
    put(&bucket, &mut remote, def, vec![], is_kept).await.map_err(|error| match error.state.0 {
        "40001" => taken(&location),
        _ => error,
    })?;
    Ok(remote)
}

pub(crate) fn taken(location: &Location) -> SqlError {
    let message = format!("there is a table at \"{location}\" already");
    SqlError::new(SqlState::DUPLICATE_OBJECT, message).with_hint(
        "Without columns, CREATE TABLE takes those of that table, which is only read then.",
    )
}

/// Publishes the parts of a table that has a location; nothing for others.
///
/// # Errors
/// 40001 when another database has written there, 25001 in a block, and those of the store.
pub(crate) async fn publish(
    db: &Database,
    def: &TableDef,
    columns: &mut StoredColumns,
) -> SqlResult<()> {
    let Some(old) = columns.remote.clone() else { return Ok(()) };
    refuse_in_block(db)?;
    let newest = db.newest();
    let bucket = old.bucket(&newest)?;
    let mut parts = vec![];
    for part in &columns.parts {
        parts.push(listed(db.store(), part).await?);
    }
    let mut next = StoredRemote { lease: Arc::default(), ..old.clone() };
    put(&bucket, &mut next, def, parts, newest.stores.snapshots() > 0).await?;
    newest.stores.leases().note(&old.location, &old.lease);
    columns.remote = Some(next);
    Ok(())
}

/// What a table that has a location becomes when it is emptied.
///
/// # Errors
/// As [`publish`].
pub(crate) async fn emptied(db: &Database, entry: &TableEntry) -> SqlResult<Option<StoredRemote>> {
    let Some(remote) = entry.stored_columns().and_then(|columns| columns.remote) else {
        return Ok(None);
    };
    let mut columns = StoredColumns { deleted: 0, parts: vec![], remote: Some(remote) };
    publish(db, &entry.def, &mut columns).await?;
    Ok(columns.remote)
}

/// What is published cannot be taken back with a block.
///
/// # Errors
/// 25001
pub(crate) fn refuse_in_block(db: &Database) -> SqlResult<()> {
    if db.block().is_none_or(|block| block.is_statement()) {
        return Ok(());
    }
    let message = "chunks of a table with a location cannot be written in a transaction block";
    Err(SqlError::new(SqlState("25001"), message)
        .with_hint("Load the table in a statement of its own."))
}

/// Puts the list in the place of the one that was there, and says so in `remote`; and once more under a name
/// of its own, if it is to be kept. It is what others see by then, so if that fails the statement has failed as
/// if it had been lost between list and commit.
pub(crate) async fn put(
    bucket: &Bucket,
    remote: &mut StoredRemote,
    def: &TableDef,
    parts: Vec<ListedPart>,
    is_kept: bool,
) -> SqlResult<()> {
    let writer = remote.writer.clone();
    let writer =
        writer.ok_or_else(|| SqlError::internal("a table that is only read is written"))?;
    let mut list = List { writer, sequence: remote.sequence + 1, definition: columns(def), parts };
    let mut condition = match remote.tag.is_empty() {
        true => Condition::Absent,
        false => Condition::Matches(remote.tag.clone()),
    };
    let key = bucket.location.key(LIST);
    let mut is_second = false;
    loop {
        let mut bytes = list.encode();
        if bytes.len() > LIST_BYTES_MAX {
            let message = "the table has too many chunks for one list";
            return Err(SqlError::new(SqlState::PROGRAM_LIMIT_EXCEEDED, message));
        }
        write_hash(&mut bytes).await;
        if let Some(seal) = &bucket.seal {
            bytes = seal.seal_list(&bytes).await?;
        }
        match bucket.store.put_if(&key, &bytes, &condition).await {
            Ok(info) => {
                let tag = info.tag.ok_or_else(|| no_tag(bucket))?;
                (remote.tag, remote.sequence) = (tag, list.sequence);
                if is_kept {
                    keep(bucket, list.sequence, &bytes).await?;
                }
                return Ok(());
            }
            Err(error) if error.kind() == ErrorKind::Precondition && !is_second => {
                is_second = true;
                let found = super::attach::read(bucket).await?;
                if !may_replace(remote, &found.list) {
                    return Err(overtaken(bucket));
                }
                list.sequence = found.list.sequence + 1;
                condition = Condition::Matches(found.tag);
            }
            Err(error) if error.kind() == ErrorKind::Precondition => return Err(overtaken(bucket)),
            Err(error) => return Err(of_object(&error, &bucket.location, LIST)),
        }
    }
}

pub(crate) async fn keep(bucket: &Bucket, sequence: u64, bytes: &[u8]) -> SqlResult<()> {
    let name = snapshot_name(sequence);
    let kept = bucket.store.put(&bucket.location.key(&name), bytes).await;
    kept.map(drop).map_err(|error| of_object(&error, &bucket.location, &name))
}

/// Whether a list is that of a statement of this table which did not come to its end, or for a new table
/// of one that was never written to.
pub(crate) fn may_replace(remote: &StoredRemote, found: &List) -> bool {
    let is_own = remote.writer.as_deref() == Some(found.writer.as_str());
    let is_new = remote.tag.is_empty();
    (is_own && found.sequence > remote.sequence)
        || (is_new && found.sequence == 1 && found.parts.is_empty())
}

pub(crate) fn overtaken(bucket: &Bucket) -> SqlError {
    let message = format!("another database has written to \"{}\"", bucket.location);
    SqlError::new(SqlState("40001"), message)
        .with_detail("A location has one database that writes, and any number that read.")
}

pub(crate) fn no_tag(bucket: &Bucket) -> SqlError {
    let message = format!("the store of \"{}\" gives objects no tags", bucket.location);
    SqlError::new(SqlState::IO_ERROR, message)
}

/// The definition of the columns, without what is of this database alone.
pub(crate) fn columns(def: &TableDef) -> Vec<u8> {
    sql::statistics::encode_table(&TableDef {
        statistics: Arc::default(),
        constraints: Arc::default(),
        indexes: vec![],
        primary_key: vec![],
        ..def.clone()
    })
}

pub(crate) async fn listed(store: &Store, stored: &StoredPart) -> SqlResult<ListedPart> {
    let (part, io) = (Part::open(store, stored)?, IoCounters::default());
    let mut chunks = vec![];
    for rows in part.chunks(&io).await? {
        let header = value(&part.tree, rows.start, Kind::Header).await?;
        let name = name_of(&part.tree, rows.start).await?;
        let rows = ChunkHeader::parse(&header).map_err(crate::fault::block)?.row_count();
        let rows = u32::try_from(rows).map_err(|_| damaged("a chunk has too many rows"))?;
        chunks.push(ListedChunk { rows, name, header });
    }
    let column_bytes = stored.column_bytes.clone();
    Ok(ListedPart { first_row: stored.first_row, rows: stored.rows, column_bytes, chunks })
}

/// The names of the chunks of a part.
pub(crate) async fn names(store: &Store, stored: &StoredPart) -> SqlResult<Vec<ChunkName>> {
    let tree = store.tree(TreeId(stored.tree)).map_err(fault::storage)?;
    let mut names = vec![];
    for rows in Part::open(store, stored)?.chunks(&IoCounters::default()).await? {
        names.push(name_of(&tree, rows.start).await?);
    }
    Ok(names)
}

pub(crate) async fn name_of(tree: &Tree, first_row: i64) -> SqlResult<ChunkName> {
    let name = value(tree, first_row, Kind::Object).await?;
    ChunkName::of(&name).ok_or_else(|| damaged("an object has no name"))
}

pub(crate) async fn value(tree: &Tree, first_row: i64, kind: Kind) -> SqlResult<Vec<u8>> {
    let found = tree.get(&key(first_row, kind), &IoCounters::default(), <[u8]>::to_vec).await;
    found.map_err(fault::storage)?.ok_or_else(|| damaged("a chunk has no header or no object"))
}

/// The columns that a list tells of.
pub(crate) fn definition(found: &List) -> SqlResult<TableDef> {
    sql::statistics::decode_table(&found.definition)
        .map_err(|_| list::damaged("its columns cannot be read"))
}
