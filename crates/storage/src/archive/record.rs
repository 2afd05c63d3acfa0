//! Records of a segment (`docs/format/archive.md`, section 3).

use runtime::IoBuf;
use runtime::fs::File;

use super::failed;
use crate::error::Result;
use crate::le::{set_u32, u32_at};
use crate::page::PAGE_SIZE_MAX;

const MAGIC: &[u8; 4] = b"DVAR";
const CHECKSUM: usize = 4;
const KIND: usize = 8;
const LEN: usize = 12;
pub(super) const RECORD_HEADER_BYTES: usize = 16;

/// Pages of a record, at most.
pub(super) const RECORD_PAGES_MAX: u32 = 256;
const PAGES_BYTES_MAX: u32 = RECORD_PAGES_MAX * PAGE_SIZE_MAX;

/// Bytes that are searched at a time.
const SEARCH_BYTES: u64 = 1 << 20;

/// Whose records a segment has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct SegmentId {
    pub line: u64,
    pub checkpoint: u64,
}

/// What a record holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Begin = 1,
    Directory = 2,
    Pages = 3,
    Whole = 4,
    Frames = 5,
}

impl Kind {
    fn of(number: u32) -> Option<Kind> {
        let all = [Kind::Begin, Kind::Directory, Kind::Pages, Kind::Whole, Kind::Frames];
        all.into_iter().find(|kind| *kind as u32 == number)
    }
}

/// A record as it is written, padded.
pub(super) fn encode(id: SegmentId, kind: Kind, content: &[&[u8]]) -> Vec<u8> {
    let len: usize = content.iter().map(|piece| piece.len()).sum();
    let mut bytes = Vec::with_capacity((RECORD_HEADER_BYTES + len).next_multiple_of(8));
    bytes.resize(RECORD_HEADER_BYTES, 0);
    bytes[..4].copy_from_slice(MAGIC);
    set_u32(&mut bytes, KIND, kind as u32);
    set_u32(&mut bytes, LEN, u32::try_from(len).expect("a record is short"));
    content.iter().for_each(|piece| bytes.extend_from_slice(piece));
    let sum = checksum(id, &bytes);
    set_u32(&mut bytes, CHECKSUM, sum);
    bytes.resize(bytes.len().next_multiple_of(8), 0);
    bytes
}

fn checksum(id: SegmentId, record: &[u8]) -> u32 {
    let sum = crc32c::crc32c(&id.line.to_le_bytes());
    let sum = crc32c::crc32c_append(sum, &id.checkpoint.to_le_bytes());
    crc32c::crc32c_append(sum, &record[KIND..])
}

/// Where a record lies, as its header says.
#[derive(Debug, Clone, Copy)]
pub(super) struct Head {
    pub kind: Kind,
    pub at: u64,
    pub len: u32,
}

impl Head {
    /// Where the next record begins.
    pub fn end(self) -> u64 {
        self.at + (RECORD_HEADER_BYTES as u64 + u64::from(self.len)).next_multiple_of(8)
    }

    fn of(bytes: &[u8], at: u64) -> Option<Head> {
        let kind = Kind::of(u32_at(bytes, KIND)).filter(|_| &bytes[..4] == MAGIC)?;
        let len = u32_at(bytes, LEN);
        (kind != Kind::Pages || len <= PAGES_BYTES_MAX).then_some(Head { kind, at, len })
    }
}

/// Reads the records of a segment.
pub(super) struct Reader {
    pub file: File,
    pub id: SegmentId,
    /// Bytes of the file.
    pub len: u64,
}

impl Reader {
    /// True if the file is longer than it was.
    ///
    /// # Errors
    /// `Io`.
    pub async fn has_grown(&mut self) -> Result<bool> {
        let len = self.file.len().await.map_err(failed("read the archive"))?;
        let before = std::mem::replace(&mut self.len, len);
        Ok(len > before)
    }

    /// The header of the record at this place, if one lies there.
    ///
    /// # Errors
    /// `Io`.
    pub async fn head(&self, at: u64) -> Result<Option<Head>> {
        if at + RECORD_HEADER_BYTES as u64 > self.len {
            return Ok(None);
        }
        let bytes = self.bytes(at, RECORD_HEADER_BYTES).await?;
        Ok(Head::of(bytes.as_slice(), at).filter(|head| head.end() <= self.len))
    }

    /// What a record holds, if it is as it was written.
    ///
    /// # Errors
    /// `Io`.
    pub async fn content(&self, head: Head) -> Result<Option<Vec<u8>>> {
        let record = self.bytes(head.at, RECORD_HEADER_BYTES + head.len as usize).await?;
        let record = record.as_slice();
        let is_intact = checksum(self.id, record) == u32_at(record, CHECKSUM);
        Ok(is_intact.then(|| record[RECORD_HEADER_BYTES..].to_vec()))
    }

    /// Whether an intact record of frames lies behind this place.
    ///
    /// # Errors
    /// `Io`.
    pub async fn has_frames_behind(&self, from: u64) -> Result<bool> {
        let mut from = from;
        while from + (RECORD_HEADER_BYTES as u64) <= self.len {
            let piece = self.bytes(from, SEARCH_BYTES.min(self.len - from) as usize).await?;
            let piece = piece.as_slice();
            let last = piece.len() - RECORD_HEADER_BYTES;
            for at in (0..=last).step_by(8) {
                let head = Head::of(&piece[at..], from + at as u64);
                let head = head.filter(|head| head.kind == Kind::Frames && head.end() <= self.len);
                if let Some(head) = head
                    && self.content(head).await?.is_some()
                {
                    return Ok(true);
                }
            }
            from += (last as u64 / 8 + 1) * 8;
        }
        Ok(false)
    }

    async fn bytes(&self, at: u64, len: usize) -> Result<IoBuf> {
        let (read, bytes) = self.file.read_exact_at(IoBuf::alloc(len), at).await;
        read.map_err(failed("read the archive"))?;
        Ok(bytes)
    }
}
