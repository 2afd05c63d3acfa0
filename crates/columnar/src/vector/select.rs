//! Which rows of a vector qualify: bounds first, then the encoded values, decoded only where their
//! encoding does not answer.

use super::Vector;
use super::read::Wanted;
use crate::class::Class;
use crate::error::{Error, Result};
use crate::fixed::decimal_of;
use crate::floats::FloatWord;
use crate::mask::Mask;
use crate::restriction::{Range, Restriction, Test};
use crate::zone::{Verdict, double_key, real_key};

pub(super) fn select(vector: &Vector<'_>, restriction: &Restriction, among: &Mask) -> Result<Mask> {
    let (found, wanted) = (vector.column.ty, restriction.ty());
    if found != wanted {
        return Err(Error::Mismatch(format!("a restriction on {wanted} for a column of {found}")));
    }
    let among = among.and(&Mask::first(vector.rows));
    let header = vector.header;
    match restriction.verdict(vector.rows, header.null_count, header.zone) {
        Verdict::None => return Ok(Mask::NONE),
        Verdict::All => return Ok(among),
        Verdict::Some if among.is_empty() => return Ok(among),
        Verdict::Some => {}
    }
    let valid = vector.validity()?.unwrap_or(Mask::first(vector.rows));
    match &restriction.test {
        Test::Never => Ok(Mask::NONE),
        Test::IsNull => Ok(among.and_not(&valid)),
        Test::IsNotNull => Ok(among.and(&valid)),
        Test::Range { range, negated, .. } => {
            let inside = vector.in_range(range)?;
            let among = among.and(&valid);
            Ok(if *negated { among.and_not(&inside) } else { among.and(&inside) })
        }
    }
}

impl Vector<'_> {
    /// The rows whose value is in the range; nulls are in it or not.
    fn in_range(&self, range: &Range) -> Result<Mask> {
        let class = Class::of(self.column.ty);
        match (class, range) {
            (Class::Bits, Range::Words(..)) => self.bits_in_range(range),
            (Class::Words16, Range::Words(least, greatest)) if !self.is_constant() => {
                self.word_decoder::<u16>()?.in_range::<u16>(*least, *greatest)
            }
            (Class::Words32, Range::Words(least, greatest)) if !self.is_constant() => {
                self.word_decoder::<u32>()?.in_range::<u32>(*least, *greatest)
            }
            (Class::Words64, Range::Words(least, greatest)) if !self.is_constant() => {
                self.word_decoder::<u64>()?.in_range::<u64>(*least, *greatest)
            }
            (Class::Reals, _) => self.floats_in_range::<u32>(range, real_key),
            (Class::Doubles, _) => self.floats_in_range::<u64>(range, double_key),
            (Class::Decimals, _) => {
                self.fixed_in_range::<16>(range, |v| range.has_decimal(decimal_of(v)))
            }
            (Class::WideDecimals, _) => {
                self.fixed_in_range::<32>(range, |v| range.has_decimal(decimal_of(v)))
            }
            (Class::Fixed, _) => self.fixed_in_range::<16>(range, |v| range.has_bytes(v)),
            (Class::Strings, _) => self.strings_in_range(range),
            _ => self.constant_in_range(range),
        }
    }

    /// The value of constant words is their zone.
    fn constant_in_range(&self, range: &Range) -> Result<Mask> {
        let word = self.header.zone.map_or(0, |zone| zone.min as i64);
        Ok(self.all_if(range.has_word(word)))
    }

    fn bits_in_range(&self, range: &Range) -> Result<Mask> {
        if self.is_constant() {
            return self.constant_in_range(range);
        }
        let (all, ones) = (Mask::first(self.rows), self.bit_mask()?);
        let ones_wanted = if range.has_word(1) { ones } else { Mask::NONE };
        let zeros_wanted = if range.has_word(0) { all.and_not(&ones) } else { Mask::NONE };
        Ok(ones_wanted.or(&zeros_wanted))
    }

    fn floats_in_range<W: FloatWord>(&self, range: &Range, key: impl Fn(W) -> i64) -> Result<Mask> {
        let values: Vec<W> = self.floats(Wanted::All)?;
        let keys: Vec<u64> = values.into_iter().map(|word| key(word).cast_unsigned()).collect();
        let Range::Words(least, greatest) = range else { return Ok(Mask::NONE) };
        Ok(crate::words::in_signed_range(&keys, *least, *greatest))
    }

    fn fixed_in_range<const N: usize>(
        &self,
        range: &Range,
        contains: impl Fn(&[u8; N]) -> bool,
    ) -> Result<Mask> {
        if self.is_constant() {
            return Ok(self.all_if(contains(&self.fixed::<N>(Wanted::Rows(&[0]))?[0])));
        }
        self.fixed_decoder(N)?.in_range::<N>(range, contains)
    }

    fn strings_in_range(&self, range: &Range) -> Result<Mask> {
        if self.is_constant() {
            let texts = self.strings(Wanted::Rows(&[0]))?;
            return Ok(self.all_if(range.has_bytes(texts.get(0))));
        }
        self.string_decoder()?.matching(|bytes| range.has_bytes(bytes))
    }

    fn all_if(&self, condition: bool) -> Mask {
        if condition { Mask::first(self.rows) } else { Mask::NONE }
    }
}
