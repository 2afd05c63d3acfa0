//! Values as they are written.

use super::shape::{Shape, Shapes};
use crate::fault::{Error, Result};
use crate::value::unscaled;

/// Values within values: manifests have six levels.
const DEPTH_MAX: usize = 32;

/// Values of one record: ten thousand columns have six figures and bounds, each of a pair and its two values. A
/// value takes 40 bytes of memory.
const VALUES_MAX: usize = 1 << 20;

/// Those of them that take no byte, as nulls outside of unions and records without fields do: the partition of a
/// table that has none is such a one.
const EMPTY_MAX: usize = 256;

/// A value.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Datum {
    Null,
    Boolean(bool),
    Whole(i64),
    Float(f32),
    Double(f64),
    Bytes(Vec<u8>),
    /// A number without the point of its type.
    Decimal(i128),
    String(String),
    Array(Vec<Datum>),
    Record(Record),
}

/// The fields of a record in their order, with their ids; -1 where there is none.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Record(pub(crate) Vec<(i32, Datum)>);

impl Datum {
    /// Appends bytes that are the same for the same values, also of types that a column may have had one after the
    /// other (whole numbers of 32 and 64 bits, floats of both, decimals however many bytes they are written in), and
    /// differ for all others.
    pub(crate) fn key(&self, out: &mut Vec<u8>) {
        let mut put = |kind: u8, bytes: &[u8]| {
            out.push(kind);
            out.extend((bytes.len() as u64).to_le_bytes());
            out.extend(bytes);
        };
        match self {
            Datum::Null => put(0, &[]),
            Datum::Boolean(value) => put(1, &[u8::from(*value)]),
            Datum::Whole(value) => put(2, &value.to_le_bytes()),
            Datum::Float(value) => put(3, &bits(f64::from(*value)).to_le_bytes()),
            Datum::Double(value) => put(3, &bits(*value).to_le_bytes()),
            Datum::Bytes(value) => put(4, value),
            Datum::String(value) => put(5, value.as_bytes()),
            Datum::Decimal(value) => put(6, &value.to_le_bytes()),
            Datum::Array(all) => {
                put(7, &(all.len() as u64).to_le_bytes());
                all.iter().for_each(|datum| datum.key(out));
            }
            Datum::Record(record) => {
                put(8, &(record.0.len() as u64).to_le_bytes());
                record.0.iter().for_each(|(_, datum)| datum.key(out));
            }
        }
    }
}

/// All that are no number are one value.
fn bits(number: f64) -> u64 {
    if number.is_nan() { f64::NAN.to_bits() } else { number.to_bits() }
}

impl Record {
    /// Takes out a field; null if it is not there.
    pub(crate) fn take(&mut self, id: i32) -> Datum {
        let field = self.0.iter_mut().find(|(known, _)| *known == id);
        field.map_or(Datum::Null, |(_, datum)| std::mem::replace(datum, Datum::Null))
    }
}

/// Bytes that are read from their begin, as those of one record.
pub(super) struct Reader<'a> {
    rest: &'a [u8],
    values_left: usize,
    empty_left: usize,
}

