//! Frames of the log (`docs/format/log.md`, section 2).

use super::padded;
use crate::header::Header;
use crate::le::{set_u32, set_u64, u32_at, u64_at};
use crate::log::place::LogPlace;
use crate::planted;

const MAGIC: &[u8; 4] = b"DVLT";
/// Of a frame that begins a run: it also has what the entries were that transactions in flight had changed.
const MAGIC_OF_BEGIN: &[u8; 4] = b"DVLB";
/// Of frames without a time, in files of version 3.
const MAGIC_UNTIMED: &[u8; 4] = b"DVLG";
const CHECKSUM: usize = 4;
const CHECKPOINT: usize = 8;
const SEQUENCE: usize = 16;
const LEN: usize = 24;
const PREVIOUS: usize = 28;
const TIME: usize = 32;

/// Bytes before the changes.
pub(crate) const FRAME_HEADER_BYTES: usize = 40;
const UNTIMED_HEADER_BYTES: usize = 32;

/// Which frame it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct FrameId {
    /// The checkpoint on which it builds.
    pub checkpoint: u64,
    pub sequence: u64,
    /// Checksum of the frame before.
    pub previous: u32,
}

impl FrameId {
    /// The first one after a checkpoint; `previous` is the checksum of the frame that it follows, or 0.
    pub fn first(checkpoint: u64, previous: u32) -> FrameId {
        FrameId { checkpoint, sequence: 0, previous }
    }

    /// The first one of the log that a header names.
    pub fn first_of(header: &Header) -> FrameId {
        FrameId::first(header.checkpoint, header.log_previous)
    }

    /// The one after this, whose checksum is `checksum`.
    pub fn next(self, checksum: u32) -> FrameId {
        FrameId { sequence: self.sequence + 1, previous: checksum, ..self }
    }
}

/// Appends a frame to `bytes`, padded; its checksum. Without a time (0) it is one of version 3.
pub(super) fn write(bytes: &mut Vec<u8>, id: FrameId, time: u64, salt: u64, changes: &[u8]) -> u32 {
    let magic = if time == 0 { MAGIC_UNTIMED } else { MAGIC };
    write_as(magic, bytes, id, time, salt, changes)
}

/// The same for a frame that begins a run: with what entries were `before`, and what is committed with it.
pub(super) fn write_begin(
    bytes: &mut Vec<u8>,
    id: FrameId,
    time: u64,
    salt: u64,
    (before, changes): (&[u8], &[u8]),
) -> u32 {
    let len = u32::try_from(before.len()).expect("a frame fits the log");
    let content = [&len.to_le_bytes(), before, changes].concat();
    write_as(MAGIC_OF_BEGIN, bytes, id, time, salt, &content)
}

fn write_as(
    magic: &[u8; 4],
    bytes: &mut Vec<u8>,
    id: FrameId,
    time: u64,
    salt: u64,
    changes: &[u8],
) -> u32 {
    let start = bytes.len();
    assert!(start.is_multiple_of(8), "frames begin at multiples of 8");
    let len = u32::try_from(changes.len()).expect("a frame fits the log");
    let is_untimed = magic == MAGIC_UNTIMED;
    bytes.resize(start + if is_untimed { UNTIMED_HEADER_BYTES } else { FRAME_HEADER_BYTES }, 0);
    let header = &mut bytes[start..];
    header[..4].copy_from_slice(magic);
    if !is_untimed {
        set_u64(header, TIME, time);
    }
    set_u64(header, CHECKPOINT, id.checkpoint);
    set_u64(header, SEQUENCE, id.sequence);
    set_u32(header, LEN, len);
    set_u32(header, PREVIOUS, id.previous);
    bytes.extend(changes);
    let sum = checksum(&bytes[start..], salt);
    set_u32(&mut bytes[start..], CHECKSUM, sum);
    bytes.resize(padded(bytes.len()), 0);
    sum
}

fn checksum(frame: &[u8], salt: u64) -> u32 {
    crc32c::crc32c_append(crc32c::crc32c(&salt.to_le_bytes()), &frame[CHECKPOINT..])
}

