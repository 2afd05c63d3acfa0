//! What a type is stored as: its number in the header, its class, the width of its zone keys.

use types::LogicalType;

use crate::error::{Error, Result};

/// Decimals of at most this precision fit a word of 64 bits.
pub const NARROW_DIGITS_MAX: u8 = 18;

/// How the values of a type are stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Class {
    Bits,
    Words16,
    Words32,
    Words64,
    Reals,
    Doubles,
    /// Decimals of 16 bytes.
    Decimals,
    /// Decimals of 32 bytes.
    WideDecimals,
    /// Values of 16 bytes without arithmetic.
    Fixed,
    Strings,
}

impl Class {
    /// The class of a type that [`stored_type`] has accepted.
    pub fn of(ty: LogicalType) -> Class {
        match ty {
            LogicalType::Bool => Class::Bits,
            LogicalType::Int16 => Class::Words16,
            LogicalType::Int32 | LogicalType::Date => Class::Words32,
            LogicalType::Float32 => Class::Reals,
            LogicalType::Float64 => Class::Doubles,
            LogicalType::Decimal { precision, .. } if precision <= NARROW_DIGITS_MAX => {
                Class::Words64
            }
            LogicalType::Decimal { .. } => Class::Decimals,
            LogicalType::Numeric => Class::WideDecimals,
            LogicalType::Uuid | LogicalType::Interval => Class::Fixed,
            LogicalType::Text | LogicalType::Bytea | LogicalType::Array(_) => Class::Strings,
            _ => Class::Words64,
        }
    }

    /// Bytes of a zone key.
    pub fn zone_bytes(self) -> usize {
        match self {
            Class::Decimals | Class::WideDecimals | Class::Fixed => 16,
            _ => 8,
        }
    }
}

/// The type without what is not stored: limits of lengths and of digits of times.
///
/// Errors: [`Error::Unsupported`] for arrays of arrays.
pub(crate) fn stored_type(ty: LogicalType) -> Result<LogicalType> {
    match ty.plain() {
        LogicalType::Varchar(_) | LogicalType::Char(_) => Ok(LogicalType::Text),
        LogicalType::Array(LogicalType::Array(_)) => Err(Error::Unsupported(format!("type {ty}"))),
        LogicalType::Array(element) => Ok(stored_type(*element)?.array_of()),
        plain => Ok(plain),
    }
}

/// Number, precision and scale of a stored type.
pub(crate) fn type_number(ty: LogicalType) -> [u8; 3] {
    if let LogicalType::Decimal { precision, scale } = ty {
        let number = if precision <= NARROW_DIGITS_MAX { 10 } else { 11 };
        return [number, precision, scale.cast_unsigned()];
    }
    if let LogicalType::Array(element) = ty {
        let [number, precision, scale] = type_number(*element);
        return [number | ARRAY, precision, scale];
    }
    let known = NUMBERS.iter().find(|(_, known)| *known == ty);
    [known.expect("a stored type has a number").0, 0, 0]
}

/// The type with that number, if the three bytes are one.
pub(crate) fn type_of_number([number, precision, scale]: [u8; 3]) -> Option<LogicalType> {
    if number & ARRAY != 0 {
        let element = type_of_number([number & !ARRAY, precision, scale])?;
        return Some(element.array_of());
    }
    let ty = match number {
        10 | 11 => LogicalType::Decimal { precision, scale: scale.cast_signed() },
        _ => NUMBERS.iter().find(|(known, _)| *known == number)?.1,
    };
    let digits_fit = match ty {
        LogicalType::Decimal { precision, scale } => {
            (1..=38).contains(&precision) && scale.unsigned_abs() <= 38
        }
        _ => true,
    };
    let fits = digits_fit && type_number(ty) == [number, precision, scale];
    fits.then_some(ty)
}

/// Makes the number of an array of its element's.
const ARRAY: u8 = 1 << 7;

const NUMBERS: [(u8, LogicalType); 16] = [
    (1, LogicalType::Bool),
    (2, LogicalType::Int16),
    (3, LogicalType::Int32),
    (4, LogicalType::Date),
    (5, LogicalType::Int64),
    (6, LogicalType::Time),
    (7, LogicalType::Timestamp),
    (8, LogicalType::TimestampTz),
    (9, LogicalType::Oid),
    (12, LogicalType::Numeric),
    (13, LogicalType::Float32),
    (14, LogicalType::Float64),
    (15, LogicalType::Uuid),
    (16, LogicalType::Interval),
    (17, LogicalType::Text),
    (18, LogicalType::Bytea),
];
