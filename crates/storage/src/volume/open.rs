//! Making and opening the members of a database.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use runtime::fs::{self, File, Identity};

use super::label::Label;
use super::member::{Member, Opening, ensure_different, write};
use super::origin::Origin;
use super::table::{MEMBER_COUNT_MAX, Record, Table};
use super::{BLOCK_BYTES, Geometry, Members, State, Volume, VolumeOptions, format, probe};
use crate::error::{MemberFault, Result, StorageError};

/// True if a new database at `path` has labels: it has several members, or lies on a device.
///
/// # Errors
/// `Io`.
pub(crate) async fn wants_labels(path: &Path, options: &VolumeOptions) -> Result<bool> {
    if !options.members.is_empty() {
        return Ok(true);
    }
    match fs::identity(path).await {
        Ok(identity) => Ok(matches!(identity, Identity::Device(_))),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(false),
        Err(error) => Err(StorageError::io("look at the database file", &error)),
    }
}

/// Makes the members of a new database, and the paths of the files that were made for that.
///
/// # Errors
/// `Member`, `Io`; nothing is left of files that were made.
pub(crate) async fn create(
    path: &Path,
    options: &VolumeOptions,
    opening: Opening,
) -> Result<(Volume, Vec<PathBuf>)> {
    let geometry = options.geometry;
    if !geometry.is_valid() || options.members.len() >= MEMBER_COUNT_MAX {
        return Err(StorageError::Option("a database has 64 members at most, of valid extents"));
    }
    let paths: Vec<&Path> =
        [path].into_iter().chain(options.members.iter().map(PathBuf::as_path)).collect();
    ensure_different(&paths).await?;
    if matches!(fs::identity(path).await, Ok(Identity::File(..))) {
        let error = ErrorKind::AlreadyExists.into();
        return Err(StorageError::io("create the database file", &error));
    }
    let mut made = vec![];
    let created = create_all(&paths, options, opening, &mut made).await;
    if created.is_err() {
        remove_all(&made).await;
    }
    created.map(|volume| (volume, made))
}

/// Refuses what cannot join a database in one file, before anything is done for it.
///
/// # Errors
/// `Member`; `Io`.
pub(crate) async fn ensure_joins(
    path: &Path,
    member: &Path,
    opening: Opening,
    format: bool,
) -> Result<()> {
    ensure_different(&[path, member]).await?;
    match fs::exists(member).await {
        Ok(true) => {
            let missing = MemberFault::Missing { number: 0, path: member.to_owned() };
            let member = Member::open(member, opening, missing).await?;
            format::is_clear(&member, &[0; 16], &[], format).await.map(drop)
        }
        _ => Ok(()),
    }
}

/// Removes files that hold nothing.
pub(crate) async fn remove_all(paths: &[PathBuf]) {
    for path in paths {
        drop(fs::remove(path).await);
    }
}

async fn create_all(
    paths: &[&Path],
    options: &VolumeOptions,
    opening: Opening,
    made: &mut Vec<PathBuf>,
) -> Result<Volume> {
    let origin = Origin { database: runtime::entropy(), geometry: options.geometry };
    let (mut members, mut records) = (vec![], vec![]);
    for path in paths {
        let (member, is_made) = origin.found(path, opening).await?;
        made.extend(is_made.then(|| path.to_path_buf()));
        format::is_clear(&member, &origin.database, &[], options.format).await?;
        members.push(member);
    }
    // Not before all are known to be suited.
    for member in &members {
        format::clear(member, &origin.database, &[], options.format).await?;
    }
    for (number, member) in (1..).zip(&members).skip(1) {
        records.push(origin.made_ready(member, number).await?);
    }
    // The first one last: with its label there is a database.
    let first = &members[0];
    let label = origin.label(first, 1, probe::speed_of_new(first, &origin.geometry).await?);
    records.insert(0, Record::of(&label, &first.path));
    let table = Table::of_new(records);
    let twin = Table { sequence: table.sequence + 1, ..table.clone() };
    let written = async {
        first.reserve(0, origin.geometry.head_bytes()).await?;
        for table in [&table, &twin] {
            let bytes = table.encode(&origin).ok_or(ErrorKind::FileTooLarge)?;
            write(first, &bytes, origin.geometry.slot(table.sequence)).await?;
        }
        first.sync().await
    };
    let failed = |error| StorageError::io("make the members of the database", &error);
    written.await.map_err(failed)?;
    origin.write_label(first, &label).await?;
    Ok(Members::of(origin, State { table: twin, members }, opening))
}

