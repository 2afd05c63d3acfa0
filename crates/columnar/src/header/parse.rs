//! Reads a header: each count and each place is checked here, so that the rest may use them.

use super::{
    COLUMN_BYTES, ChunkHeader, ColumnHeader, FIXED_BYTES, MAGIC, SEGMENT_ENTRY_BYTES,
    SHARED_BYTES_MAX, Segment, VECTOR_ENTRY_BYTES, VERSION, VectorHeader,
};
use crate::class::{Class, type_of_number};
use crate::encoding::Encoding;
use crate::error::Result;
use crate::layout::{BODY_BYTES_MAX, SECTOR_BYTES, VECTOR_ROWS};
use crate::shared::Shared;
use crate::view::{Piece, View};
use crate::zone::Zone;

impl ChunkHeader {
    /// Reads the bytes of a header, all of them.
    ///
    /// Errors: [`crate::Error::Damage`] with the place and what is wrong there.
    pub fn parse(bytes: &[u8]) -> Result<ChunkHeader> {
        let piece = Piece { offset: 0, bytes };
        let view = View::of_header(&piece);
        check_frame(view, bytes)?;
        let column_count = usize::from(view.u16(10)?);
        let row_count = view.u32(12)? as usize;
        let body_len = view.u32(20)? as usize;
        if body_len > BODY_BYTES_MAX || !body_len.is_multiple_of(SECTOR_BYTES) {
            return Err(view.damage(20, "a length of the body that cannot be"));
        }
        let mut parser = Parser { view, at: FIXED_BYTES, row_count, body_at: 0, body_len };
        let mut columns = Vec::new();
        for _ in 0..column_count {
            columns.push(parser.column()?);
        }
        let checksums = view.rest(parser.at)?.as_chunks::<4>();
        if checksums.0.len() * SECTOR_BYTES != body_len || !checksums.1.is_empty() {
            return Err(view.damage(parser.at, "the checksums are not as many as the sectors"));
        }
        let checksums = checksums.0.iter().map(|bytes| u32::from_le_bytes(*bytes)).collect();
        Ok(ChunkHeader { row_count, body_len, columns, checksums })
    }
}

/// Checks magic, version, length and checksum.
fn check_frame(view: View<'_>, bytes: &[u8]) -> Result<()> {
    if view.array::<4>(0)? != MAGIC {
        return Err(view.damage(0, "it does not begin with the magic number"));
    }
    if view.u8(8)? != VERSION {
        return Err(view.damage(8, "the version is unknown"));
    }
    if view.u32(16)? as usize != bytes.len() || bytes.len() < FIXED_BYTES {
        return Err(view.damage(16, "it is not as long as it says"));
    }
    let checksum = crc32c::crc32c_append(crc32c::crc32c(&bytes[..4]), &bytes[8..]);
    if view.u32(4)? != checksum {
        return Err(view.damage(4, "the checksum differs"));
    }
    Ok(())
}

/// Reads columns one after the other.
struct Parser<'a> {
    view: View<'a>,
    at: usize,
    row_count: usize,
    /// Where the next segment may begin.
    body_at: usize,
    body_len: usize,
}

