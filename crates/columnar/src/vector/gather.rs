//! Rows of several vectors of one column as one array, without an array for each of them where values
//! are words.

use std::sync::Arc;

use arrow_array::types::{
    Date32Type, Decimal128Type, Int32Type, Int64Type, TimestampMicrosecondType,
};
use arrow_array::{Array, ArrayRef, PrimitiveArray, new_empty_array};
use arrow_buffer::NullBufferBuilder;
use types::LogicalType;

use super::Vector;
use super::read::Wanted;
use crate::class::stored_type;
use crate::error::{Error, Result};
use crate::words::Word;

/// An array in the making.
pub struct Gather {
    ty: LogicalType,
    values: Values,
    nulls: NullBufferBuilder,
}

enum Values {
    Words32(Vec<i32>),
    Words64(Vec<i64>),
    Decimals(Vec<i128>),
    /// What is not made of words.
    Arrays(Vec<ArrayRef>),
}

impl Gather {
    /// No rows of a column of type `ty`, with room for some.
    ///
    /// Errors: [`Error::Unsupported`] for types that are not stored.
    pub fn new(ty: LogicalType, rows: usize) -> Result<Gather> {
        let ty = stored_type(ty)?;
        let values = match ty {
            LogicalType::Int32 | LogicalType::Date => Values::Words32(Vec::with_capacity(rows)),
            LogicalType::Int64 | LogicalType::Timestamp | LogicalType::TimestampTz => {
                Values::Words64(Vec::with_capacity(rows))
            }
            LogicalType::Decimal { precision, .. } if precision <= 18 => {
                Values::Decimals(Vec::with_capacity(rows))
            }
            _ => Values::Arrays(vec![]),
        };
        Ok(Gather { ty, values, nulls: NullBufferBuilder::new(rows) })
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
            Values::Words32(values) => {
                vector.append_words(wanted, |word: u32| word.cast_signed(), values)?;
            }
            Values::Words64(values) => {
                vector.append_words(wanted, |word: u64| word.cast_signed(), values)?;
            }
            Values::Decimals(values) => {
                vector.append_words(wanted, |word: u64| word.cast_signed().into(), values)?;
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
        let ty = self.ty.arrow();
        macro_rules! array {
            ($t:ty, $values:expr) => {
                Arc::new(PrimitiveArray::<$t>::new($values.into(), nulls).with_data_type(ty))
            };
        }
        Ok(match self.values {
            Values::Words32(values) if self.ty == LogicalType::Date => array!(Date32Type, values),
            Values::Words32(values) => array!(Int32Type, values),
            Values::Words64(values) if self.ty == LogicalType::Int64 => array!(Int64Type, values),
            Values::Words64(values) => array!(TimestampMicrosecondType, values),
            Values::Decimals(values) => array!(Decimal128Type, values),
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
    ) -> Result<()> {
        if let Some(word) = self.constant_word() {
            let word = W::low(word.cast_unsigned());
            out.extend((0..wanted.count(self.rows)).map(|_| value(word)));
            return Ok(());
        }
        let decoder = self.word_decoder::<W>()?;
        match wanted {
            Wanted::Rows(positions) if !wanted.worth_all() => {
                for row in positions {
                    out.push(value(decoder.get(usize::from(*row))?));
                }
            }
            Wanted::Rows(positions) => {
                let words: Vec<W> = decoder.decode()?;
                out.extend(positions.iter().map(|row| value(words[usize::from(*row)])));
            }
            Wanted::All => out.extend(decoder.decode::<W>()?.into_iter().map(value)),
        }
        Ok(())
    }
}