/// A frame that was found.
pub(crate) struct Found<'a> {
    pub id: FrameId,
    pub checksum: u32,
    /// Microseconds since 1970; 0 in files of version 3.
    pub time: u64,
    /// What follows its head.
    content: &'a [u8],
    is_begin: bool,
    /// Bytes that it takes.
    pub len: usize,
}

impl<'a> Found<'a> {
    /// What entries were before the changes of transactions in flight, and what was committed with the frame;
    /// `None` when it is not made like that.
    pub fn parts(&self) -> Option<(&'a [u8], &'a [u8])> {
        if !self.is_begin {
            return Some((&[], self.content));
        }
        let (len, rest) = self.content.split_first_chunk()?;
        rest.split_at_checked(u32::from_le_bytes(*len) as usize)
    }
}

/// Bytes before the changes of the frame that begins here, if one does.
fn header_len(bytes: &[u8]) -> Option<usize> {
    let len = match bytes.get(..4)? {
        magic if magic == MAGIC || magic == MAGIC_OF_BEGIN => FRAME_HEADER_BYTES,
        magic if magic == MAGIC_UNTIMED => UNTIMED_HEADER_BYTES,
        _ => return None,
    };
    (bytes.len() >= len).then_some(len)
}

/// Which frame begins here, as its header says, if one does.
fn id(bytes: &[u8]) -> Option<FrameId> {
    header_len(bytes)?;
    Some(FrameId {
        checkpoint: u64_at(bytes, CHECKPOINT),
        sequence: u64_at(bytes, SEQUENCE),
        previous: u32_at(bytes, PREVIOUS),
    })
}

/// The intact frame at the beginning of `bytes`, if there is one.
pub(crate) fn read<'a>(bytes: &'a [u8], place: &LogPlace) -> Option<Found<'a>> {
    let (id, begin) = (id(bytes)?, header_len(bytes)?);
    let end = begin.checked_add(u32_at(bytes, LEN) as usize)?;
    let frame = bytes.get(..end)?;
    let found = u32_at(bytes, CHECKSUM);
    let time = if begin == FRAME_HEADER_BYTES { u64_at(frame, TIME) } else { 0 };
    let is_intact = checksum(frame, place.salt) == found || planted::is("torn-frame-taken");
    let (content, len) = (&frame[begin..], padded(end));
    let is_begin = &frame[..4] == MAGIC_OF_BEGIN;
    is_intact.then_some(Found { id, checksum: found, time, content, is_begin, len })
}

/// All frames of a run from the `first` one on, and the one that would be next; `known` of them were there
/// before the header was.
///
/// # Errors
/// The offset at which a frame is missing that was synced.
pub(super) fn read_all<'a>(
    run: &'a [u8],
    place: &LogPlace,
    first: FrameId,
    known: u32,
) -> Result<(Vec<Found<'a>>, FrameId), usize> {
    let (mut all, mut at, mut next) = (vec![], 0, first);
    let checkpoint = first.checkpoint;
    while let Some(frame) = run.get(at..).and_then(|bytes| read(bytes, place)) {
        let is_next = FrameId { checkpoint, ..frame.id } == next && planted::is("stale-frames");
        if frame.id != next && !is_next {
            break;
        }
        next = frame.id.next(frame.checksum);
        at += frame.len;
        all.push(frame);
    }
    let frames_max = (run.len() / UNTIMED_HEADER_BYTES) as u64;
    // One with the number of the next but not behind the last: that one has rotted, if in the run before.
    let later = |id: FrameId| {
        id.checkpoint == checkpoint && id.sequence >= next.sequence && id.sequence < frames_max
    };
    if planted::is("last-frame-forgotten") {
        all.pop();
    }
    if next.sequence < u64::from(known) {
        return Err(at);
    }
    // Values of users may look like frames: only what could be one that was synced is read whole.
    let could_be = |start: &usize| id(&run[*start..]).is_some_and(later);
    let mut rest = (at..run.len()).step_by(8).filter(could_be);
    match rest.any(|start| read(&run[start..], place).is_some()) {
        true => Err(at),
        false => Ok((all, next)),
    }
}

#[cfg(test)]
mod tests;
