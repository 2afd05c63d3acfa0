//! Least and greatest value of a vector or a chunk, as numbers that grow with the value.
//!
//! One kind of number for all types makes one test for all (`docs/format/block.md`, section 3). As
//! in the papers (small materialised aggregates, Moerkotte 1998; AnyBlob, section 4.4), what cannot
//! qualify is not even read.

use arrow_array::Array;
use arrow_buffer::i256;
use types::LogicalType;

use crate::class::Class;
use crate::raw::Raw;

/// The bounds of some values that are not null, as zone keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Zone {
    /// Key of the least value.
    pub min: i128,
    /// Key of the greatest value.
    pub max: i128,
}

/// What bounds say of a restriction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// No row qualifies.
    None,
    /// Only the rows can tell.
    Some,
    /// Every row qualifies.
    All,
}

impl Zone {
    /// The bounds of both.
    #[must_use]
    pub fn union(self, other: Zone) -> Zone {
        Zone { min: self.min.min(other.min), max: self.max.max(other.max) }
    }

    /// The bounds of the values that are not null, if there are any and the type has an order.
    pub(crate) fn of(ty: LogicalType, array: &dyn Array, raw: &Raw<'_>) -> Option<Zone> {
        if !has_order(ty) {
            return None;
        }
        let nulls = array.logical_nulls();
        let valid = |row: usize| nulls.as_ref().is_none_or(|nulls| nulls.is_valid(row));
        let rows = (0..array.len()).filter(|&row| valid(row));
        match raw {
            Raw::Bits(v) => bounds(rows.map(|row| i128::from(v[row]))),
            Raw::Words16(v) => bounds(rows.map(|row| i128::from(v[row].cast_signed()))),
            Raw::Words32(v) => bounds(rows.map(|row| i128::from(v[row].cast_signed()))),
            Raw::Words64(v) => bounds(rows.map(|row| i128::from(v[row].cast_signed()))),
            Raw::Reals(v) => bounds(rows.map(|row| i128::from(real_key(v[row])))),
            Raw::Doubles(v) => bounds(rows.map(|row| i128::from(double_key(v[row])))),
            Raw::Decimals(v) => bounds(rows.map(|row| decimal_key(v[row]))),
            Raw::Fixed(v) => bounds(rows.map(|row| fixed_key(v[row]))),
            Raw::Strings(v) => bounds(rows.map(|row| i128::from(string_key(v[row])))),
        }
    }
}

/// Whether values of the type are compared in blocks.
pub(crate) fn has_order(ty: LogicalType) -> bool {
    !matches!(ty, LogicalType::Interval | LogicalType::Array(_))
}

/// Whether a range of values is the range of their keys, bounds included.
pub(crate) fn is_exact(ty: LogicalType) -> bool {
    !matches!(Class::of(ty), Class::Strings | Class::Fixed | Class::WideDecimals)
}

fn bounds(mut keys: impl Iterator<Item = i128>) -> Option<Zone> {
    let first = keys.next()?;
    let zone = Zone { min: first, max: first };
    Some(keys.fold(zone, |zone, key| zone.union(Zone { min: key, max: key })))
}

/// The key of a real's bits: that of the double that equals it.
pub(crate) fn real_key(bits: u32) -> i64 {
    double_key(f64::from(f32::from_bits(bits)).to_bits())
}

/// The key of a double's bits: the order of PostgreSQL, in which -0 equals 0, and NaN equals NaN and
/// is greater than all numbers.
#[inline]
pub(crate) fn double_key(bits: u64) -> i64 {
    let value = f64::from_bits(bits);
    let bits = if value.is_nan() { f64::NAN.to_bits() & (u64::MAX >> 1) } else { bits };
    let bits = if value == 0.0 { 0 } else { bits }.cast_signed();
    bits ^ ((bits >> 63).cast_unsigned() >> 1).cast_signed()
}

/// The key of an unscaled integer.
pub(crate) fn decimal_key(value: i256) -> i128 {
    let bound = if value.is_negative() { i128::MIN } else { i128::MAX };
    value.to_i128().unwrap_or(bound)
}

/// The key of a uuid.
pub(crate) fn fixed_key(bytes: [u8; 16]) -> i128 {
    (u128::from_be_bytes(bytes) ^ (1 << 127)).cast_signed()
}

/// The key of a string: its first eight bytes.
pub(crate) fn string_key(bytes: &[u8]) -> i64 {
    let mut first = [0; 8];
    let len = bytes.len().min(8);
    first[..len].copy_from_slice(&bytes[..len]);
    (u64::from_be_bytes(first) ^ (1 << 63)).cast_signed()
}
