//! Types as PostgreSQL numbers them (its `pg_type.dat`).

use crate::blanks::is_blank;
use crate::logical::{ANY_LENGTH, LogicalType};
use crate::moment::Moment;
use arrow_schema::{DataType, IntervalUnit};

/// A type in a row description.
pub struct WireType {
    /// Its number.
    pub oid: u32,
    /// Bytes of a value, -1 if they vary.
    pub size: i16,
    /// `atttypmod`: precision and scale of a numeric; -1 for none.
    pub modifier: i32,
}

/// `boolean`
pub const BOOL: u32 = 16;
/// `bytea`
pub const BYTEA: u32 = 17;
/// `"char"`, one byte of text
pub const CHAR: u32 = 18;
/// `name`
pub const NAME: u32 = 19;
/// `bigint`
pub const INT8: u32 = 20;
/// `smallint`
pub const INT2: u32 = 21;
/// `integer`
pub const INT4: u32 = 23;
/// `text`
pub const TEXT: u32 = 25;
/// `regproc`: a function
pub const REGPROC: u32 = 24;
/// `oid`
pub const OID: u32 = 26;
/// `xid`: a transaction
pub const XID: u32 = 28;
/// `json`, which only functions of the catalog give
pub const JSON: u32 = 114;
/// `real`
pub const FLOAT4: u32 = 700;
/// `double precision`
pub const FLOAT8: u32 = 701;
/// A literal whose type is still open.
pub const UNKNOWN: u32 = 705;
/// `character`
pub const BPCHAR: u32 = 1042;
/// `character varying`
pub const VARCHAR: u32 = 1043;
/// `date`
pub const DATE: u32 = 1082;
/// `time`
pub const TIME: u32 = 1083;
/// `timestamp`
pub const TIMESTAMP: u32 = 1114;
/// `timestamp with time zone`
pub const TIMESTAMPTZ: u32 = 1184;
/// `interval`
pub const INTERVAL: u32 = 1186;
/// `numeric`
pub const NUMERIC: u32 = 1700;
/// `regclass`: a relation
pub const REGCLASS: u32 = 2205;
/// `regtype`: a type
pub const REGTYPE: u32 = 2206;
/// `void`: nothing, where a function must have a type
pub const VOID: u32 = 2278;
/// `uuid`
pub const UUID: u32 = 2950;

/// The types of arrays, with those of their elements.
const ARRAYS: [(u32, u32); 20] = [
    (1000, BOOL),
    (1001, BYTEA),
    (1002, CHAR),
    (1003, NAME),
    (1005, INT2),
    (1007, INT4),
    (1009, TEXT),
    (1014, BPCHAR),
    (1015, VARCHAR),
    (1016, INT8),
    (1021, FLOAT4),
    (1022, FLOAT8),
    (1028, OID),
    (1115, TIMESTAMP),
    (1182, DATE),
    (1183, TIME),
    (1185, TIMESTAMPTZ),
    (1187, INTERVAL),
    (1231, NUMERIC),
    (2951, UUID),
];

/// Whether it is the type of an array.
pub fn is_array(oid: u32) -> bool {
    ARRAYS.iter().any(|(array, _)| *array == oid)
}

/// The type of arrays of these elements.
pub fn array_of(element: u32) -> Option<u32> {
    ARRAYS.iter().find(|(_, e)| *e == element).map(|(array, _)| *array)
}

/// The type of the elements of such arrays.
pub fn element_of(array: u32) -> Option<u32> {
    ARRAYS.iter().find(|(a, _)| *a == array).map(|(_, element)| *element)
}

/// Bytes of the header that PostgreSQL counts into a type modifier.
const VARHDRSZ: i32 = 4;

/// How many characters the modifier of a text allows; `None` where it has no limit.
pub fn characters(modifier: i32) -> Option<u32> {
    u32::try_from(modifier.checked_sub(VARHDRSZ)?).ok()
}

/// Bytes of a value of a type that is `text` or `oid` here; -1 if they vary.
pub fn size(oid: u32) -> i16 {
    match oid {
        CHAR => 1,
        NAME => 64,
        REGPROC | OID | XID | REGCLASS | REGTYPE | VOID => 4,
        _ => -1,
    }
}

