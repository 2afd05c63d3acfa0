//! Encodes one column: its vectors one after the other, whole ones to a segment.

use std::ops::Range;

use arrow_array::{Array, ArrayRef};
use arrow_buffer::NullBuffer;
use types::LogicalType;

use crate::class::Class;
use crate::encoding::Encoding;
use crate::error::{Error, Result};
use crate::header::{ColumnParts, Segment, VectorHeader};
use crate::layout::{BODY_BYTES_MAX, SECTOR_BYTES, SEGMENT_BYTES_MAX, VECTOR_ROWS};
use crate::raw::{Raw, check_digits, lists_as_text, validity_bytes};
use crate::strings::{SharedFinder, SharedWriter};
use crate::zone::Zone;
use crate::{bools, fixed, floats, strings, words};

/// A column of a chunk that is being encoded, vector by vector ([`super::ChunkEncoder::column`]). Strings
/// are looked at first, and arrays made texts, a vector at a time as well.
pub struct ColumnEncoder<'a> {
    ty: LogicalType,
    array: &'a ArrayRef,
    looking: Option<Looking>,
    /// Arrays as texts, by vector.
    texts: Vec<ArrayRef>,
    shared: SharedWriter,
    segments: Segments<'a>,
    vectors: Vec<VectorHeader>,
    done: &'a mut Vec<ColumnParts>,
}

/// A column of strings before its first vector is encoded.
struct Looking {
    finder: SharedFinder,
    vector: usize,
    bytes: usize,
}

impl<'a> ColumnEncoder<'a> {
    /// Looks at nothing yet. `ty` is a stored type.
    pub(super) fn new(
        ty: LogicalType,
        array: &'a ArrayRef,
        body: &'a mut Vec<u8>,
        done: &'a mut Vec<ColumnParts>,
    ) -> Result<ColumnEncoder<'a>> {
        if *array.data_type() != ty.arrow() {
            let found = array.data_type();
            return Err(Error::Mismatch(format!("a vector of {found} for a column of {ty}")));
        }
        let is_text = Class::of(ty) == Class::Strings || matches!(ty, LogicalType::Array(_));
        let finder = || SharedFinder::new(array.len());
        let looking = is_text.then(|| Looking { finder: finder(), vector: 0, bytes: 0 });
        let vectors = Vec::with_capacity(array.len().div_ceil(VECTOR_ROWS));
        let (texts, shared) = (Vec::new(), SharedWriter::Nothing);
        let segments = Segments::new(body);
        Ok(ColumnEncoder { ty, array, looking, texts, shared, segments, vectors, done })
    }

    /// Looks at the next vector, or encodes it; whether there is more to do.
    ///
    /// Errors: as [`super::encode`].
    pub fn step(&mut self) -> Result<bool> {
        match self.looking.take() {
            Some(looking) => self.look(looking).map(|()| true),
            None => self.encode_next(),
        }
    }

    fn look(&mut self, mut looking: Looking) -> Result<()> {
        let mut part = self.part(looking.vector);
        let mut ty = self.ty;
        if let LogicalType::Array(_) = ty {
            part = lists_as_text(ty, &part)?;
            ty = LogicalType::Text;
            self.texts.push(part.clone());
        }
        if let Raw::Strings(values) = Raw::of(ty, &part)? {
            looking.bytes += values.iter().map(|value| value.len()).sum::<usize>();
            if looking.bytes > BODY_BYTES_MAX {
                return Err(Error::TooLarge);
            }
            looking.finder.look(&values);
        }
        looking.vector += 1;
        match looking.vector * VECTOR_ROWS < self.array.len() {
            true => self.looking = Some(looking),
            false => self.shared = looking.finder.finish(),
        }
        Ok(())
    }

    fn encode_next(&mut self) -> Result<bool> {
        let vector = self.vectors.len();
        if vector * VECTOR_ROWS < self.array.len() {
            let part = match self.texts.get(vector) {
                Some(texts) => texts.clone(),
                None => self.part(vector),
            };
            check_digits(self.ty, &part)?;
            let (mut header, bytes) = encode_vector(self.ty, &part, &self.shared)?;
            header.bytes = self.segments.push(&bytes, front_len(self.ty, &header));
            self.vectors.push(header);
        }
        Ok(self.vectors.len() * VECTOR_ROWS < self.array.len())
    }

    /// The rows of a vector.
    fn part(&self, vector: usize) -> ArrayRef {
        let start = vector * VECTOR_ROWS;
        self.array.slice(start, VECTOR_ROWS.min(self.array.len() - start))
    }

    /// Puts the column behind those before it.
    pub fn finish(self) {
        let ColumnEncoder { ty, shared, segments, vectors, done, .. } = self;
        done.push(parts(ty, &shared, segments, vectors));
    }
}

