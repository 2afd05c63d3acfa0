//! The list: one object with the headers of all chunks of a table, by which it is read from elsewhere
//! (`docs/format/remote.md`). What is read is not trusted: nothing is allocated by a number in it.

use sha2::{Digest, Sha256};
use types::{SqlError, SqlResult, SqlState};

use super::name::ChunkName;

/// What the object is called, within a location.
pub(crate) const LIST: &str = "list";

/// What the names of lists that are kept begin with, within a location.
pub(crate) const SNAPSHOTS: &str = "snapshots/";

/// What the list of this sequence is called when it is kept.
pub(crate) fn snapshot_name(sequence: u64) -> String {
    format!("{SNAPSHOTS}{sequence:020}")
}

/// The sequence of a list that is kept, by its name.
pub(crate) fn sequence_of(name: &str) -> Option<u64> {
    name.strip_prefix(SNAPSHOTS)?.parse().ok()
}

/// Bytes of a list at most: it is written and read in one piece of memory.
pub(crate) const LIST_BYTES_MAX: usize = 512 << 20;

const MAGIC: &[u8; 4] = b"DVLS";
const VERSION: u32 = 1;
const HASH_AT: usize = 8;
const BODY_AT: usize = HASH_AT + 32;

/// A list.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct List {
    /// Who wrote it.
    pub(crate) writer: String,
    /// How often it was written.
    pub(crate) sequence: u64,
    /// The columns of the table: its definition as the catalog has it.
    pub(crate) definition: Vec<u8>,
    pub(crate) parts: Vec<ListedPart>,
}

/// A part.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct ListedPart {
    pub(crate) first_row: i64,
    pub(crate) rows: u64,
    pub(crate) column_bytes: Vec<u64>,
    pub(crate) chunks: Vec<ListedChunk>,
}

/// A chunk.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ListedChunk {
    pub(crate) rows: u32,
    pub(crate) name: ChunkName,
    pub(crate) header: Vec<u8>,
}

impl List {
    /// The bytes of the object, but for the hash, which [`write_hash`] adds.
    pub(crate) fn encode(&self) -> Vec<u8> {
        let mut out = MAGIC.to_vec();
        out.extend(VERSION.to_le_bytes());
        out.extend([0; BODY_AT - HASH_AT]);
        out.extend(self.sequence.to_le_bytes());
        push_bytes(&mut out, self.writer.as_bytes());
        push_bytes(&mut out, &self.definition);
        push_count(&mut out, self.parts.len());
        for part in &self.parts {
            out.extend(part.first_row.to_le_bytes());
            out.extend(part.rows.to_le_bytes());
            push_count(&mut out, part.column_bytes.len());
            part.column_bytes.iter().for_each(|bytes| out.extend(bytes.to_le_bytes()));
            push_count(&mut out, part.chunks.len());
            for chunk in &part.chunks {
                out.extend(chunk.rows.to_le_bytes());
                out.extend(chunk.name.bytes());
                push_bytes(&mut out, &chunk.header);
            }
        }
        out
    }

    /// Reads a list whose hash is right.
    ///
    /// # Errors
    /// XX001
    pub(crate) fn decode(bytes: &[u8]) -> SqlResult<List> {
        let mut rest = Rest(bytes.get(BODY_AT..).ok_or_else(|| damaged("it is too short"))?);
        let sequence = rest.u64()?;
        let writer = rest.bytes()?.to_vec();
        let writer = String::from_utf8(writer).map_err(|_| damaged("its writer has no name"))?;
        let definition = rest.bytes()?.to_vec();
        let mut parts = vec![];
        for _ in 0..rest.u32()? {
            parts.push(rest.part()?);
        }
        match rest.0.is_empty() {
            true => Ok(List { writer, sequence, definition, parts }),
            false => Err(damaged("it is longer than it says")),
        }
    }
}

/// Writes the hash of all that follows into its place, giving way in between.
pub(crate) async fn write_hash(bytes: &mut [u8]) {
    let hash = hash(&bytes[BODY_AT..]).await;
    bytes[HASH_AT..BODY_AT].copy_from_slice(&hash);
}

/// Compares magic, version and hash.
///
/// # Errors
/// XX001
pub(crate) async fn verify(bytes: &[u8]) -> SqlResult<()> {
    if bytes.len() < BODY_AT || bytes[..4] != *MAGIC {
        return Err(damaged("it is no list of ours"));
    }
    if bytes[4..HASH_AT] != VERSION.to_le_bytes() {
        return Err(damaged("its version is not known"));
    }
    match hash(&bytes[BODY_AT..]).await == bytes[HASH_AT..BODY_AT] {
        true => Ok(()),
        false => Err(damaged("its hash is another one")),
    }
}

async fn hash(bytes: &[u8]) -> [u8; 32] {
    /// Bytes hashed at once, some 100 us.
    const PIECE_BYTES: usize = 64 << 10;
    let mut hash = Sha256::new();
    for piece in bytes.chunks(PIECE_BYTES) {
        hash.update(piece);
        if runtime::need_preempt() {
            runtime::yield_now().await;
        }
    }
    hash.finalize().into()
}

fn push_count(out: &mut Vec<u8>, count: usize) {
    out.extend((count as u32).to_le_bytes());
}

fn push_bytes(out: &mut Vec<u8>, bytes: &[u8]) {
    push_count(out, bytes.len());
    out.extend(bytes);
}

/// What is left to read.
struct Rest<'a>(&'a [u8]);

impl<'a> Rest<'a> {
    fn take(&mut self, count: usize) -> SqlResult<&'a [u8]> {
        let (taken, rest) =
            self.0.split_at_checked(count).ok_or_else(|| damaged("it ends too early"))?;
        self.0 = rest;
        Ok(taken)
    }

    fn fixed<const N: usize>(&mut self) -> SqlResult<[u8; N]> {
        let bytes = self.take(N)?;
        bytes.try_into().map_err(|_| damaged("it ends too early"))
    }

    fn u32(&mut self) -> SqlResult<u32> {
        self.fixed().map(u32::from_le_bytes)
    }

    fn u64(&mut self) -> SqlResult<u64> {
        self.fixed().map(u64::from_le_bytes)
    }

    fn bytes(&mut self) -> SqlResult<&'a [u8]> {
        let count = self.u32()? as usize;
        self.take(count)
    }

    fn part(&mut self) -> SqlResult<ListedPart> {
        let first_row = self.fixed().map(i64::from_le_bytes)?;
        let mut part = ListedPart { first_row, rows: self.u64()?, ..ListedPart::default() };
        for _ in 0..self.u32()? {
            part.column_bytes.push(self.u64()?);
        }
        for _ in 0..self.u32()? {
            let rows = self.u32()?;
            let name = ChunkName(self.fixed()?);
            part.chunks.push(ListedChunk { rows, name, header: self.bytes()?.to_vec() });
        }
        let rows: u64 = part.chunks.iter().map(|chunk| u64::from(chunk.rows)).sum();
        let end = part.first_row.checked_add_unsigned(part.rows);
        match rows == part.rows && !part.chunks.is_empty() && end.is_some() {
            true => Ok(part),
            false => Err(damaged("its parts have other rows than their chunks")),
        }
    }
}

/// XX001
pub(crate) fn damaged(why: &str) -> SqlError {
    SqlError::new(SqlState::DATA_CORRUPTED, format!("the list of a table's chunks: {why}"))
}

#[cfg(test)]
mod tests;
