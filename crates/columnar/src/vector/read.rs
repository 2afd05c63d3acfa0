//! Values out of a vector: all of them at once, or each wanted row alone.

use arrow_array::ArrayRef;

use super::Vector;
use super::arrays::{Values, array_of};
use crate::bools;
use crate::class::Class;
use crate::encoding::Encoding;
use crate::error::Result;
use crate::fixed::Fixed;
use crate::floats::{FloatWord, Floats};
use crate::layout::VECTOR_ROWS;
use crate::strings::{Strings, Texts, TextsBuilder};
use crate::words::{Decoder, Word};

/// Rows that are looked up alone at most. So many take less than a whole decode where words are
/// packed or texts are symbols, more where words are differences (`cargo bench -p columnar`).
pub const ROWS_ALONE_MAX: usize = 16;

/// Which rows are wanted.
#[derive(Clone, Copy)]
pub(super) enum Wanted<'a> {
    All,
    Rows(&'a [u16]),
}

impl Wanted<'_> {
    /// Whether decoding all rows and choosing is faster than to get each.
    pub(super) fn worth_all(self) -> bool {
        match self {
            Wanted::All => true,
            Wanted::Rows(positions) => positions.len() > ROWS_ALONE_MAX,
        }
    }

    /// The wanted ones of values of all rows.
    fn choose<T: Copy>(self, values: Vec<T>) -> Vec<T> {
        match self {
            Wanted::All => values,
            Wanted::Rows(rows) => rows.iter().map(|row| values[usize::from(*row)]).collect(),
        }
    }

    pub(super) fn count(self, rows: usize) -> usize {
        match self {
            Wanted::All => rows,
            Wanted::Rows(positions) => positions.len(),
        }
    }

    /// Decodes all, or gets each row, whichever is faster.
    fn fetch<T: Copy>(
        self,
        decode: impl FnOnce() -> Result<Vec<T>>,
        get: impl Fn(usize) -> Result<T>,
    ) -> Result<Vec<T>> {
        match self {
            Wanted::Rows(positions) if !self.worth_all() => {
                positions.iter().map(|row| get(usize::from(*row))).collect()
            }
            _ => Ok(self.choose(decode()?)),
        }
    }
}

