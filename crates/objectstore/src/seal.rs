//! Chunks that nobody but the holder of a data key can read, change or exchange for others:
//! AES-256-GCM by segments, with a key for each file. The bytes are specified in
//! `docs/format/sealed.md`. Nonces are counted, never drawn: a file's id is drawn once, and what
//! counts is neither cloned nor set back.

mod part;

use std::collections::BTreeSet;
use std::fmt;

use ring::aead::{AES_256_GCM, Aad, LessSafeKey, Nonce, UnboundKey};
use ring::hkdf::{HKDF_SHA256, Salt};

use crate::encode::hex;
use crate::error::{Error, ErrorKind, Result};

pub use part::Segments;

const VERSION: u32 = 1;
const HEADER_BYTES: usize = 12;
const TAG_BYTES: usize = 16;
/// Some 100 us of one core: work that gives way in between.
const SEGMENT_BYTES: usize = 256 << 10;
/// Of one chunk before encryption. With [`FILE_CHUNKS_MAX`] a file has at most 2^32 segments.
const CHUNK_BYTES_MAX: usize = 1 << 30;
/// Chunks of a file, whose places the sealer remembers.
const FILE_CHUNKS_MAX: usize = 1 << 20;
const PURPOSE: &[u8] = b"dovetail sealed chunk 1";

/// A key from which those of files are derived. It is the caller's to keep, wrapped by another one and
/// outside of what it protects. Never shown.
pub struct DataKey([u8; 32]);

/// The name of a file that was written at once, drawn by chance. The key of the file depends on it, and
/// a reader must have it from elsewhere than from the file.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct FileId(pub [u8; 32]);

/// Whose file it is. A chunk of another owner does not open.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FileOwner {
    /// The database.
    pub database: [u8; 16],
    /// The table.
    pub table: u64,
}

/// Which chunk of a file it is. One of another place does not open.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct ChunkPlace {
    /// What kind of thing it is: a number of the caller's.
    pub kind: u32,
    /// The group of rows.
    pub group: u32,
    /// The column.
    pub column: u32,
    /// The number among the chunks of this group and column.
    pub ordinal: u32,
}

/// Seals the chunks of one file.
pub struct Sealer {
    file: FileKey,
    /// The number of the next segment.
    next: u64,
    sealed: BTreeSet<ChunkPlace>,
}

/// Opens the chunks of one file.
pub struct Opener {
    file: FileKey,
}

/// A part of a chunk that is encrypted by itself.
struct Segment {
    place: ChunkPlace,
    /// The number of the chunk's first segment within the file.
    first: u64,
    /// Its own number within the chunk.
    number: usize,
    /// Bytes of the whole chunk.
    plain_len: usize,
}

struct FileKey {
    key: LessSafeKey,
    id: FileId,
    owner: FileOwner,
}

impl DataKey {
    /// A key of 256 bits that the caller keeps.
    pub fn new(bytes: [u8; 32]) -> DataKey {
        DataKey(bytes)
    }

    /// A new one, drawn by chance, and its bytes, to be wrapped and kept.
    pub fn draw() -> (DataKey, [u8; 32]) {
        let bytes = runtime::entropy();
        (DataKey(bytes), bytes)
    }
}

impl Drop for DataKey {
    fn drop(&mut self) {
        self.0.fill(0);
        // Memory that nobody reads any more would be left as it is.
        std::hint::black_box(&mut self.0);
    }
}

impl Sealer {
    /// Begins a file, with an id of its own.
    pub fn new(key: &DataKey, owner: FileOwner) -> Sealer {
        Sealer::with_id(key, owner, FileId(runtime::entropy()))
    }

    /// Begins a file with an id that the caller has drawn by chance for it, and never uses again: also not
    /// for the same rows, once they are encoded anew.
    pub fn with_id(key: &DataKey, owner: FileOwner, id: FileId) -> Sealer {
        Sealer { file: FileKey::derive(key, owner, id), next: 0, sealed: BTreeSet::new() }
    }

    /// The file's id, by which it is opened; to be kept where an older state would be noticed.
    pub fn file_id(&self) -> FileId {
        self.file.id
    }

    /// Encrypts a chunk, giving way in between.
    ///
    /// # Errors
    /// `Invalid` for a place that was sealed before: who has to encode it again begins a new file.
    /// `TooLarge` for more than 2^30 bytes or 2^20 chunks.
    pub async fn seal(&mut self, place: ChunkPlace, plain: &[u8]) -> Result<Vec<u8>> {
        if plain.len() > CHUNK_BYTES_MAX || self.sealed.len() >= FILE_CHUNKS_MAX {
            return Err(Error::new(ErrorKind::TooLarge, "the chunk or its file is too large"));
        }
        if !self.sealed.insert(place) {
            return Err(Error::invalid("the place was sealed before: a new file is needed"));
        }
        // Taken before anything is encrypted: whoever leaves here has used them up.
        let first = self.next;
        self.next += segment_count(plain.len()) as u64;
        let mut out = Vec::with_capacity(sealed_len(plain.len()));
        out.extend_from_slice(&VERSION.to_le_bytes());
        out.extend_from_slice(&first.to_le_bytes());
        for number in 0..segment_count(plain.len()) {
            let at = number * SEGMENT_BYTES;
            let piece = &plain[at..plain.len().min(at + SEGMENT_BYTES)];
            let segment = Segment { place, first, number, plain_len: plain.len() };
            self.file.seal(&segment, piece, &mut out)?;
            give_way().await;
        }
        Ok(out)
    }
}

impl Opener {
    /// A file of this id. A wrong key, owner or id is noticed when the first chunk is opened.
    pub fn new(key: &DataKey, owner: FileOwner, id: FileId) -> Opener {
        Opener { file: FileKey::derive(key, owner, id) }
    }

