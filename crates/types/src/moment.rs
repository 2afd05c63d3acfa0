//! Times that are kept with fewer digits than microseconds: `timestamp(3)`, `time(0)`, `interval(2)`.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{
    IntervalMonthDayNano, IntervalMonthDayNanoType, Time64MicrosecondType, TimestampMicrosecondType,
};
use arrow_array::{Array, ArrayRef, ListArray};
use arrow_schema::DataType;

use crate::datetime::infinite::is_finite;
use crate::logical::LogicalType;

/// The kind of a time of which fewer digits are kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Moment {
    /// `timestamp(p)`
    Timestamp,
    /// `timestamptz(p)`
    TimestampTz,
    /// `time(p)`
    Time,
    /// `interval(p)`
    Interval,
}

/// Digits of a fraction of a second that all times have.
pub const DIGITS_MAX: u8 = 6;

/// Microseconds from 1970 to 2000, from where PostgreSQL counts: what lies in the middle is rounded away
/// from there.
const EPOCH_2000: i64 = 946_684_800_000_000;

impl Moment {
    /// The type with all digits.
    pub fn plain(self) -> LogicalType {
        match self {
            Moment::Timestamp => LogicalType::Timestamp,
            Moment::TimestampTz => LogicalType::TimestampTz,
            Moment::Time => LogicalType::Time,
            Moment::Interval => LogicalType::Interval,
        }
    }

    /// The type with so many digits; more than there are mean all of them.
    pub fn with_digits(self, digits: u8) -> LogicalType {
        LogicalType::Rounded(self, digits.min(DIGITS_MAX))
    }

    /// The type's name in SQL.
    pub(crate) fn name(self, digits: u8) -> String {
        match self {
            Moment::Timestamp => format!("timestamp({digits}) without time zone"),
            Moment::TimestampTz => format!("timestamp({digits}) with time zone"),
            Moment::Time => format!("time({digits}) without time zone"),
            Moment::Interval => format!("interval({digits})"),
        }
    }
}

/// Times, or those in arrays, rounded to so many digits of a second; other vectors as they are.
pub fn rounded(array: &ArrayRef, digits: u8) -> ArrayRef {
    let unit = 10i64.pow(u32::from(DIGITS_MAX.saturating_sub(digits)));
    match array.data_type() {
        DataType::Timestamp(..) => {
            let times = array.as_primitive::<TimestampMicrosecondType>();
            let ty = times.data_type().clone();
            let times = times.unary::<_, TimestampMicrosecondType>(|micros| match micros {
                micros if !is_finite(micros) => micros,
                micros => nearest(micros.wrapping_sub(EPOCH_2000), unit).wrapping_add(EPOCH_2000),
            });
            Arc::new(times.with_data_type(ty))
        }
        DataType::Time64(_) => {
            let times = array.as_primitive::<Time64MicrosecondType>();
            Arc::new(times.unary::<_, Time64MicrosecondType>(|micros| nearest(micros, unit)))
        }
        DataType::Interval(_) => {
            let spans = array.as_primitive::<IntervalMonthDayNanoType>();
            let round = |span: IntervalMonthDayNano| IntervalMonthDayNano {
                nanoseconds: nearest(span.nanoseconds / 1_000, unit).saturating_mul(1_000),
                ..span
            };
            Arc::new(spans.unary::<_, IntervalMonthDayNanoType>(round))
        }
        DataType::List(field) => {
            let lists = array.as_list::<i32>();
            let (offsets, nulls) = (lists.offsets().clone(), lists.nulls().cloned());
            let elements = rounded(lists.values(), digits);
            Arc::new(ListArray::new(Arc::clone(field), offsets, elements, nulls))
        }
        _ => Arc::clone(array),
    }
}

/// The multiple of a unit that is nearest; of two the one further from zero.
fn nearest(value: i64, unit: i64) -> i64 {
    let half = if value < 0 { -(unit / 2) } else { unit / 2 };
    value.saturating_add(half) / unit * unit
}
