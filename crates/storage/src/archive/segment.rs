//! Segments: their names, and what is in them (`docs/format/archive.md`, sections 2 to 4).

use std::path::{Path, PathBuf};

use runtime::fs::{self, File, OpenOptions};

use super::failed;
use super::record::{Head, Kind, Reader, SegmentId};
use crate::directory::Directory;
use crate::error::Result;
use crate::header::{self, HEADER_BYTES, Header};
use crate::le::{set_u32, u32_at, u64_at};
use crate::log::frame::{FrameId, read as read_frame};

const VERSION: u32 = 1;
const BEGIN_BYTES: usize = 16 + HEADER_BYTES;

impl SegmentId {
    pub fn path(self, folder: &Path) -> PathBuf {
        folder.join(format!("{:016x}-{:016x}.segment", self.line, self.checkpoint))
    }

    /// The name that it has until all pages are in it.
    pub fn unfinished_path(self, folder: &Path) -> PathBuf {
        folder.join(format!("{:016x}-{:016x}.new", self.line, self.checkpoint))
    }

    fn of_name(name: &str) -> Option<SegmentId> {
        let (line, checkpoint) = name.strip_suffix(".segment")?.split_once('-')?;
        let number =
            |digits: &str| u64::from_str_radix(digits, 16).ok().filter(|_| digits.len() == 16);
        Some(SegmentId { line: number(line)?, checkpoint: number(checkpoint)? })
    }
}

/// The checkpoints of a line that the folder has segments of, in order.
///
/// # Errors
/// `Io`.
pub(super) async fn checkpoints_of(folder: &Path, line: u64) -> Result<Vec<u64>> {
    let names = fs::list(folder).await.map_err(failed("read the folder of the archive"))?;
    let ids = names.iter().filter_map(|name| SegmentId::of_name(name));
    let mut all: Vec<u64> = ids.filter(|id| id.line == line).map(|id| id.checkpoint).collect();
    all.sort_unstable();
    Ok(all)
}

/// The segments of other lines that a folder has.
///
/// # Errors
/// `Io`.
pub(super) async fn of_other_lines(folder: &Path, line: u64) -> Result<Vec<SegmentId>> {
    let names = fs::list(folder).await.map_err(failed("read the folder of the archive"))?;
    let ids = names.iter().filter_map(|name| SegmentId::of_name(name));
    Ok(ids.filter(|id| id.line != line).collect())
}

/// What a segment begins with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Begin {
    /// Frames of the segment before, and the checksum of the last one; `None`: the line begins.
    pub previous: Option<(u32, u32)>,
    pub header: Header,
}

impl Begin {
    pub fn encode(&self) -> Vec<u8> {
        let (frames, checksum) = self.previous.unwrap_or((u32::MAX, 0));
        let mut bytes = vec![0; BEGIN_BYTES];
        set_u32(&mut bytes, 0, VERSION);
        set_u32(&mut bytes, 4, frames);
        set_u32(&mut bytes, 8, checksum);
        header::encode(&self.header, &mut bytes[16..]);
        bytes
    }

    fn decode(bytes: &[u8]) -> Option<Begin> {
        if bytes.len() != BEGIN_BYTES || u32_at(bytes, 0) != VERSION {
            return None;
        }
        let header = header::decode(&bytes[16..], 0).ok()?;
        let frames = u32_at(bytes, 4);
        let previous = (frames != u32::MAX).then(|| (frames, u32_at(bytes, 8)));
        Some(Begin { previous, header })
    }
}

/// A frame of a segment.
#[derive(Debug, Clone, Copy)]
pub(super) struct ArchivedFrame {
    pub time: u64,
    pub checksum: u32,
    /// Where it ends in the bytes of all.
    pub end: usize,
}

/// What a segment holds, apart from its pages, which have been passed over.
pub(super) struct Survey {
    pub begin: Begin,
    pub directory: Directory,
    /// Where records of pages lie.
    pub pages: Vec<Head>,
    pub frames: Vec<ArchivedFrame>,
    pub frame_bytes: Vec<u8>,
    /// Where the next record of frames begins.
    pub end: u64,
    /// Whether something is missing: pages, or what was archived behind the frames.
    pub is_damaged: bool,
    pub pages_are_missing: bool,
}

