//! Segments on their way to another machine: what an archive has of a line, piece by piece, and the
//! folder there that gets it (`docs/format/archive.md`, section 7).

use std::cmp::Ordering;
use std::path::{Path, PathBuf};

use runtime::IoBuf;
use runtime::fs::{self, File, OpenOptions};

use super::failed;
use super::follow::{FollowError, origin};
use super::position::SegmentPlace;
use super::record::{Reader, SegmentId};
use super::segment;
use crate::error::Result as Stored;

type Result<T> = std::result::Result<T, FollowError>;

/// Bytes of a piece, at most.
const PIECE_BYTES: u64 = 256 << 10;

/// The next piece of a line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Shipment {
    /// A segment begins, that of this checkpoint.
    Segment(u64),
    /// Bytes of it, behind those before.
    Bytes(Vec<u8>),
    /// All its pages have come.
    Whole,
}

/// Reads what an archive gets, from some place on. Only synced bytes go on: others may be written
/// anew, and differ then.
pub struct Courier {
    folder: PathBuf,
    reader: Reader,
    at: u64,
    /// Where its pages have ended, unless that was said.
    whole_at: Option<u64>,
}

impl Courier {
    /// Begins at a place, where the archive is synced up to another one.
    ///
    /// # Errors
    /// `Unknown` where the archive lacks the segment, or has less of it.
    pub async fn open(
        folder: &Path,
        place: SegmentPlace,
        synced: Option<SegmentPlace>,
    ) -> Result<Courier> {
        let SegmentPlace { line, checkpoint, offset } = place;
        let id = SegmentId { line, checkpoint };
        let action = "look for a segment of the archive";
        let is_its_line = synced.is_some_and(|synced| synced.line == line);
        if !is_its_line || !fs::exists(id.path(folder)).await.map_err(failed(action))? {
            return Err(FollowError::Unknown { checkpoint });
        }
        let reader = segment::open(folder, id).await?;
        let end = end_within(&reader, synced);
        if offset > end {
            return Err(FollowError::Unknown { checkpoint });
        }
        // It has its name since its pages are in it.
        let whole_at = (offset == 0).then_some(end);
        Ok(Courier { folder: folder.to_owned(), reader, at: offset, whole_at })
    }

    /// The next piece, if there is one, where the archive is synced up to a place.
    ///
    /// # Errors
    /// `Io`.
    pub async fn next(&mut self, synced: Option<SegmentPlace>) -> Result<Option<Shipment>> {
        if let Some(bytes) = self.bytes(synced).await? {
            return Ok(Some(Shipment::Bytes(bytes)));
        }
        if self.whole_at.take().is_some() {
            return Ok(Some(Shipment::Whole));
        }
        let SegmentId { line, checkpoint } = self.reader.id;
        let has_next =
            synced.is_some_and(|synced| synced.line == line && synced.checkpoint > checkpoint);
        if !has_next {
            return Ok(None);
        }
        self.reader =
            segment::open(&self.folder, SegmentId { line, checkpoint: checkpoint + 1 }).await?;
        (self.at, self.whole_at) = (0, Some(end_within(&self.reader, synced)));
        Ok(Some(Shipment::Segment(checkpoint + 1)))
    }

    /// How far it is: the checkpoint, and bytes of its segment.
    pub fn place(&self) -> SegmentPlace {
        let SegmentId { line, checkpoint } = self.reader.id;
        SegmentPlace { line, checkpoint, offset: self.at }
    }

    async fn bytes(&mut self, synced: Option<SegmentPlace>) -> Result<Option<Vec<u8>>> {
        // Where its pages end is told before more of it comes.
        let end = match self.whole_at {
            Some(end) => end,
            None => {
                self.reader.has_grown().await?;
                end_within(&self.reader, synced)
            }
        };
        let len = PIECE_BYTES.min(end.saturating_sub(self.at));
        if len == 0 {
            return Ok(None);
        }
        let (read, bytes) =
            self.reader.file.read_exact_at(IoBuf::alloc(len as usize), self.at).await;
        read.map_err(failed("read the archive"))?;
        self.at += len;
        Ok(Some(bytes.as_slice().to_vec()))
    }
}

/// Bytes of a segment that are synced.
fn end_within(reader: &Reader, synced: Option<SegmentPlace>) -> u64 {
    let Some(synced) = synced.filter(|synced| synced.line == reader.id.line) else { return 0 };
    match synced.checkpoint.cmp(&reader.id.checkpoint) {
        Ordering::Greater => reader.len,
        Ordering::Equal => reader.len.min(synced.offset),
        Ordering::Less => 0,
    }
}

