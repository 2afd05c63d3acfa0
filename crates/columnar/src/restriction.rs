//! Restrictions: a column compared with a constant, in the form in which encoded values answer it.
//!
//! Each comparison is whether a value lies in a range, or outside of it; that is one test for words,
//! one for decimals and one for strings.

use std::ops::{Bound, RangeBounds};

use arrow_array::Array;
use arrow_buffer::i256;
use types::LogicalType;

use crate::class::stored_type;
use crate::error::{Error, Result};
use crate::raw::{Raw, check_digits};
use crate::zone::{
    Verdict, Zone, decimal_key, double_key, fixed_key, has_order, is_exact, real_key, string_key,
};

/// How a value is compared with the constant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Comparison {
    /// `=`
    Equal,
    /// `<>`
    NotEqual,
    /// `<`
    Less,
    /// `<=`
    LessOrEqual,
    /// `>`
    Greater,
    /// `>=`
    GreaterOrEqual,
}

/// Whether a row of a column qualifies. Nulls never do, except where they are asked for.
#[derive(Clone, Debug)]
pub struct Restriction {
    ty: LogicalType,
    pub(crate) test: Test,
}

#[derive(Clone, Debug)]
pub(crate) enum Test {
    /// Null is compared: no row qualifies.
    Never,
    IsNull,
    IsNotNull,
    Range {
        range: Range,
        /// Whether the values outside of the range qualify.
        negated: bool,
        /// The zone keys of the range's bounds.
        keys: Zone,
    },
}

/// A range of values, by class.
#[derive(Clone, Debug)]
pub(crate) enum Range {
    /// Words, bits, and keys of reals and doubles; both bounds belong to the range.
    Words(i64, i64),
    Decimals(i256, i256),
    /// Strings, and uuids as theirs.
    Bytes(Bound<Vec<u8>>, Bound<Vec<u8>>),
}

impl Restriction {
    /// `column comparison constant`, for a column of type `ty`; `constant` is an array of one row
    /// of that type.
    ///
    /// Errors: [`Error::Unsupported`] for types without an order (intervals, arrays),
    /// [`Error::Mismatch`] for a constant of another type or number of rows.
    pub fn new(ty: LogicalType, comparison: Comparison, constant: &dyn Array) -> Result<Self> {
        let ty = stored_type(ty)?;
        if !has_order(ty) {
            return Err(Error::Unsupported(format!("comparison of {ty}")));
        }
        if constant.len() != 1 {
            return Err(Error::Mismatch(format!("a constant of {} rows", constant.len())));
        }
        let raw = Raw::of(ty, constant)?;
        check_digits(ty, constant)?;
        if constant.is_null(0) {
            return Ok(Restriction { ty, test: Test::Never });
        }
        Ok(Restriction { ty, test: range_test(comparison, &raw) })
    }

    /// `column is null`.
    pub fn is_null(ty: LogicalType) -> Result<Restriction> {
        Ok(Restriction { ty: stored_type(ty)?, test: Test::IsNull })
    }

    /// `column is not null`.
    pub fn is_not_null(ty: LogicalType) -> Result<Restriction> {
        Ok(Restriction { ty: stored_type(ty)?, test: Test::IsNotNull })
    }

    /// The type, as it is stored.
    pub(crate) fn ty(&self) -> LogicalType {
        self.ty
    }

    /// What the bounds of `rows` rows with `null_count` nulls say.
    pub fn verdict(&self, rows: usize, null_count: usize, zone: Option<Zone>) -> Verdict {
        let all_unless_null = if null_count == 0 { Verdict::All } else { Verdict::Some };
        match &self.test {
            Test::Never => Verdict::None,
            Test::IsNull if null_count == 0 => Verdict::None,
            Test::IsNotNull | Test::Range { .. } if null_count == rows => Verdict::None,
            Test::IsNull if null_count == rows => Verdict::All,
            Test::IsNull => Verdict::Some,
            Test::IsNotNull => all_unless_null,
            Test::Range { negated, keys, .. } => {
                let Some(zone) = zone else { return Verdict::Some };
                match (self.place(*keys, zone), negated) {
                    (Place::Outside, false) | (Place::Inside, true) => Verdict::None,
                    (Place::Outside, true) | (Place::Inside, false) => all_unless_null,
                    (Place::Across, _) => Verdict::Some,
                }
            }
        }
    }

    /// Where the values lie of which `zone` has the bounds.
    fn place(&self, keys: Zone, zone: Zone) -> Place {
        let inside = match is_exact(self.ty) {
            true => keys.min <= zone.min && zone.max <= keys.max,
            false => keys.min < zone.min && zone.max < keys.max,
        };
        if zone.max < keys.min || zone.min > keys.max {
            Place::Outside
        } else if inside {
            Place::Inside
        } else {
            Place::Across
        }
    }
}

enum Place {
    Outside,
    Inside,
    Across,
}

impl Range {
    pub fn has_word(&self, word: i64) -> bool {
        matches!(self, Range::Words(least, greatest) if (*least..=*greatest).contains(&word))
    }

