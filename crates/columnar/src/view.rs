//! Bytes of a chunk as far as they are at hand, read with every bound checked.
//!
//! One kind of reader serves the scan, which has a whole vector in memory, and the look-up of one
//! row, which has a sector or two: bytes that are not there are an [`Error::Absent`], not damage.

use std::ops::Range;

use crate::error::{Damage, Error, Part, Result};
use crate::layout::SECTOR_BYTES;

/// Bytes of the body that are in memory.
#[derive(Clone, Copy, Debug)]
pub struct Piece<'a> {
    /// Where they begin in the body.
    pub offset: u64,
    /// The bytes.
    pub bytes: &'a [u8],
}

/// A range of a chunk's header or body; offsets count from its start.
#[derive(Clone, Copy, Debug)]
pub(crate) struct View<'a> {
    part: Part,
    pieces: &'a [Piece<'a>],
    start: u64,
    len: usize,
}

impl<'a> View<'a> {
    /// `len` bytes of the body from `start` on, of which `pieces` has some.
    pub fn of_body(pieces: &'a [Piece<'a>], start: u64, len: usize) -> View<'a> {
        View { part: Part::Body, pieces, start, len }
    }

    /// All bytes of one piece of the header.
    pub fn of_header(piece: &'a Piece<'a>) -> View<'a> {
        let (start, len) = (piece.offset, piece.bytes.len());
        View { part: Part::Header, pieces: std::slice::from_ref(piece), start, len }
    }

    /// The length in bytes.
    pub fn len(&self) -> usize {
        self.len
    }

    /// What follows `at`.
    pub fn tail(&self, at: usize) -> Result<View<'a>> {
        let len = self.len.checked_sub(at).ok_or(self.damage(at, "ends before its fields do"))?;
        Ok(View { start: self.start + at as u64, len, ..*self })
    }

    /// `len` bytes at `at`.
    #[inline]
    pub fn bytes(&self, at: usize, len: usize) -> Result<&'a [u8]> {
        let start = self.place(at, len)?.start;
        if len == 0 {
            return Ok(&[]);
        }
        for piece in self.pieces {
            let skip = start.checked_sub(piece.offset).and_then(|skip| usize::try_from(skip).ok());
            let found = skip.and_then(|skip| piece.bytes.get(skip..skip.checked_add(len)?));
            if let Some(found) = found {
                return Ok(found);
            }
        }
        Err(self.absent(start, len))
    }

    /// Where `len` bytes at `at` lie in the header or the body.
    pub fn place(&self, at: usize, len: usize) -> Result<Range<u64>> {
        if at.checked_add(len).is_none_or(|end| end > self.len) {
            return Err(self.damage(at, "reaches beyond its end"));
        }
        let start = self.start + at as u64;
        Ok(start..start + len as u64)
    }

    /// The bytes from `at` to the end.
    pub fn rest(&self, at: usize) -> Result<&'a [u8]> {
        let len = self.len.checked_sub(at).ok_or(self.damage(at, "ends before its fields do"))?;
        self.bytes(at, len)
    }

    /// `N` bytes at `at`.
    #[inline]
    pub fn array<const N: usize>(&self, at: usize) -> Result<[u8; N]> {
        let bytes = self.bytes(at, N)?;
        bytes.try_into().map_err(|_| self.damage(at, "reaches beyond its end"))
    }

    /// The byte at `at`.
    pub fn u8(&self, at: usize) -> Result<u8> {
        Ok(self.array::<1>(at)?[0])
    }

    /// The 16 bits at `at`.
    pub fn u16(&self, at: usize) -> Result<u16> {
        self.array(at).map(u16::from_le_bytes)
    }

    /// The 32 bits at `at`.
    pub fn u32(&self, at: usize) -> Result<u32> {
        self.array(at).map(u32::from_le_bytes)
    }

    /// The 64 bits at `at`.
    pub fn u64(&self, at: usize) -> Result<u64> {
        self.array(at).map(u64::from_le_bytes)
    }

    /// A count of at most `max` at `at`.
    pub fn count(&self, at: usize, max: usize) -> Result<usize> {
        let count = usize::from(self.u16(at)?);
        if count > max {
            return Err(self.damage(at, "a count is too large"));
        }
        Ok(count)
    }

    /// An error that says what is wrong at `at`.
    pub fn damage(&self, at: usize, reason: &'static str) -> Error {
        Error::Damage(Damage { part: self.part, offset: self.start + at as u64, reason })
    }

    fn absent(&self, start: u64, len: usize) -> Error {
        let sector = SECTOR_BYTES as u64;
        let end = (start + len as u64).next_multiple_of(sector);
        Error::Absent(start - start % sector..end)
    }
}

/// `at` rounded up to a multiple of 8.
pub(crate) fn pad8(at: usize) -> usize {
    at.next_multiple_of(8)
}

/// Appends zeros up to a multiple of 8.
pub(crate) fn push_pad8(out: &mut Vec<u8>) {
    out.resize(pad8(out.len()), 0);
}

/// Appends a count of 16 bits and its padding.
pub(crate) fn push_count(out: &mut Vec<u8>, count: usize) {
    let count = u16::try_from(count).expect("counts are of rows of one vector");
    out.extend_from_slice(&count.to_le_bytes());
    push_pad8(out);
}
