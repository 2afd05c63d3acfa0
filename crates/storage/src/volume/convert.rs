//! A database in one file becomes the first member (`docs/format/volume.md`, section 4).

use std::io;
use std::path::Path;
use std::sync::Arc;

use runtime::IoBuf;
use runtime::fs::File;

use super::label::Label;
use super::member::{Member, Opening, unsuited};
use super::origin::Origin;
use super::table::{Record, Table};
use super::transfers::Way;
use super::{Geometry, Members, State, Volume, probe};
use crate::error::{Result, StorageError};

/// Bytes that are copied at a time.
const COPY_BYTES: u64 = 1 << 20;

/// Makes a member of the file of a database, which nobody has open. The write of its label is the
/// moment: before it, there is the file as it was, with bytes behind its end.
///
/// # Errors
/// `Member` for one that is too large; `Io`; the database is what it was then, or a member.
pub(crate) async fn convert(
    file: File,
    path: &Path,
    geometry: Geometry,
    opening: Opening,
) -> Result<Volume> {
    let member = Arc::new(Member::of(file, path, 0));
    let head = geometry.head_extents();
    let extents = member.len().await?.div_ceil(geometry.extent_bytes);
    let extents = u32::try_from(extents).map_err(|_| StorageError::Full)?.max(head);
    ensure_fits(path, &geometry, extents)?;
    let copied = copy_head(&member, &geometry, extents).await;
    copied.map_err(|error| StorageError::io("make room for the table of members", &error))?;
    let origin = Origin { database: runtime::entropy(), geometry };
    let speed = probe::speed_of(&member, 0, geometry.extent_bytes).await?;
    let label = Label { converted: extents, ..origin.label(&member, 1, speed) };
    let table = Table::of_converted(Record::of(&label, path), extents, &geometry);
    let volume = Members::of(origin, State { table, members: vec![member] }, opening);
    volume.finish_conversion(label).await?;
    Ok(volume)
}

/// Refuses a file of more extents than a table can have: with its label nothing could be written.
fn ensure_fits(path: &Path, geometry: &Geometry, extents: u32) -> Result<()> {
    let path_bytes = path.as_os_str().len() as u64;
    match Table::bytes_of_converted(extents, path_bytes) <= geometry.table_bytes {
        true => Ok(()),
        false => Err(unsuited(path, "it has more extents than a table can have")),
    }
}

/// Copies what lies where the head of a member is behind all else; it is durable then.
async fn copy_head(member: &Member, geometry: &Geometry, extents: u32) -> io::Result<()> {
    let end = u64::from(extents) * geometry.extent_bytes;
    member.reserve(end, geometry.head_bytes()).await?;
    for at in (0..geometry.head_bytes()).step_by(COPY_BYTES as usize) {
        let len = COPY_BYTES.min(geometry.head_bytes() - at) as usize;
        let (read, bytes) = member.moved(vec![IoBuf::alloc(len)], at, Way::Read).await;
        read?;
        member.moved(bytes, end + at, Way::Write).await.0?;
    }
    member.sync().await
}