    /// Decrypts a chunk, giving way in between. No byte of it is given out unless all are good.
    ///
    /// # Errors
    /// `Corrupt` for what is not just the chunk that was sealed for this place.
    pub async fn open(&self, place: ChunkPlace, sealed: &[u8]) -> Result<Vec<u8>> {
        let (header, body) = sealed.split_at_checked(HEADER_BYTES).ok_or_else(refused)?;
        let (version, first) = header.split_at(4);
        let first = u64::from_le_bytes(first.try_into().map_err(|_| refused())?);
        let plain_len = plain_len(body.len()).ok_or_else(refused)?;
        if version != VERSION.to_le_bytes() || plain_len > CHUNK_BYTES_MAX {
            return Err(refused());
        }
        let mut out = Vec::with_capacity(plain_len + TAG_BYTES);
        for (number, piece) in body.chunks(SEGMENT_BYTES + TAG_BYTES).enumerate() {
            let segment = Segment { place, first, number, plain_len };
            self.file.open(&segment, piece, &mut out)?;
            give_way().await;
        }
        Ok(out)
    }
}

/// The bytes of a chunk of so many, once it is sealed.
pub fn sealed_len(plain_len: usize) -> usize {
    HEADER_BYTES + plain_len + segment_count(plain_len) * TAG_BYTES
}

impl FileKey {
    fn derive(key: &DataKey, owner: FileOwner, id: FileId) -> FileKey {
        let bytes = derive(&key.0, &id.0, PURPOSE);
        let key = UnboundKey::new(&AES_256_GCM, &bytes).expect("a key of 32 bytes");
        FileKey { key: LessSafeKey::new(key), id, owner }
    }

    /// What is authenticated beside the bytes.
    fn context(&self, segment: &Segment) -> Aad<[u8; 88]> {
        let Segment { place, number, plain_len, .. } = *segment;
        let mut out = [0; 88];
        let numbers = [place.group, place.column, place.ordinal, number as u32];
        let fields: [&[u8]; 9] = [
            &VERSION.to_le_bytes(),
            &place.kind.to_le_bytes(),
            &self.owner.database,
            &self.owner.table.to_le_bytes(),
            &self.id.0,
            &numbers[0].to_le_bytes(),
            &numbers[1].to_le_bytes(),
            &numbers[2].to_le_bytes(),
            &numbers[3].to_le_bytes(),
        ];
        let mut at = 0;
        for field in fields {
            out[at..at + field.len()].copy_from_slice(field);
            at += field.len();
        }
        out[at..].copy_from_slice(&(plain_len as u64).to_le_bytes());
        Aad::from(out)
    }

    /// Encrypts a segment to the end of `out`.
    fn seal(&self, segment: &Segment, piece: &[u8], out: &mut Vec<u8>) -> Result<()> {
        let (nonce, context, at) = (segment.nonce()?, self.context(segment), out.len());
        out.extend_from_slice(piece);
        let tag = self.key.seal_in_place_separate_tag(nonce, context, &mut out[at..]);
        out.extend_from_slice(tag.map_err(|_| refused())?.as_ref());
        Ok(())
    }

    /// Decrypts a segment to the end of `out`. After an error `out` is of no meaning.
    fn open(&self, segment: &Segment, piece: &[u8], out: &mut Vec<u8>) -> Result<()> {
        let (nonce, context, at) = (segment.nonce()?, self.context(segment), out.len());
        out.extend_from_slice(piece);
        let opened = self.key.open_in_place(nonce, context, &mut out[at..]);
        let count = opened.map_err(|_| refused())?.len();
        out.truncate(at + count);
        Ok(())
    }
}

/// HKDF-SHA-256.
fn derive(input: &[u8], salt: &[u8], info: &[u8]) -> [u8; 32] {
    let mut out = [0; 32];
    let parts = [info];
    let derived = Salt::new(HKDF_SHA256, salt).extract(input);
    let derived = derived.expand(&parts, HKDF_SHA256).and_then(|output| output.fill(&mut out));
    derived.expect("32 bytes are no more than can be derived");
    out
}

impl Segment {
    /// Its number within the file. `Corrupt` when there cannot be so many.
    fn nonce(&self) -> Result<Nonce> {
        let number = self.first.checked_add(self.number as u64).ok_or_else(refused)?;
        let mut bytes = [0; 12];
        bytes[4..].copy_from_slice(&number.to_be_bytes());
        Ok(Nonce::assume_unique_for_key(bytes))
    }
}

fn segment_count(plain_len: usize) -> usize {
    plain_len.div_ceil(SEGMENT_BYTES).max(1)
}

/// The bytes of a chunk whose segments have so many; `None` for none that there can be.
fn plain_len(body_len: usize) -> Option<usize> {
    let count = body_len.div_ceil(SEGMENT_BYTES + TAG_BYTES);
    let plain = body_len.checked_sub(count * TAG_BYTES)?;
    (count > 0 && segment_count(plain) == count).then_some(plain)
}

async fn give_way() {
    if runtime::need_preempt() {
        runtime::yield_now().await;
    }
}

fn refused() -> Error {
    let what = "a sealed chunk does not open: its bytes, its key or its place are others";
    Error::new(ErrorKind::Corrupt, what)
}

impl fmt::Debug for DataKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("DataKey(..)")
    }
}

impl fmt::Debug for FileId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "FileId({})", hex(&self.0))
    }
}

impl fmt::Debug for Sealer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Sealer({:?})", self.file.id)
    }
}

impl fmt::Debug for Opener {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Opener({:?})", self.file.id)
    }
}

#[cfg(test)]
mod tests;