/// The members of a database whose first one has a label.
///
/// # Errors
/// `Member`, `Io`; `Corrupt` and the like where label or table are damaged.
pub(crate) async fn open(
    first: File,
    path: &Path,
    options: &VolumeOptions,
    opening: Opening,
) -> Result<Volume> {
    let size = match fs::identity(path).await {
        Ok(Identity::Device(_)) => file_len(&first).await?,
        _ => 0,
    };
    let first = Arc::new(Member::of(first, path, size));
    let label = first.label().await?.ok_or(StorageError::NotADatabase)?;
    if label.number != 1 {
        return Err(StorageError::Member(MemberFault::NotFirst { number: label.number }));
    }
    let (was, is_mirrored) = read_table(&first, &label).await?;
    let mut table = was.clone();
    let is_moved = !is_same(&was.members[0].path, path).await;
    let paths = paths_of(&was.members, is_moved, options)?;
    let all: Vec<&Path> = [path].into_iter().chain(paths.iter().map(|(path, _)| *path)).collect();
    ensure_different(&all).await?;
    let mut members: Vec<Option<Arc<Member>>> = vec![None; table.members.len()];
    members[0] = Some(first);
    for (path, number) in paths {
        let missing = MemberFault::Missing { number, path: path.to_owned() };
        let member = Member::open(path, opening, missing).await?;
        let position = position_of(&member, &label, &table).await?;
        if let Some(other) = &members[position] {
            let (path, other) = (member.path.clone(), other.path.clone());
            return Err(StorageError::Member(MemberFault::Twice { path, other }));
        }
        members[position] = Some(Arc::new(member));
    }
    let mut found = vec![];
    for (member, record) in members.into_iter().zip(&mut table.members) {
        let not_given = MemberFault::NotGiven { number: record.number, path: record.path.clone() };
        let member = member.ok_or(StorageError::Member(not_given))?;
        if record.number > 1 || is_moved {
            record.path.clone_from(&member.path);
        }
        found.push(member);
    }
    let state = State { table, members: found };
    check_lengths(&state, &label.origin.geometry).await?;
    let volume = Members::of(label.origin, state, opening);
    volume.settle(&was, is_mirrored).await?;
    if label.converted > 0 {
        volume.finish_conversion(label).await?;
    }
    Ok(volume)
}

/// True if two paths lead to the same file or device now.
async fn is_same(path: &Path, other: &Path) -> bool {
    let identities = (fs::identity(path).await, fs::identity(other).await);
    path == other || matches!(identities, (Ok(one), Ok(two)) if one == two)
}

/// Where to look for the members but the first, and their numbers where these are known.
fn paths_of<'a>(
    members: &'a [Record],
    is_moved: bool,
    options: &'a VolumeOptions,
) -> Result<Vec<(&'a Path, u32)>> {
    if !options.members.is_empty() {
        return Ok(options.members.iter().map(|path| (path.as_path(), 0)).collect());
    }
    if members.len() > 1 && is_moved {
        let was = members[0].path.clone();
        return Err(StorageError::Member(MemberFault::Moved { path: was }));
    }
    let others = members.iter().skip(1);
    Ok(others.map(|member| (member.path.as_path(), member.number)).collect())
}

/// Which member it is.
///
/// # Errors
/// `Member` when it is none of this database.
async fn position_of(member: &Member, first: &Label, table: &Table) -> Result<usize> {
    let stranger =
        |what| StorageError::Member(MemberFault::Stranger { path: member.path.clone(), what });
    let label = member.label().await?.ok_or_else(|| stranger("it has no label"))?;
    if label.origin.database != first.origin.database {
        return Err(stranger("it has the label of another one"));
    }
    let position = table.members.iter().position(|record| record.id == label.id);
    position
        .filter(|position| *position > 0)
        .ok_or_else(|| stranger("it began to join and did not come to it, or has left"))
}

/// # Errors
/// `Member` with one that is shorter than what lies on it.
async fn check_lengths(state: &State, geometry: &Geometry) -> Result<()> {
    let records = state.table.members.iter().zip(state.table.counts());
    for (member, (record, count)) in state.members.iter().zip(records) {
        let used = if count > 0 { geometry.offset(count) } else { BLOCK_BYTES as u64 };
        let (expected_bytes, found_bytes) = (used.max(record.size), member.len().await?);
        if found_bytes < expected_bytes {
            let path = member.path.clone();
            let short = MemberFault::Short { path, expected_bytes, found_bytes };
            return Err(StorageError::Member(short));
        }
    }
    Ok(())
}

/// The table that counts; true if the other slot has the same, and so is its twin.
///
/// # Errors
/// `NotADatabase` when there is none.
async fn read_table(first: &Member, label: &Label) -> Result<(Table, bool)> {
    let mut tables = vec![];
    for slot in 0..2 {
        tables.extend(read_slot(first, label, slot).await);
    }
    tables.sort_by_key(|table| table.sequence);
    if let [older, newer] = &tables[..] {
        let twin = Table { sequence: newer.sequence, ..older.clone() };
        if twin == *newer {
            // The newer one need not be durable, so that the next one is written over it.
            return Ok((tables.swap_remove(0), true));
        }
    }
    let geometry = &label.origin.geometry;
    let is_converted = tables.is_empty() && label.converted >= geometry.head_extents();
    let converted = is_converted
        .then(|| Table::of_converted(Record::of(label, &first.path), label.converted, geometry));
    Ok((tables.pop().or(converted).ok_or(StorageError::NotADatabase)?, false))
}

/// The table in a slot. One that cannot be read is none: the other slot has the same, or has what
/// counts while this one was written.
async fn read_slot(first: &Member, label: &Label, slot: u64) -> Option<Table> {
    let geometry = &label.origin.geometry;
    let at = BLOCK_BYTES as u64 + slot * geometry.table_bytes;
    let head = first.read(at, BLOCK_BYTES).await.ok()?;
    let len = Table::stored_len(head.as_slice(), geometry)?;
    let bytes = first.read(at, len.next_multiple_of(BLOCK_BYTES)).await.ok()?;
    Table::decode(bytes.as_slice(), &label.origin)
}

async fn file_len(file: &File) -> Result<u64> {
    let len = file.len().await;
    len.map_err(|error| StorageError::io("ask for the length of the database file", &error))
}
