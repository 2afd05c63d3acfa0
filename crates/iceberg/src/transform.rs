//! Partition transforms: what the partition of a row says of a column's value.

use crate::schema::Type;
use crate::value::Value;

/// Microseconds of an hour and of a day.
const HOUR_US: i64 = 3_600_000_000;
const DAY_US: i64 = 24 * HOUR_US;

/// How the value of a partition comes from that of a column.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Transform {
    /// It is the same.
    Identity,
    /// Its hash, by so many buckets.
    Bucket(u32),
    /// Cut to a multiple of a number, or to so many letters.
    Truncate(u32),
    /// Years since 1970.
    Year,
    /// Months since 1970.
    Month,
    /// Days since 1970.
    Day,
    /// Hours since 1970.
    Hour,
    /// Always null.
    Void,
    /// One that is not known, and says nothing.
    Unknown,
}

impl Transform {
    /// Reads a transform as specs name it.
    pub fn parse(text: &str) -> Transform {
        let number = |start: &str| {
            let digits = text.strip_prefix(start)?.strip_suffix(']')?;
            digits.parse().ok().filter(|number| *number > 0)
        };
        match text {
            "identity" => Transform::Identity,
            "year" => Transform::Year,
            "month" => Transform::Month,
            "day" => Transform::Day,
            "hour" => Transform::Hour,
            "void" => Transform::Void,
            _ => match (number("bucket["), number("truncate[")) {
                (Some(count), _) => Transform::Bucket(count),
                (_, Some(width)) => Transform::Truncate(width),
                _ => Transform::Unknown,
            },
        }
    }

    /// The type of what it makes of a value.
    pub(crate) fn result(&self, source: &Type) -> Type {
        match self {
            Transform::Identity | Transform::Truncate(_) | Transform::Void => source.clone(),
            // Stored as whole numbers, by some writers as dates.
            Transform::Bucket(_)
            | Transform::Year
            | Transform::Month
            | Transform::Day
            | Transform::Hour => Type::Int,
            Transform::Unknown => Type::Unreadable("of an unknown transform".to_owned()),
        }
    }

    /// The smallest and the largest value of a column of which a partition has this value; `None` where there is
    /// none, or it is not known.
    pub fn range(&self, source: &Type, value: &Value) -> (Option<Value>, Option<Value>) {
        match (self, value) {
            (Transform::Identity, value) => (Some(value.clone()), Some(value.clone())),
            (Transform::Truncate(width), value) => truncated(*width, value),
            (Transform::Year, Value::Int(years)) => self.period(source, i64::from(*years)),
            (Transform::Month, Value::Int(months)) => self.period(source, i64::from(*months)),
            (Transform::Day, Value::Int(days)) => self.period(source, i64::from(*days)),
            (Transform::Hour, Value::Int(hours)) => self.period(source, i64::from(*hours)),
            _ => (None, None),
        }
    }

    /// The moments of a period. Early writers have cut those before 1970 toward zero, so such a period may have
    /// moments of the one before it.
    fn period(&self, source: &Type, number: i64) -> (Option<Value>, Option<Value>) {
        let first = self.begin_us(if number <= 0 { number - 1 } else { number });
        let last = self.begin_us(number + 1).and_then(|end| end.checked_sub(1));
        let value = |us: i64| match source {
            Type::Date => i32::try_from(us.div_euclid(DAY_US)).ok().map(Value::Date),
            Type::Timestamp => Some(Value::Timestamp(us)),
            Type::TimestampTz => Some(Value::TimestampTz(us)),
            _ => None,
        };
        (first.and_then(value), last.and_then(value))
    }

    /// When a period begins, in microseconds since 1970; `None` where that is too far away.
    fn begin_us(&self, number: i64) -> Option<i64> {
        let days = match self {
            Transform::Hour => return number.checked_mul(HOUR_US),
            Transform::Year => days_before_month(number.checked_mul(12)?),
            Transform::Month => days_before_month(number),
            _ => number,
        };
        days.checked_mul(DAY_US)
    }

