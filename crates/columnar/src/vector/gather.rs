//! Rows of several vectors of one column as one array, without an array for each of them where values
//! are words or texts.

use std::sync::Arc;

use arrow_array::types::{
    BinaryViewType, Date32Type, Decimal64Type, Decimal128Type, Int32Type, Int64Type,
    StringViewType, TimestampMicrosecondType,
};
use arrow_array::{Array, ArrayRef, PrimitiveArray, new_empty_array};
use arrow_buffer::NullBufferBuilder;
use arrow_schema::DataType;
use types::LogicalType;

use super::Vector;
use super::arrays::NO_TEXT;
use super::read::Wanted;
use super::views::{Views, is_text};
use crate::class::{NARROW_DIGITS_MAX, stored_type};
use crate::error::{Error, Result};
use crate::layout::VECTOR_ROWS;
use crate::words::Word;

/// An array in the making.
pub struct Gather {
    ty: LogicalType,
    /// The type of the array.
    arrow: DataType,
    values: Values,
    nulls: NullBufferBuilder,
}

enum Values {
    Words32(Vec<i32>, Room<u32>),
    Words64(Vec<i64>, Room<u64>),
    Decimals(Vec<i128>, Room<u64>),
    Texts(Views),
    /// What is neither words nor texts.
    Arrays(Vec<ArrayRef>),
}

/// Where the words of a vector are decoded before some are chosen; nothing until it is needed.
type Room<W> = Option<Box<[W; VECTOR_ROWS]>>;

impl Gather {
    /// No rows of a column of type `ty`, with room for some.
    ///
    /// Errors: [`Error::Unsupported`] for types that are not stored.
    pub fn new(ty: LogicalType, rows: usize) -> Result<Gather> {
        let ty = stored_type(ty)?;
        let values = match ty {
            LogicalType::Int32 | LogicalType::Date => {
                Values::Words32(Vec::with_capacity(rows), None)
            }
            LogicalType::Int64 | LogicalType::Timestamp | LogicalType::TimestampTz => {
                Values::Words64(Vec::with_capacity(rows), None)
            }
            LogicalType::Decimal { precision, .. } if precision <= NARROW_DIGITS_MAX => {
                Values::Decimals(Vec::with_capacity(rows), None)
            }
            LogicalType::Text | LogicalType::Bytea => Values::Texts(Views::with_capacity(rows)),
            _ => Values::Arrays(vec![]),
        };
        Ok(Gather { ty, arrow: ty.arrow(), values, nulls: NullBufferBuilder::new(rows) })
    }

    /// The same, but decimals of at most 18 digits become an array of words of 64 bits, as they are stored.
    ///
    /// Errors: as [`Gather::new`].
    pub fn of_words(ty: LogicalType, rows: usize) -> Result<Gather> {
        let gather = Gather::new(ty, rows)?;
        Ok(match (&gather.values, &gather.arrow) {
            (Values::Decimals(..), DataType::Decimal128(precision, scale)) => Gather {
                arrow: DataType::Decimal64(*precision, *scale),
                values: Values::Words64(Vec::with_capacity(rows), None),
                ..gather
            },
            _ => gather,
        })
    }