fn parts(
    ty: LogicalType,
    shared: &SharedWriter,
    segments: Segments<'_>,
    vectors: Vec<VectorHeader>,
) -> ColumnParts {
    let segments = segments.finish();
    let used = vectors.iter().any(|v| matches!(v.encoding, Encoding::Symbols | Encoding::Shared));
    let (shared_kind, shared) = if used { shared.finish() } else { (0, Vec::new()) };
    ColumnParts { ty, shared_kind, shared, segments, vectors }
}

/// The header of a vector, without its place, and its bytes.
fn encode_vector(
    ty: LogicalType,
    array: &ArrayRef,
    shared: &SharedWriter,
) -> Result<(VectorHeader, Vec<u8>)> {
    let nulls = array.logical_nulls();
    let null_count = nulls.as_ref().map_or(0, |nulls| nulls.null_count());
    let raw = match ty {
        LogicalType::Array(_) => Raw::of(LogicalType::Text, array)?,
        _ => Raw::of(ty, array)?,
    };
    let zone = Zone::of(ty, array, &raw);
    let mut out = validity_bytes(nulls.as_ref()).unwrap_or_default();
    let encoding = if null_count == array.len() {
        Encoding::Constant
    } else if is_constant(&raw, nulls.as_ref()) {
        push_constant(ty, &raw, nulls.as_ref(), &mut out);
        Encoding::Constant
    } else {
        encode_values(ty, &raw, shared, &mut out)
    };
    Ok((VectorHeader { bytes: 0..0, encoding, null_count, zone }, out))
}

fn encode_values(
    ty: LogicalType,
    raw: &Raw<'_>,
    shared: &SharedWriter,
    out: &mut Vec<u8>,
) -> Encoding {
    match raw {
        Raw::Bits(values) => {
            bools::encode(values, out);
            Encoding::Plain
        }
        Raw::Words16(values) => words::encode(values, out),
        Raw::Words32(values) => words::encode(values, out),
        Raw::Words64(values) => words::encode(values, out),
        Raw::Reals(values) => floats::encode(values, out),
        Raw::Doubles(values) => floats::encode(values, out),
        Raw::Decimals(values) => match Class::of(ty) {
            Class::Decimals => fixed::encode_decimals::<16>(values, out),
            _ => fixed::encode_decimals::<32>(values, out),
        },
        Raw::Fixed(values) => fixed::encode_bytes(values, out),
        Raw::Strings(values) => strings::encode(values, shared, out),
    }
}

/// Whether all rows that are not null have the same value. Nulls have a neighbour's, except for
/// strings.
fn is_constant(raw: &Raw<'_>, nulls: Option<&NullBuffer>) -> bool {
    fn same<T: PartialEq>(values: &[T]) -> bool {
        values.windows(2).all(|pair| pair[0] == pair[1])
    }
    match raw {
        Raw::Bits(values) => same(values),
        Raw::Words16(values) => same(values),
        Raw::Words32(values) | Raw::Reals(values) => same(values),
        Raw::Words64(values) | Raw::Doubles(values) => same(values),
        Raw::Decimals(values) => same(values),
        Raw::Fixed(values) => same(values),
        Raw::Strings(values) => same(&valid(values, nulls)),
    }
}

