//! One vector of a chunk: decoded wholly, at some rows, or asked which rows qualify.

mod arrays;
mod gather;
mod read;
mod select;
mod views;

use std::ops::Range;

use arrow_array::ArrayRef;
use arrow_buffer::{BooleanBuffer, Buffer, NullBuffer};

use crate::class::Class;
use crate::error::{Error, Result};
use crate::header::{ChunkHeader, ColumnHeader, VectorHeader};
use crate::mask::Mask;
use crate::restriction::Restriction;
use crate::view::{Piece, View};
pub use gather::Gather;
pub use read::ROWS_ALONE_MAX;
use read::Wanted;

/// A vector whose bytes are in some pieces, as far as they are needed.
pub struct Vector<'a> {
    column: &'a ColumnHeader,
    header: &'a VectorHeader,
    rows: usize,
    view: View<'a>,
}

impl<'a> Vector<'a> {
    /// Vector `index` of column `column`. `pieces` are bytes of the body that the caller has read
    /// and verified ([`ChunkHeader::verify`]): the vector's segment, a sector of it, or nothing.
    ///
    /// Errors: [`Error::Mismatch`] if the chunk has no such vector.
    pub fn new(
        chunk: &'a ChunkHeader,
        column: usize,
        index: usize,
        pieces: &'a [Piece<'a>],
    ) -> Result<Vector<'a>> {
        let missing = || Error::Mismatch(format!("no vector {index} of column {column}"));
        let column = chunk.columns.get(column).ok_or_else(missing)?;
        let header = column.vectors.get(index).ok_or_else(missing)?;
        let len = (header.bytes.end - header.bytes.start) as usize;
        let view = View::of_body(pieces, header.bytes.start, len);
        Ok(Vector { column, header, rows: chunk.rows_of(index), view })
    }

    /// Number of rows.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// All rows, in Arrow's layout.
    ///
    /// Errors: [`Error::Absent`] if a byte of the vector is missing, [`Error::Damage`].
    pub fn decode(&self) -> Result<ArrayRef> {
        self.read(Wanted::All)
    }

    /// The rows at `positions`, in that order; any may be there more than once.
    ///
    /// One row needs its own sectors only: one or two, rarely more (`docs/format/block.md`, section 1).
    ///
    /// Errors: [`Error::Mismatch`] if there is no such row, and as [`Vector::decode`].
    pub fn take(&self, positions: &[u16]) -> Result<ArrayRef> {
        match positions.iter().max() {
            Some(max) if usize::from(*max) >= self.rows => {
                Err(Error::Mismatch(format!("no row {max} of {}", self.rows)))
            }
            _ => self.read(Wanted::Rows(positions)),
        }
    }

    /// Where the bytes lie in the body that each of these rows needs beside the vector's head
    /// ([`ChunkHeader::head`]), which is at hand; `None` where a row needs nothing but what all need.
    ///
    /// Errors: [`Error::Absent`] if the head is longer, [`Error::Damage`].
    pub fn places(&self, positions: &[u16]) -> Result<Option<Vec<Range<u64>>>> {
        if Class::of(self.column.ty) != Class::Strings || self.is_constant() {
            return Ok(None);
        }
        self.string_decoder()?.places(positions).transpose()
    }

    /// The rows of `among` that qualify. Bounds are asked first, so that a vector that cannot
    /// qualify, or does as a whole, is not decoded.
    ///
    /// Errors: [`Error::Mismatch`] if the restriction is of another type, and as
    /// [`Vector::decode`].
    pub fn select(&self, restriction: &Restriction, among: &Mask) -> Result<Mask> {
        select::select(self, restriction, among)
    }

    /// The rows that are not null, or `None` if all are not.
    fn validity(&self) -> Result<Option<Mask>> {
        if self.header.null_count == 0 {
            return Ok(None);
        }
        if self.header.null_count == self.rows {
            return Ok(Some(Mask::NONE));
        }
        let bits = self.view.bytes(0, self.validity_len())?;
        let mask = Mask::from_bits(bits).and(&Mask::first(self.rows));
        if self.rows - mask.count() != self.header.null_count {
            return Err(self.view.damage(0, "the nulls are not as many as the header says"));
        }
        Ok(Some(mask))
    }

    fn nulls(&self) -> Result<Option<NullBuffer>> {
        let Some(_) = self.validity()? else { return Ok(None) };
        if self.header.null_count == self.rows {
            return Ok(Some(NullBuffer::new_null(self.rows)));
        }
        let bits = Buffer::from(self.view.bytes(0, self.validity_len())?);
        Ok(Some(NullBuffer::new(BooleanBuffer::new(bits, 0, self.rows))))
    }

    /// The nulls among some rows, each looked up alone.
    fn nulls_at(&self, positions: &[u16]) -> Result<Option<NullBuffer>> {
        if self.header.null_count == 0 {
            return Ok(None);
        }
        if self.header.null_count == self.rows {
            return Ok(Some(NullBuffer::new_null(positions.len())));
        }
        let valid = |row: &u16| crate::bools::get(self.view, 0, usize::from(*row));
        let valid = positions.iter().map(valid).collect::<Result<Vec<bool>>>()?;
        Ok(Some(NullBuffer::from(valid)))
    }

    /// Bytes of validity, after which the payload begins.
    fn validity_len(&self) -> usize {
        match self.header.null_count {
            0 => 0,
            nulls if nulls == self.rows => 0,
            _ => self.rows.div_ceil(64) * 8,
        }
    }
}
