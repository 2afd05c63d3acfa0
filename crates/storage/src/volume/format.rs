//! The bytes on a file or device before it becomes a member: nothing foreign is written over
//! unless that is asked for.

use std::io::{self, ErrorKind};
use std::path::Path;

use runtime::IoBuf;

use super::BLOCK_BYTES;
use super::label::Label;
use super::member::{Member, write};
use super::table::Record;
use crate::error::{MemberFault, Result, StorageError};
use crate::header::FILE_MAGIC;

/// Bytes at each end that are looked at: signatures lie there, as do the tables of partitions.
const END_BYTES: u64 = 1 << 20;

/// Signatures, with their places from the beginning.
const SIGNATURES: &[(usize, &[u8], &str)] = &[
    (0, FILE_MAGIC, "a Dovetail database, or a member of one"),
    (0, b"SQLite format 3\0", "an SQLite database"),
    (0, b"LUKS\xba\xbe", "an encrypted volume (LUKS)"),
    (0, b"XFSB", "a file system (XFS)"),
    (512, b"LABELONE", "a physical volume (LVM)"),
    (512, b"EFI PART", "a partition table (GPT)"),
    (1024 + 56, b"\x53\xef", "a file system (ext2, ext3 or ext4)"),
    (1024, b"\x10\x20\xf5\xf2", "a file system (F2FS)"),
    (4096 - 10, b"SWAPSPACE2", "swap space"),
    (4096, b"\xfc\x4e\x2b\xa9", "a part of an array (RAID)"),
    (65536 + 64, b"_BHRfS_M", "a file system (Btrfs)"),
    (510, b"\x55\xaa", "a partition table or boot record"),
];

/// Makes sure that nothing is lost when a file or device becomes a member, and clears it. What was
/// one of `database`, or began to be, may be one again; but what has the label of one that is
/// `known` may be that very member by another name, as that of a device which lies on its file.
///
/// # Errors
/// `Member` when something foreign is there and `format` is false, and for a known one; `Io`.
pub(super) async fn clear(
    member: &Member,
    database: &[u8; 16],
    known: &[Record],
    format: bool,
) -> Result<()> {
    if is_clear(member, database, known, format).await? {
        return Ok(());
    }
    let wiped = wipe(member, member.len().await?).await;
    wiped.map_err(|error| StorageError::io("format a member", &error))
}

/// True if there is nothing to be cleared.
///
/// # Errors
/// As [`clear`].
pub(super) async fn is_clear(
    member: &Member,
    database: &[u8; 16],
    known: &[Record],
    format: bool,
) -> Result<bool> {
    let len = member.len().await?;
    let begin = edge(member, 0, len).await?;
    let end = edge(member, len.saturating_sub(END_BYTES) & !(BLOCK_BYTES as u64 - 1), len).await?;
    if is_blank(&begin) && is_blank(&end) {
        return Ok(true);
    }
    let label = Label::decode(&begin).filter(|label| label.origin.database == *database);
    let same = |record: &&Record| label.as_ref().is_some_and(|label| label.id == record.id);
    if let Some(record) = known.iter().find(same) {
        let (path, other) = (member.path.clone(), record.path.clone());
        return Err(StorageError::Member(MemberFault::Twice { path, other }));
    }
    if label.is_none() && !format {
        return Err(foreign(&member.path, &begin, &end));
    }
    Ok(false)
}

fn is_blank(bytes: &[u8]) -> bool {
    bytes.iter().all(|byte| *byte == 0)
}

fn foreign(path: &Path, begin: &[u8], end: &[u8]) -> StorageError {
    let is_there = |(at, magic, _): &&(usize, &[u8], &str)| {
        begin.get(*at..*at + magic.len()).is_some_and(|bytes| bytes == *magic)
    };
    let known = SIGNATURES.iter().find(is_there).map(|(_, _, what)| *what);
    let what = known.unwrap_or(match is_blank(begin) {
        true if end.windows(8).any(|bytes| bytes == b"EFI PART") => "a partition table (GPT)",
        true => "something at its end",
        false => "something that is not known",
    });
    StorageError::Member(MemberFault::Foreign { path: path.to_owned(), what })
}

/// Bytes from here on, as many as there are. The end of a file need not be one of a block.
async fn edge(member: &Member, from: u64, len: u64) -> Result<Vec<u8>> {
    let (mut bytes, end) = (vec![], len.min(from + END_BYTES + BLOCK_BYTES as u64));
    while from + (bytes.len() as u64) < end {
        let at = from + bytes.len() as u64;
        let left = (end - at).next_multiple_of(BLOCK_BYTES as u64) as usize;
        let (read, buf) = member.file.read_exact_at(IoBuf::alloc(left), at).await;
        let reaches_end = at + left as u64 > len;
        // A direct read goes on behind the end of the file where no block begins.
        let is_end = |error: &io::Error| {
            reaches_end
                && matches!(error.kind(), ErrorKind::UnexpectedEof | ErrorKind::InvalidInput)
        };
        match read {
            Err(error) if !is_end(&error) => {
                return Err(StorageError::io("look at a new member", &error));
            }
            _ => {}
        }
        bytes.extend_from_slice(buf.as_slice());
    }
    Ok(bytes)
}

/// Nothing is at the beginning and the end then.
async fn wipe(member: &Member, len: u64) -> io::Result<()> {
    if member.size == 0 {
        member.file.set_len(0).await?;
        return member.sync().await;
    }
    let zeros = vec![0; END_BYTES.min(len) as usize];
    write(member, &zeros, 0).await?;
    write(member, &zeros, len - zeros.len() as u64).await?;
    member.sync().await
}