/// A folder that gets what a courier brings. A follower reads it as it reads an archive.
pub struct Inbox {
    folder: PathBuf,
    id: SegmentId,
    file: File,
    at: u64,
    has_name: bool,
}

impl Inbox {
    /// Goes on with what a folder has of the line that a copy follows, or begins with the copy's
    /// checkpoint. What the copy does not need any more is removed.
    ///
    /// # Errors
    /// `NotArchived` for a copy that can follow nothing; `Io`.
    pub async fn open(folder: &Path, copy: &Path) -> Result<Inbox> {
        let (line, first) = origin(copy).await?;
        fs::create_dir(folder).await.map_err(failed("make the folder of segments"))?;
        let known = segment::checkpoints_of(folder, line).await?;
        let outdated = known.iter().filter(|checkpoint| **checkpoint < first);
        let outdated = outdated.map(|checkpoint| SegmentId { line, checkpoint: *checkpoint });
        // Those of other lines came with an earlier copy.
        for id in segment::of_other_lines(folder, line).await?.into_iter().chain(outdated) {
            fs::remove(id.path(folder)).await.map_err(failed("remove a segment"))?;
        }
        let last = known.last().copied().filter(|last| *last >= first);
        let id = SegmentId { line, checkpoint: last.unwrap_or(first) };
        if last.is_some()
            && let Some(end) = end_of(folder, id).await?
        {
            let file = opened(&id.path(folder), false).await?;
            file.set_len(end).await.map_err(failed("write a segment"))?;
            return Ok(Inbox { folder: folder.to_owned(), id, file, at: end, has_name: true });
        }
        Inbox::begin(folder, id).await
    }

    async fn begin(folder: &Path, id: SegmentId) -> Result<Inbox> {
        for path in [id.path(folder), id.unfinished_path(folder)] {
            if fs::exists(&path).await.map_err(failed("write a segment"))? {
                fs::remove(&path).await.map_err(failed("write a segment"))?;
            }
        }
        let file = opened(&id.unfinished_path(folder), true).await?;
        Ok(Inbox { folder: folder.to_owned(), id, file, at: 0, has_name: false })
    }

    /// The place where what it lacks begins.
    pub fn place(&self) -> SegmentPlace {
        let SegmentId { line, checkpoint } = self.id;
        SegmentPlace { line, checkpoint, offset: self.at }
    }

    /// Takes what has come.
    ///
    /// # Errors
    /// `Damaged` for what does not follow; `Io`.
    pub async fn take(&mut self, shipment: Shipment) -> Result<()> {
        match shipment {
            Shipment::Segment(checkpoint) => {
                let follows = self.has_name && checkpoint == self.id.checkpoint + 1;
                if !follows {
                    return Err(FollowError::Damaged(self.id.path(&self.folder)));
                }
                // A power cut must not leave the next one without the last frames of this one.
                self.file.sync_data().await.map_err(failed("sync a segment"))?;
                let id = SegmentId { checkpoint, ..self.id };
                *self = Inbox::begin(&self.folder, id).await?;
            }
            Shipment::Bytes(bytes) => {
                let len = bytes.len() as u64;
                let written = self.file.write_all_at(IoBuf::copy_of(&bytes), self.at).await.0;
                written.map_err(failed("write a segment"))?;
                self.at += len;
            }
            Shipment::Whole if self.has_name => {}
            Shipment::Whole => {
                self.file.sync_data().await.map_err(failed("sync a segment"))?;
                let (from, to) =
                    (self.id.unfinished_path(&self.folder), self.id.path(&self.folder));
                fs::rename(from, to).await.map_err(failed("name a segment"))?;
                super::sync_folder(&self.folder).await?;
                self.has_name = true;
            }
        }
        Ok(())
    }
}

/// Where the good records of a segment end; none when it has no good beginning.
async fn end_of(folder: &Path, id: SegmentId) -> Stored<Option<u64>> {
    let survey = segment::survey(&segment::open(folder, id).await?).await?;
    Ok(survey.filter(|survey| !survey.pages_are_missing).map(|survey| survey.end))
}

async fn opened(path: &Path, is_new: bool) -> Stored<File> {
    let options = OpenOptions { write: true, create_new: is_new, ..OpenOptions::default() };
    File::open(path, options).await.map_err(failed("write a segment"))
}