impl<'a> Reader<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> Reader<'a> {
        Reader { rest: bytes, values_left: VALUES_MAX, empty_left: EMPTY_MAX }
    }

    /// Bytes that are not read yet.
    pub(super) fn left(&self) -> usize {
        self.rest.len()
    }

    pub(super) fn is_at_end(&self) -> bool {
        self.rest.is_empty()
    }

    pub(super) fn take(&mut self, count: usize) -> Result<&'a [u8]> {
        let (taken, rest) = self.rest.split_at_checked(count).ok_or_else(too_short)?;
        self.rest = rest;
        Ok(taken)
    }

    /// A number of up to ten bytes of seven bits, signed by its lowest bit.
    pub(super) fn long(&mut self) -> Result<i64> {
        let mut bits = 0u64;
        for shift in (0..64).step_by(7) {
            let byte = self.take(1)?[0];
            bits |= u64::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                return Ok((bits >> 1) as i64 ^ -((bits & 1) as i64));
            }
        }
        Err(Error::damaged("a number is too long"))
    }

    pub(super) fn bytes(&mut self) -> Result<&'a [u8]> {
        let count = usize::try_from(self.long()?);
        self.take(count.map_err(|_| Error::damaged("a length is negative"))?)
    }

    /// The blocks of an array or a map; `each` reads an element.
    pub(super) fn blocks(&mut self, mut each: impl FnMut(&mut Self) -> Result<()>) -> Result<()> {
        loop {
            let count = self.long()?;
            if count == 0 {
                return Ok(());
            }
            if count < 0 {
                // How many bytes the block has, for those who skip it.
                self.long()?;
            }
            for _ in 0..count.unsigned_abs() {
                each(self)?;
            }
        }
    }

    /// The record that the schema is of.
    pub(super) fn record(&mut self, shapes: &Shapes) -> Result<Record> {
        let left = self.left();
        let record = self.fields(shapes, shapes.root(), DEPTH_MAX)?;
        // There might be any number of those that take none.
        if self.left() == left { Err(more_values_than_bytes()) } else { Ok(record) }
    }

    fn fields(&mut self, shapes: &Shapes, record: usize, depth: usize) -> Result<Record> {
        let mut fields = vec![];
        for (id, shape) in shapes.fields(record) {
            fields.push((*id, self.value(shapes, shape, depth)?));
        }
        Ok(Record(fields))
    }

    /// A value that is kept beside others: how many there are follows from bytes that there are, whatever the
    /// lengths of lists claim.
    fn value(&mut self, shapes: &Shapes, shape: &Shape, depth: usize) -> Result<Datum> {
        let left = self.left();
        let datum = self.datum(shapes, shape, depth)?;
        if self.left() == left {
            self.empty_left = self.empty_left.checked_sub(1).ok_or_else(more_values_than_bytes)?;
        }
        let too_many = || Error::too_large(format!("a record of more than {VALUES_MAX} values"));
        self.values_left = self.values_left.checked_sub(1).ok_or_else(too_many)?;
        Ok(datum)
    }

    fn datum(&mut self, shapes: &Shapes, shape: &Shape, depth: usize) -> Result<Datum> {
        let deeper = depth.checked_sub(1);
        let deeper = deeper.ok_or_else(|| Error::unsupported("values that are nested so deep"))?;
        Ok(match shape {
            Shape::Null => Datum::Null,
            Shape::Boolean => Datum::Boolean(self.take(1)?[0] != 0),
            Shape::Whole => Datum::Whole(self.long()?),
            Shape::Float => Datum::Float(f32::from_le_bytes(self.chunk()?)),
            Shape::Double => Datum::Double(f64::from_le_bytes(self.chunk()?)),
            Shape::Bytes => Datum::Bytes(self.bytes()?.to_vec()),
            Shape::String => Datum::String(self.text()?),
            Shape::Fixed(count) => Datum::Bytes(self.take(*count)?.to_vec()),
            Shape::Decimal(of) => match self.datum(shapes, of, deeper)? {
                Datum::Bytes(bytes) => Datum::Decimal(decimal(&bytes)?),
                _ => return Err(Error::damaged("a decimal is not written in bytes")),
            },
            Shape::Record(record) => Datum::Record(self.fields(shapes, *record, deeper)?),
            Shape::Union(branches) => {
                let branch = usize::try_from(self.long()?).ok().and_then(|at| branches.get(at));
                let branch = branch.ok_or_else(|| Error::damaged("a union has no such branch"))?;
                self.datum(shapes, branch, deeper)?
            }
            Shape::Array(of) => {
                let mut all = vec![];
                self.blocks(|reader| {
                    all.push(reader.value(shapes, of, deeper)?);
                    Ok(())
                })?;
                Datum::Array(all)
            }
            // No field that is read is one.
            Shape::Map(of) => {
                self.blocks(|reader| {
                    reader.bytes()?;
                    reader.value(shapes, of, deeper).map(drop)
                })?;
                Datum::Null
            }
        })
    }

    fn chunk<const N: usize>(&mut self) -> Result<[u8; N]> {
        self.take(N)?.try_into().map_err(|_| too_short())
    }

    fn text(&mut self) -> Result<String> {
        let text = std::str::from_utf8(self.bytes()?);
        Ok(text.map_err(|_| Error::damaged("a text is no UTF-8"))?.to_owned())
    }
}

fn decimal(bytes: &[u8]) -> Result<i128> {
    let wrong = || Error::damaged(format!("a decimal of {} bytes", bytes.len()));
    unscaled(bytes).ok_or_else(wrong)
}

fn more_values_than_bytes() -> Error {
    Error::damaged("it has more values than bytes")
}

fn too_short() -> Error {
    Error::damaged("it ends too early")
}