    pub fn has_decimal(&self, value: i256) -> bool {
        matches!(self, Range::Decimals(least, greatest) if *least <= value && value <= *greatest)
    }

    pub fn has_bytes(&self, bytes: &[u8]) -> bool {
        let Range::Bytes(least, greatest) = self else { return false };
        let range = (least.as_ref().map(Vec::as_slice), greatest.as_ref().map(Vec::as_slice));
        RangeBounds::<[u8]>::contains(&range, bytes)
    }
}

fn range_test(comparison: Comparison, raw: &Raw<'_>) -> Test {
    let negated = comparison == Comparison::NotEqual;
    let words = |key: i64| match words_range(comparison, key) {
        Some((least, greatest)) => {
            let keys = Zone { min: least.into(), max: greatest.into() };
            Test::Range { range: Range::Words(least, greatest), negated, keys }
        }
        None => Test::Never,
    };
    match raw {
        Raw::Bits(v) => words(v[0].into()),
        Raw::Words16(v) => words(v[0].cast_signed().into()),
        Raw::Words32(v) => words(v[0].cast_signed().into()),
        Raw::Words64(v) => words(v[0].cast_signed()),
        Raw::Reals(v) => words(real_key(v[0])),
        Raw::Doubles(v) => words(double_key(v[0])),
        Raw::Decimals(v) => decimals_test(comparison, v[0]),
        Raw::Fixed(v) => bytes_test(comparison, &v[0], fixed_key(v[0])),
        Raw::Strings(v) => bytes_test(comparison, v[0], string_key(v[0]).into()),
    }
}

fn words_range(comparison: Comparison, key: i64) -> Option<(i64, i64)> {
    Some(match comparison {
        Comparison::Equal | Comparison::NotEqual => (key, key),
        Comparison::Less => (i64::MIN, key.checked_sub(1)?),
        Comparison::LessOrEqual => (i64::MIN, key),
        Comparison::Greater => (key.checked_add(1)?, i64::MAX),
        Comparison::GreaterOrEqual => (key, i64::MAX),
    })
}

fn decimals_test(comparison: Comparison, value: i256) -> Test {
    let range = match comparison {
        Comparison::Equal | Comparison::NotEqual => Some((value, value)),
        Comparison::Less => value.checked_sub(i256::ONE).map(|value| (i256::MIN, value)),
        Comparison::LessOrEqual => Some((i256::MIN, value)),
        Comparison::Greater => value.checked_add(i256::ONE).map(|value| (value, i256::MAX)),
        Comparison::GreaterOrEqual => Some((value, i256::MAX)),
    };
    let Some((least, greatest)) = range else { return Test::Never };
    let keys = Zone { min: decimal_key(least), max: decimal_key(greatest) };
    let negated = comparison == Comparison::NotEqual;
    Test::Range { range: Range::Decimals(least, greatest), negated, keys }
}

fn bytes_test(comparison: Comparison, bytes: &[u8], key: i128) -> Test {
    let (with, without) = (Bound::Included(bytes.to_vec()), Bound::Excluded(bytes.to_vec()));
    let (least, greatest) = match comparison {
        Comparison::Equal | Comparison::NotEqual => (with.clone(), with),
        Comparison::Less => (Bound::Unbounded, without),
        Comparison::LessOrEqual => (Bound::Unbounded, with),
        Comparison::Greater => (without, Bound::Unbounded),
        Comparison::GreaterOrEqual => (with, Bound::Unbounded),
    };
    let min = if least == Bound::Unbounded { i128::MIN } else { key };
    let max = if greatest == Bound::Unbounded { i128::MAX } else { key };
    let negated = comparison == Comparison::NotEqual;
    Test::Range { range: Range::Bytes(least, greatest), negated, keys: Zone { min, max } }
}

/// The words whose products with `10^exponent` lie in a range of decimals, or `None` if none do.
pub(crate) fn words_of_decimals(range: &Range, power: i256) -> Option<(i64, i64)> {
    let Range::Decimals(least, greatest) = range else { return None };
    let (first, last) = (ceiling(*least, power), floor(*greatest, power));
    let (min, max) = (i256::from(i64::MIN), i256::from(i64::MAX));
    if first > max || last < min || first > last {
        return None;
    }
    let word = |value: i256| value.clamp(min, max).to_i128().and_then(|v| i64::try_from(v).ok());
    Some((word(first)?, word(last)?))
}

fn floor(value: i256, power: i256) -> i256 {
    let quotient = value.wrapping_div(power);
    let exact = value.wrapping_rem(power) == i256::ZERO;
    if value.is_negative() && !exact { quotient.wrapping_sub(i256::ONE) } else { quotient }
}

fn ceiling(value: i256, power: i256) -> i256 {
    let quotient = value.wrapping_div(power);
    let exact = value.wrapping_rem(power) == i256::ZERO;
    if value.is_negative() || exact { quotient } else { quotient.wrapping_add(i256::ONE) }
}