fn valid<'a>(values: &[&'a [u8]], nulls: Option<&NullBuffer>) -> Vec<&'a [u8]> {
    let is_valid = |row: usize| nulls.is_none_or(|nulls| nulls.is_valid(row));
    (0..values.len()).filter(|&row| is_valid(row)).map(|row| values[row]).collect()
}

/// Appends the value, except of words and bits: theirs is in the header.
fn push_constant(ty: LogicalType, raw: &Raw<'_>, nulls: Option<&NullBuffer>, out: &mut Vec<u8>) {
    match raw {
        Raw::Bits(_) | Raw::Words16(_) | Raw::Words32(_) | Raw::Words64(_) => {}
        Raw::Reals(values) => out.extend_from_slice(&values[0].to_le_bytes()),
        Raw::Doubles(values) => out.extend_from_slice(&values[0].to_le_bytes()),
        Raw::Decimals(values) => {
            let width = if Class::of(ty) == Class::Decimals { 16 } else { 32 };
            out.extend_from_slice(&values[0].to_le_bytes()[..width]);
        }
        Raw::Fixed(values) => out.extend_from_slice(&values[0]),
        Raw::Strings(values) => out.extend_from_slice(valid(values, nulls)[0]),
    }
}

/// Bytes at the start of a vector that each of its rows needs: validity and heads, and the lengths
/// of strings or the codes of a dictionary at their widest.
fn front_len(ty: LogicalType, header: &VectorHeader) -> usize {
    const VALIDITY: usize = VECTOR_ROWS / 8;
    match (Class::of(ty), header.encoding) {
        (_, Encoding::Dictionary) => VALIDITY + 8 + 24 + VECTOR_ROWS * 10 / 8,
        (Class::Strings, _) => VALIDITY + 64 + 24 + VECTOR_ROWS,
        _ => VALIDITY + 64,
    }
}

/// Places vectors in the body.
struct Segments<'a> {
    body: &'a mut Vec<u8>,
    done: Vec<Segment>,
    /// Where the open segment begins; it is empty until a vector with bytes comes.
    start: usize,
    first_vector: usize,
    vector: usize,
}

impl Segments<'_> {
    fn new(body: &mut Vec<u8>) -> Segments<'_> {
        let start = body.len();
        Segments { body, done: Vec::new(), start, first_vector: 0, vector: 0 }
    }

    /// Appends a vector, the first `front_len` bytes of a long one in one sector; where it lies.
    fn push(&mut self, bytes: &[u8], front_len: usize) -> Range<u64> {
        if bytes.is_empty() {
            self.vector += 1;
            return 0..0;
        }
        let mut start = self.body.len().next_multiple_of(8);
        if bytes.len() > SECTOR_BYTES && start % SECTOR_BYTES + front_len > SECTOR_BYTES {
            start = start.next_multiple_of(SECTOR_BYTES);
        }
        if self.body.len() > self.start && start + bytes.len() - self.start > SEGMENT_BYTES_MAX {
            self.close();
            start = self.start;
        }
        self.body.resize(start, 0);
        let start = self.body.len() as u64;
        self.body.extend_from_slice(bytes);
        self.vector += 1;
        start..self.body.len() as u64
    }

    fn close(&mut self) {
        self.body.resize(self.body.len().next_multiple_of(SECTOR_BYTES), 0);
        let bytes = self.start as u64..self.body.len() as u64;
        self.done.push(Segment { bytes, vectors: self.first_vector..self.vector });
        (self.start, self.first_vector) = (self.body.len(), self.vector);
    }

    fn finish(mut self) -> Vec<Segment> {
        if self.body.len() > self.start {
            self.close();
        }
        self.done
    }
}