impl Vector<'_> {
    /// The wanted rows as an array.
    pub(super) fn read(&self, wanted: Wanted<'_>) -> Result<ArrayRef> {
        let nulls = match wanted {
            Wanted::All => self.nulls()?,
            Wanted::Rows(positions) => self.nulls_at(positions)?,
        };
        let values = self.values(wanted)?;
        array_of(self.column.ty, values, nulls).map_err(|reason| self.view.damage(0, reason))
    }

    fn values(&self, wanted: Wanted<'_>) -> Result<Values> {
        Ok(match Class::of(self.column.ty) {
            Class::Bits => Values::Bits(self.bits(wanted)?),
            Class::Words16 => Values::Words16(self.words(wanted)?),
            Class::Words32 => Values::Words32(self.words(wanted)?),
            Class::Words64 => Values::Words64(self.words(wanted)?),
            Class::Reals => Values::Words32(self.floats(wanted)?),
            Class::Doubles => Values::Words64(self.floats(wanted)?),
            Class::Decimals | Class::Fixed => Values::Bytes16(self.fixed(wanted)?),
            Class::WideDecimals => Values::Bytes32(self.fixed(wanted)?),
            Class::Strings => Values::Texts(self.strings(wanted)?),
        })
    }

    fn bits(&self, wanted: Wanted<'_>) -> Result<Vec<bool>> {
        let (at, rows) = (self.validity_len(), self.rows);
        if let Some(value) = self.constant_word() {
            return Ok(vec![value != 0; wanted.count(rows)]);
        }
        self.expect_plain()?;
        let decode = || {
            let mask = bools::decode(self.view, at, rows)?;
            Ok((0..rows).map(|row| mask.contains(row)).collect())
        };
        wanted.fetch(decode, |row| bools::get(self.view, at, row))
    }

    fn words<W: Word>(&self, wanted: Wanted<'_>) -> Result<Vec<W>> {
        if let Some(value) = self.constant_word() {
            return Ok(vec![W::low(value.cast_unsigned()); wanted.count(self.rows)]);
        }
        let decoder = self.word_decoder::<W>()?;
        wanted.fetch(|| decoder.decode(), |row| decoder.get(row))
    }

    pub(super) fn floats<W: FloatWord>(&self, wanted: Wanted<'_>) -> Result<Vec<W>> {
        if self.is_constant() {
            let value = if self.all_null() { W::low(0) } else { W::read(&self.view, self.at())? };
            return Ok(vec![value; wanted.count(self.rows)]);
        }
        let floats = self.float_decoder::<W>()?;
        wanted.fetch(|| floats.decode(), |row| floats.get(row))
    }

    pub(super) fn fixed<const N: usize>(&self, wanted: Wanted<'_>) -> Result<Vec<[u8; N]>> {
        if self.is_constant() {
            let value = if self.all_null() { [0; N] } else { self.view.array(self.at())? };
            return Ok(vec![value; wanted.count(self.rows)]);
        }
        let fixed = self.fixed_decoder(N)?;
        wanted.fetch(|| fixed.decode::<N>(), |row| fixed.get::<N>(row))
    }

    pub(super) fn strings(&self, wanted: Wanted<'_>) -> Result<Texts> {
        if self.is_constant() {
            let mut texts = TextsBuilder::default();
            texts.push(if self.all_null() { &[] } else { self.view.rest(self.at())? });
            return Ok(Texts { codes: Some(vec![0; wanted.count(self.rows)]), ..texts.finish() });
        }
        let strings = self.string_decoder()?;
        match wanted {
            Wanted::Rows(positions) => strings.choose(positions, !wanted.worth_all()),
            Wanted::All => strings.decode(),
        }
    }

    /// Where the payload begins.
    fn at(&self) -> usize {
        self.validity_len()
    }

    fn all_null(&self) -> bool {
        self.header.null_count == self.rows
    }

    pub(super) fn is_constant(&self) -> bool {
        self.header.encoding == Encoding::Constant || self.all_null()
    }

    /// The value of a constant vector of words or bits, which is in the header; 0 for nulls.
    pub(super) fn constant_word(&self) -> Option<i64> {
        let word = self.header.zone.map_or(0, |zone| zone.min as i64);
        self.is_constant().then_some(word)
    }

    pub(super) fn expect_plain(&self) -> Result<()> {
        match self.header.encoding {
            Encoding::Plain => Ok(()),
            _ => Err(self.view.damage(0, "an encoding that booleans do not have")),
        }
    }

    pub(super) fn word_decoder<W: Word>(&self) -> Result<Decoder<'_>> {
        Decoder::parse::<W>(self.view, self.at(), self.header.encoding, self.rows)
    }

    pub(super) fn float_decoder<W: FloatWord>(&self) -> Result<Floats<'_>> {
        Floats::parse::<W>(self.view, self.at(), self.header.encoding, self.rows)
    }

    pub(super) fn fixed_decoder(&self, width: usize) -> Result<Fixed<'_>> {
        let (encoding, rows) = (self.header.encoding, self.rows.min(VECTOR_ROWS));
        Fixed::parse(self.view, self.at(), encoding, (width, rows))
    }

    pub(super) fn string_decoder(&self) -> Result<Strings<'_>> {
        let (encoding, shared) = (self.header.encoding, &self.column.shared);
        Strings::parse(self.view, self.at(), encoding, self.rows, shared)
    }

    /// The booleans, as the rows in which they are true.
    pub(super) fn bit_mask(&self) -> Result<crate::mask::Mask> {
        self.expect_plain()?;
        bools::decode(self.view, self.at(), self.rows)
    }
}