    /// The bucket that a value lies in; `None` for other transforms, and types that have no hash.
    pub fn bucket_of(&self, value: &Value) -> Option<i32> {
        let Transform::Bucket(count) = self else { return None };
        let hash = hash(value)? & i32::MAX as u32;
        i32::try_from(hash % count).ok()
    }
}

/// Days from 1970-01-01 to the first day of a month, which is counted from January of 1970.
fn days_before_month(months: i64) -> i64 {
    // The year begins in March, so that the day of a leap year is its last (Hinnant, days_from_civil).
    let (year, month) = (1970 + months.div_euclid(12), months.rem_euclid(12) + 1);
    let year = if month <= 2 { year - 1 } else { year };
    let era = year.div_euclid(400);
    let of_era = year - era * 400;
    let of_year = (153 * ((month + 9) % 12) + 2) / 5;
    era * 146_097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719_468
}

/// The values that are cut to this one.
fn truncated(width: u32, value: &Value) -> (Option<Value>, Option<Value>) {
    let width = i64::from(width) - 1;
    let upper = match value {
        Value::Int(value) => i32::try_from(i64::from(*value) + width).ok().map(Value::Int),
        Value::Long(value) => value.checked_add(width).map(Value::Long),
        Value::Decimal(value) => value.checked_add(width.into()).map(Value::Decimal),
        // What follows the letters is not known, nor is what follows bytes.
        Value::String(_) | Value::Binary(_) => None,
        _ => return (None, None),
    };
    (Some(value.clone()), upper)
}

/// The hash of the specification's appendix B.
fn hash(value: &Value) -> Option<u32> {
    Some(match value {
        Value::Int(value) | Value::Date(value) => murmur3(&i64::from(*value).to_le_bytes()),
        Value::Long(value)
        | Value::Time(value)
        | Value::Timestamp(value)
        | Value::TimestampTz(value) => murmur3(&value.to_le_bytes()),
        Value::Decimal(value) => murmur3(shortest(&value.to_be_bytes())),
        Value::String(value) => murmur3(value.as_bytes()),
        Value::Uuid(value) => murmur3(value),
        Value::Binary(value) => murmur3(value),
        Value::Boolean(_) | Value::Float(_) | Value::Double(_) => return None,
    })
}

/// A number in two's complement without bytes that say nothing, the highest first.
fn shortest(bytes: &[u8]) -> &[u8] {
    let says_nothing =
        |pair: &[u8]| (pair[0] == 0 && pair[1] < 0x80) || (pair[0] == 0xff && pair[1] >= 0x80);
    let fill = bytes.windows(2).take_while(|pair| says_nothing(pair)).count();
    &bytes[fill..]
}

/// MurmurHash3 of 32 bits for x86, with the seed 0 (Appleby).
fn murmur3(bytes: &[u8]) -> u32 {
    let mixed =
        |word: u32| word.wrapping_mul(0xcc9e_2d51).rotate_left(15).wrapping_mul(0x1b87_3593);
    let (words, rest) = bytes.as_chunks::<4>();
    let mut hash = 0u32;
    for word in words {
        hash = (hash ^ mixed(u32::from_le_bytes(*word))).rotate_left(13);
        hash = hash.wrapping_mul(5).wrapping_add(0xe654_6b64);
    }
    let mut last = [0; 4];
    last[..rest.len()].copy_from_slice(rest);
    hash ^= mixed(u32::from_le_bytes(last));
    hash ^= bytes.len() as u32;
    hash = (hash ^ (hash >> 16)).wrapping_mul(0x85eb_ca6b);
    hash = (hash ^ (hash >> 13)).wrapping_mul(0xc2b2_ae35);
    hash ^ (hash >> 16)
}

#[cfg(test)]
mod tests;
