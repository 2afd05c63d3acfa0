//! A database in one file becomes the first member (`docs/format/volume.md`, section 4).

use std::io;
use std::path::Path;
use std::sync::Arc;

use runtime::IoBuf;
use runtime::fs::File;

use super::label::Label;
use super::member::{Member, Opening, write};
use super::origin::Origin;
use super::table::{Record, Table};
use super::transfers::Way;
use super::{BLOCK_BYTES, Geometry, Kind, Members, State, Volume, probe};
use crate::error::{Result, StorageError};

/// Bytes that are copied at a time.
const COPY_BYTES: u64 = 1 << 20;

/// Up to here the old header slots lie, one behind the other, of pages of any size.
const SLOTS_END: usize = 64 << 10;

/// Makes a member of the file of a database, which nobody has open. The write of its label is the
/// moment: before it, there is the file as it was, with bytes behind its end.
///
/// # Errors
/// `Io`; the database is what it was then, or a member.
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
    let copied = copy_head(&member, &geometry, extents).await;
    copied.map_err(|error| StorageError::io("make room for the table of members", &error))?;
    let origin = Origin { database: runtime::entropy(), geometry };
    let speed = probe::speed_of(&member, 0, geometry.extent_bytes).await?;
    let label = Label { converted: extents, ..origin.label(&member, 1, speed) };
    origin.write_label(&member, &label).await?;
    let table = Table::of_converted(Record::of(&label, path), extents, &geometry);
    let volume = Members::of(origin, State { table, members: vec![member] }, opening);
    volume.finish_conversion(label).await?;
    Ok(volume)
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

impl Volume {
    /// Writes the first table, and a label that does not stand for it any more. The slots have
    /// what lay there; an old header among it must not be found when the label is damaged.
    pub(super) async fn finish_conversion(&self, label: Label) -> Result<()> {
        let Kind::Members(members) = &self.0 else { return Ok(()) };
        let state = members.state();
        let finished = async {
            let zeros = vec![0; SLOTS_END - BLOCK_BYTES];
            write(&state.members[0], &zeros, BLOCK_BYTES as u64).await?;
            state.members[0].sync().await?;
            members.install(members.next()).await
        };
        let failed = |error| StorageError::io("write the table of members", &error);
        finished.await.map_err(failed)?;
        let label = Label { converted: 0, ..label };
        label.origin.write_label(&state.members[0], &label).await
    }

    /// Has the table say where the members are now.
    pub(super) async fn note_paths(&self) -> Result<()> {
        let Kind::Members(members) = &self.0 else { return Ok(()) };
        let noted = members.install(members.next()).await;
        noted.map_err(|error| StorageError::io("write the table of members", &error))
    }
}