impl Parser<'_> {
    fn column(&mut self) -> Result<ColumnHeader> {
        let (view, at) = (self.view, self.at);
        let ty = type_of_number(view.array(at)?);
        let ty = ty.ok_or_else(|| view.damage(at, "a type that is not known"))?;
        let zone_bytes = Class::of(ty).zone_bytes();
        let null_count = view.u32(at + 4)? as usize;
        let offset = view.u32(at + 8)? as usize;
        let segment_count = view.u32(at + 12)? as usize;
        let shared_len = view.u32(at + 16)? as usize;
        if shared_len > SHARED_BYTES_MAX || !shared_len.is_multiple_of(8) {
            return Err(view.damage(at + 16, "a shared part of a length that cannot be"));
        }
        let zone = self.zone(at + 20, at + COLUMN_BYTES, zone_bytes)?;
        let shared_at = at + COLUMN_BYTES + 2 * zone_bytes;
        let shared = self.shared(view.u8(at + 3)?, shared_at, shared_len)?;
        self.at = shared_at + shared_len;
        if offset < self.body_at || !offset.is_multiple_of(SECTOR_BYTES) {
            return Err(view.damage(at + 8, "a column begins where it cannot"));
        }
        self.body_at = offset;
        let segments = self.segments(segment_count)?;
        let vectors = self.vectors(&segments, zone_bytes)?;
        if vectors.iter().map(|vector| vector.null_count).sum::<usize>() != null_count {
            return Err(view.damage(at + 4, "the nulls of the vectors are others"));
        }
        Ok(ColumnHeader { ty, null_count, zone, shared, segments, vectors })
    }

    fn shared(&self, kind: u8, at: usize, len: usize) -> Result<Shared> {
        let piece = Piece { offset: at as u64, bytes: self.view.bytes(at, len)? };
        Shared::parse(kind, View::of_header(&piece))
    }

    fn zone(&self, flag_at: usize, at: usize, key_bytes: usize) -> Result<Option<Zone>> {
        zone_of(self.view.u8(flag_at)?, self.view.bytes(at, 2 * key_bytes)?)
            .ok_or_else(|| self.view.damage(flag_at, NO_ZONE))
    }

    fn segments(&mut self, count: usize) -> Result<Vec<Segment>> {
        let (view, entries_at) = (self.view, self.at);
        view.bytes(entries_at, count.saturating_mul(SEGMENT_ENTRY_BYTES))?;
        let (mut segments, mut vector) = (Vec::with_capacity(count), 0);
        for index in 0..count {
            let at = entries_at + index * SEGMENT_ENTRY_BYTES;
            let sectors = view.u32(at)? as usize;
            let end = self.body_at.saturating_add(sectors.saturating_mul(SECTOR_BYTES));
            let vectors = view.u32(at + 4)? as usize;
            if end > self.body_len || sectors == 0 || vectors == 0 {
                return Err(view.damage(at, "a segment that cannot be"));
            }
            segments.push(Segment {
                bytes: self.body_at as u64..end as u64,
                vectors: vector..vector + vectors,
            });
            (self.body_at, vector) = (end, vector + vectors);
        }
        self.at = entries_at + count * SEGMENT_ENTRY_BYTES;
        Ok(segments)
    }

    fn vectors(&mut self, segments: &[Segment], zone_bytes: usize) -> Result<Vec<VectorHeader>> {
        let (view, entries_at) = (self.view, self.at);
        let count = self.row_count.div_ceil(VECTOR_ROWS);
        let entry_bytes = VECTOR_ENTRY_BYTES + 2 * zone_bytes;
        let entries = view.bytes(entries_at, count.saturating_mul(entry_bytes))?;
        let mut vectors = Vec::with_capacity(count);
        let mut segments = segments.iter().peekable();
        for (index, entry) in entries.chunks_exact(entry_bytes).enumerate() {
            let at = entries_at + index * entry_bytes;
            let vector =
                vector_of(entry).map_err(|(behind, what)| view.damage(at + behind, what))?;
            let rows = (self.row_count - index * VECTOR_ROWS).min(VECTOR_ROWS);
            if vector.null_count > rows {
                return Err(view.damage(at + 8, "more nulls than rows"));
            }
            while segments.peek().is_some_and(|segment| segment.vectors.end <= index) {
                segments.next();
            }
            let inside = segments.peek().is_some_and(|segment| {
                segment.bytes.start <= vector.bytes.start && vector.bytes.end <= segment.bytes.end
            });
            if !vector.bytes.is_empty() && !inside {
                return Err(view.damage(at, "a vector lies outside of its segment"));
            }
            vectors.push(vector);
        }
        self.at = entries_at + count * entry_bytes;
        Ok(vectors)
    }
}

/// What is wrong with bounds.
const NO_ZONE: &str = "a zone that cannot be";

/// The header of a vector; an error says how far behind the beginning of its entry something is wrong.
fn vector_of(entry: &[u8]) -> std::result::Result<VectorHeader, (usize, &'static str)> {
    let (fixed, keys) =
        entry.split_first_chunk::<VECTOR_ENTRY_BYTES>().ok_or((0, "an entry that is too short"))?;
    let [s0, s1, s2, s3, l0, l1, l2, l3, n0, n1, encoding, flag, ..] = *fixed;
    let start = u64::from(u32::from_le_bytes([s0, s1, s2, s3]));
    let bytes = start..start + u64::from(u32::from_le_bytes([l0, l1, l2, l3]));
    if !start.is_multiple_of(8) {
        return Err((0, "a vector begins at no multiple of eight"));
    }
    let encoding = Encoding::of_number(encoding).ok_or((10, "an encoding that is not known"))?;
    let zone = zone_of(flag, keys).ok_or((11, NO_ZONE))?;
    Ok(VectorHeader { bytes, encoding, null_count: u16::from_le_bytes([n0, n1]).into(), zone })
}

/// The bounds, which are two keys of 8 or 16 bytes, unless the flag says that there are none; `None` for
/// what cannot be.
fn zone_of(flag: u8, keys: &[u8]) -> Option<Option<Zone>> {
    let word = |bytes: &[u8; 8]| i128::from(i64::from_le_bytes(*bytes));
    let (min, max) = match (keys.as_chunks::<8>().0, keys.as_chunks::<16>().0) {
        ([min, max], _) => (word(min), word(max)),
        (_, [min, max]) => (i128::from_le_bytes(*min), i128::from_le_bytes(*max)),
        _ => return None,
    };
    match flag {
        0 => Some(None),
        1 if min <= max => Some(Some(Zone { min, max })),
        _ => None,
    }
}