impl Survey {
    /// Number of frames and checksum of the last one.
    pub fn last(&self) -> (u32, u32) {
        (self.frames.len() as u32, self.frames.last().map_or(0, |frame| frame.checksum))
    }

    /// When the last commit was made that it has.
    pub fn time(&self) -> u64 {
        self.frames.last().map_or(self.begin.header.time, |frame| frame.time)
    }
}

/// Opens a segment to read it.
///
/// # Errors
/// `Io`.
pub(super) async fn open(folder: &Path, id: SegmentId) -> Result<Reader> {
    let options = OpenOptions { read: true, ..OpenOptions::default() };
    let opened = File::open(id.path(folder), options).await;
    let file = opened.map_err(failed("open a segment of the archive"))?;
    let len = file.len().await.map_err(failed("open a segment of the archive"))?;
    Ok(Reader { file, id, len })
}

/// Looks through a segment; `None` when what it begins with is damaged.
///
/// # Errors
/// `Io`.
pub(super) async fn survey(reader: &Reader) -> Result<Option<Survey>> {
    let Some((begin, directory, mut at)) = read_beginning(reader).await? else { return Ok(None) };
    let (mut pages, mut bytes_of_pages) = (vec![], 0);
    let is_whole = loop {
        let Some(head) = reader.head(at).await? else { break false };
        at = head.end();
        match head.kind {
            Kind::Pages => {
                bytes_of_pages += u64::from(head.len);
                pages.push(head);
            }
            Kind::Whole => {
                let count = reader.content(head).await?.filter(|bytes| bytes.len() == 8);
                let page_size = u64::from(begin.header.page_size);
                let is_count = |bytes: Vec<u8>| {
                    u64_at(&bytes, 0).checked_mul(page_size) == Some(bytes_of_pages)
                };
                break count.is_some_and(is_count);
            }
            _ => break false,
        }
    };
    let mut survey = Survey {
        begin,
        directory,
        pages,
        frames: vec![],
        frame_bytes: vec![],
        end: at,
        is_damaged: !is_whole,
        pages_are_missing: !is_whole,
    };
    if is_whole {
        read_frames(reader, &mut survey).await?;
    }
    Ok(Some(survey))
}

async fn read_beginning(reader: &Reader) -> Result<Option<(Begin, Directory, u64)>> {
    let mut at = 0;
    let mut contents = vec![];
    for kind in [Kind::Begin, Kind::Directory] {
        let head = reader.head(at).await?.filter(|head| head.kind == kind);
        let Some(head) = head else { return Ok(None) };
        let Some(content) = reader.content(head).await? else { return Ok(None) };
        contents.push(content);
        at = head.end();
    }
    let begin =
        Begin::decode(&contents[0]).filter(|begin| begin.header.checkpoint == reader.id.checkpoint);
    let directory = begin.as_ref().and_then(|Begin { header, .. }| {
        Directory::decode(&contents[1], header.version, header.number_count())
    });
    Ok(begin.zip(directory).map(|(begin, directory)| (begin, directory, at)))
}

/// Takes the frames behind those that are known.
///
/// # Errors
/// `Io`.
pub(super) async fn read_frames(reader: &Reader, survey: &mut Survey) -> Result<()> {
    let mut next = FrameId::first_of(&survey.begin.header);
    if let Some(last) = survey.frames.last() {
        let sequence = next.sequence + survey.frames.len() as u64;
        next = FrameId { sequence, previous: last.checksum, ..next };
    }
    let place = survey.begin.header.log;
    while let Some(head) = reader.head(survey.end).await?.filter(|head| head.kind == Kind::Frames)
        && let Some(content) = reader.content(head).await?
    {
        let mut at = 0;
        while at < content.len() {
            let frame = read_frame(&content[at..], &place).filter(|frame| frame.id == next);
            let Some(frame) = frame else {
                survey.is_damaged = true;
                return Ok(());
            };
            next = frame.id.next(frame.checksum);
            at += frame.len;
            let end = survey.frame_bytes.len() + at;
            let (time, checksum) = (frame.time, frame.checksum);
            survey.frames.push(ArchivedFrame { time, checksum, end });
        }
        survey.frame_bytes.extend_from_slice(&content);
        survey.end = head.end();
    }
    survey.is_damaged = reader.has_frames_behind(survey.end).await?;
    Ok(())
}