/// The type of a vector.
pub fn of(ty: &DataType) -> WireType {
    let fixed = |oid, size| WireType { oid, size, modifier: -1 };
    match ty {
        DataType::Boolean => fixed(BOOL, 1),
        DataType::Int8 | DataType::Int16 | DataType::UInt8 => fixed(INT2, 2),
        DataType::Int32 | DataType::UInt16 => fixed(INT4, 4),
        DataType::Int64 | DataType::UInt64 => fixed(INT8, 8),
        DataType::UInt32 => fixed(OID, 4),
        DataType::Float32 => fixed(FLOAT4, 4),
        DataType::Float64 => fixed(FLOAT8, 8),
        DataType::Decimal128(precision, scale) => {
            let modifier = (i32::from(*precision) << 16 | i32::from(*scale)) + VARHDRSZ;
            WireType { oid: NUMERIC, size: -1, modifier }
        }
        DataType::Decimal256(..) => fixed(NUMERIC, -1),
        DataType::Date32 => fixed(DATE, 4),
        DataType::Time64(_) => fixed(TIME, 8),
        DataType::Timestamp(_, None) => fixed(TIMESTAMP, 8),
        DataType::Timestamp(_, Some(_)) => fixed(TIMESTAMPTZ, 8),
        DataType::Interval(IntervalUnit::MonthDayNano) => fixed(INTERVAL, 16),
        DataType::Binary | DataType::BinaryView | DataType::LargeBinary => fixed(BYTEA, -1),
        DataType::FixedSizeBinary(16) => fixed(UUID, 16),
        DataType::List(field) => {
            // An array of arrays has the type of the inner ones: dimensions are no part of it.
            if let DataType::List(_) = field.data_type() {
                return of(field.data_type());
            }
            let element = of(field.data_type()).oid;
            let array = ARRAYS.iter().find(|(_, e)| *e == element);
            fixed(array.map_or(TEXT, |(array, _)| *array), -1)
        }
        _ => fixed(TEXT, -1),
    }
}

/// `atttypmod` of times with so many digits; that of an interval says besides that it has all fields.
pub fn moment_modifier(moment: Moment, digits: u8) -> i32 {
    match moment {
        Moment::Interval => 0x7fff << 16 | i32::from(digits),
        _ => i32::from(digits),
    }
}

/// The type of a column, with its length or precision.
pub fn of_logical(ty: LogicalType) -> WireType {
    let text = |oid, length: u32| {
        let modifier = i32::try_from(length).unwrap_or(i32::MAX - VARHDRSZ) + VARHDRSZ;
        WireType { oid, size: -1, modifier }
    };
    match ty {
        LogicalType::Varchar(ANY_LENGTH) => WireType { oid: VARCHAR, size: -1, modifier: -1 },
        LogicalType::Varchar(length) => text(VARCHAR, length),
        LogicalType::Char(length) => text(BPCHAR, length),
        LogicalType::Rounded(moment, digits) => {
            WireType { modifier: moment_modifier(moment, digits), ..of(&ty.arrow()) }
        }
        LogicalType::Array(element) => {
            let WireType { oid, modifier, .. } = of_logical(*element);
            // An array of arrays has the type of the inner ones.
            let array = if is_array(oid) { Some(oid) } else { array_of(oid) };
            WireType { oid: array.unwrap_or(TEXT), size: -1, modifier }
        }
        other => of(&other.arrow()),
    }
}

/// How many digits a number has behind the point, once its exponent is gone: two of `1e-2`.
fn fraction_digits(number: &str) -> usize {
    let (mantissa, exponent) = number.split_once(['e', 'E']).unwrap_or((number, "0"));
    let digits =
        mantissa.split_once('.').map_or(0, |(_, digits)| digits.trim_end_matches(is_blank).len());
    let exponent: i64 = exponent.trim_end_matches(is_blank).parse().unwrap_or(0);
    (digits as i64).saturating_sub(exponent).max(0) as usize
}

/// The type that a parameter of type `oid` has here, for the text `value`; `None` is an unknown
/// literal.
pub fn parameter(oid: u32, value: Option<&str>) -> Option<LogicalType> {
    Some(match oid {
        BOOL => LogicalType::Bool,
        INT2 => LogicalType::Int16,
        INT4 => LogicalType::Int32,
        INT8 => LogicalType::Int64,
        OID => LogicalType::Oid,
        FLOAT4 => LogicalType::Float32,
        FLOAT8 => LogicalType::Float64,
        TEXT | VARCHAR | BPCHAR | NAME | CHAR => LogicalType::Text,
        DATE => LogicalType::Date,
        TIMESTAMP => LogicalType::Timestamp,
        TIMESTAMPTZ => LogicalType::TimestampTz,
        TIME => LogicalType::Time,
        INTERVAL => LogicalType::Interval,
        BYTEA => LogicalType::Bytea,
        UUID => LogicalType::Uuid,
        NUMERIC => {
            let digits = value.map_or(0, fraction_digits);
            LogicalType::Decimal { precision: 38, scale: digits.min(38) as i8 }
        }
        array => {
            let (_, element) = ARRAYS.iter().find(|(a, _)| *a == array)?;
            match *element {
                // How many digits the elements have is not known here.
                NUMERIC => LogicalType::Numeric.array_of(),
                element => parameter(element, None)?.array_of(),
            }
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_numeric_parameter_has_the_digits_that_its_exponent_leaves() {
        for (number, scale) in [
            ("12", 0),
            ("1.50", 2),
            ("1e-2", 2),
            ("1.5E-3", 4),
            ("1.25e1", 1),
            ("1e5", 0),
            ("NaN", 0),
        ] {
            let expected = LogicalType::Decimal { precision: 38, scale };
            assert_eq!(parameter(NUMERIC, Some(number)), Some(expected), "{number}");
        }
    }
}