    /// Appends rows of a vector of the column: those at `positions`, or all.
    ///
    /// Errors: [`Error::Mismatch`] for a vector of another type or without such a row, and as
    /// [`Vector::decode`].
    pub fn add(&mut self, vector: &Vector<'_>, positions: Option<&[u16]>) -> Result<()> {
        if vector.column.ty != self.ty {
            return Err(Error::Mismatch("vectors of different types".into()));
        }
        if positions.is_some_and(|rows| rows.iter().any(|row| usize::from(*row) >= vector.rows)) {
            return Err(Error::Mismatch("no such row".into()));
        }
        let wanted = positions.map_or(Wanted::All, Wanted::Rows);
        match &mut self.values {
            Values::Words32(values, room) => {
                vector.append_words(wanted, u32::cast_signed, values, room)?;
            }
            Values::Words64(values, room) => {
                vector.append_words(wanted, u64::cast_signed, values, room)?;
            }
            Values::Decimals(values, room) => {
                vector.append_words(wanted, |word| word.cast_signed().into(), values, room)?;
            }
            Values::Texts(views) => {
                let texts = vector.strings(wanted)?;
                if self.ty == LogicalType::Text && !is_text(&texts) {
                    return Err(vector.view.damage(0, NO_TEXT));
                }
                views.push(texts);
            }
            Values::Arrays(arrays) => {
                arrays.push(vector.read(wanted)?);
                return Ok(());
            }
        }
        let nulls = match wanted {
            Wanted::All => vector.nulls()?,
            Wanted::Rows(positions) => vector.nulls_at(positions)?,
        };
        match nulls {
            Some(nulls) => self.nulls.append_buffer(&nulls),
            None => self.nulls.append_n_non_nulls(positions.map_or(vector.rows, <[u16]>::len)),
        }
        Ok(())
    }

    /// The array.
    ///
    /// Errors: [`Error::Mismatch`] if the arrays of the vectors cannot be one.
    pub fn finish(mut self) -> Result<ArrayRef> {
        let nulls = self.nulls.finish();
        let ty = self.arrow;
        macro_rules! array {
            ($t:ty, $values:expr) => {
                Arc::new(PrimitiveArray::<$t>::new($values.into(), nulls).with_data_type(ty))
            };
        }
        Ok(match self.values {
            Values::Words32(values, _) if self.ty == LogicalType::Date => {
                array!(Date32Type, values)
            }
            Values::Words32(values, _) => array!(Int32Type, values),
            Values::Words64(values, _) if self.ty == LogicalType::Int64 => {
                array!(Int64Type, values)
            }
            Values::Words64(values, _) if matches!(ty, DataType::Decimal64(..)) => {
                array!(Decimal64Type, values)
            }
            Values::Words64(values, _) => array!(TimestampMicrosecondType, values),
            Values::Texts(views) => match self.ty {
                LogicalType::Text => views.into_array::<StringViewType>(nulls),
                _ => views.into_array::<BinaryViewType>(nulls),
            }
            .map_err(|reason| Error::Mismatch(reason.into()))?,
            Values::Decimals(values, _) => array!(Decimal128Type, values),
            Values::Arrays(arrays) => {
                let all: Vec<&dyn Array> = arrays.iter().map(|array| array.as_ref()).collect();
                match arrays.as_slice() {
                    [] => new_empty_array(&ty),
                    [array] => array.clone(),
                    _ => arrow_select::concat::concat(&all)
                        .map_err(|e| Error::Mismatch(e.to_string()))?,
                }
            }
        })
    }
}

impl Vector<'_> {
    /// Appends the wanted ones of words.
    fn append_words<W: Word, T>(
        &self,
        wanted: Wanted<'_>,
        value: impl Fn(W) -> T,
        out: &mut Vec<T>,
        room: &mut Room<W>,
    ) -> Result<()> {
        if let Some(word) = self.constant_word() {
            let word = W::low(word.cast_unsigned());
            out.extend((0..wanted.count(self.rows)).map(|_| value(word)));
            return Ok(());
        }
        let decoder = self.word_decoder::<W>()?;
        if let Wanted::Rows(positions) = wanted
            && !wanted.worth_all()
        {
            for row in positions {
                out.push(value(decoder.get(usize::from(*row))?));
            }
            return Ok(());
        }
        let words = room.get_or_insert_with(|| Box::new([W::low(0); VECTOR_ROWS]));
        if decoder.decode_into(words)? != self.rows {
            return Err(self.view.damage(0, "a vector has another number of values than of rows"));
        }
        match wanted {
            // Each is below the number of rows, so that the remainder is itself.
            Wanted::Rows(positions) => {
                let chosen = positions.iter().map(|row| words[usize::from(*row) % VECTOR_ROWS]);
                out.extend(chosen.map(value));
            }
            Wanted::All => out.extend(words[..self.rows].iter().map(|word| value(*word))),
        }
        Ok(())
    }
}
