//! Intervals in the four styles of `IntervalStyle`, as PostgreSQL's `EncodeInterval` writes them.

use arrow_array::cast::AsArray;
use arrow_array::types::IntervalMonthDayNanoType;
use arrow_array::{Array, ArrayRef};
use arrow_schema::{DataType, IntervalUnit};

use super::written;
use crate::datetime::units::MICROS_PER_SECOND;

/// A text form of intervals.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum IntervalStyle {
    /// `1 year 2 mons 3 days 04:05:06`
    #[default]
    Postgres,
    /// `@ 1 year 2 mons 3 days 4 hours 5 mins 6 secs`
    PostgresVerbose,
    /// `+1-2 +3 +4:05:06`
    SqlStandard,
    /// `P1Y2M3DT4H5M6S`
    Iso8601,
}

impl IntervalStyle {
    /// The styles by the names that the setting has.
    pub const NAMES: [(&'static str, IntervalStyle); 4] = [
        ("postgres", IntervalStyle::Postgres),
        ("postgres_verbose", IntervalStyle::PostgresVerbose),
        ("sql_standard", IntervalStyle::SqlStandard),
        ("iso_8601", IntervalStyle::Iso8601),
    ];

    /// The value at `row` in this style, where it is one of an interval and the style is not the
    /// usual one.
    pub fn format(self, array: &ArrayRef, row: usize) -> Option<String> {
        let is_interval =
            matches!(array.data_type(), DataType::Interval(IntervalUnit::MonthDayNano));
        if self == IntervalStyle::Postgres || !is_interval || array.is_null(row) {
            return None;
        }
        let value = array.as_primitive::<IntervalMonthDayNanoType>().value(row);
        let fields = Fields::new(value.months, value.days, value.nanoseconds / 1_000);
        Some(match self {
            IntervalStyle::Postgres => {
                postgres(value.months, value.days, value.nanoseconds / 1_000)
            }
            IntervalStyle::PostgresVerbose => fields.verbose(),
            IntervalStyle::SqlStandard => fields.standard(),
            IntervalStyle::Iso8601 => fields.iso(),
        })
    }
}

/// The style that every conversion within a statement has.
pub(super) fn postgres(months: i32, days: i32, micros: i64) -> String {
    let mut parts = Vec::new();
    let mut negative_before = false;
    for (count, unit) in [(months / 12, "year"), (months % 12, "mon"), (days, "day")] {
        if count == 0 {
            continue;
        }
        let plus = if negative_before && count > 0 { "+" } else { "" };
        let plural = if count == 1 { "" } else { "s" };
        parts.push(format!("{plus}{count} {unit}{plural}"));
        negative_before = count < 0;
    }
    if micros != 0 || parts.is_empty() {
        let sign = match micros < 0 {
            true => "-",
            false if negative_before => "+",
            false => "",
        };
        let micros = micros.unsigned_abs() as i64;
        let mut clock = sign.as_bytes().to_vec();
        written::time(micros / MICROS_PER_SECOND, micros % MICROS_PER_SECOND, &mut clock);
        parts.push(String::from_utf8(clock).expect("a time is ASCII"));
    }
    parts.join(" ")
}

/// An interval in units; those of the same origin have the same sign.
struct Fields {
    years: i64,
    months: i64,
    days: i64,
    hours: i64,
    minutes: i64,
    /// Microseconds below a minute.
    micros: i64,
}

impl Fields {
    fn new(months: i32, days: i32, micros: i64) -> Fields {
        let (months, seconds) = (i64::from(months), micros / MICROS_PER_SECOND);
        Fields {
            years: months / 12,
            months: months % 12,
            days: i64::from(days),
            hours: seconds / 3_600,
            minutes: seconds / 60 % 60,
            micros: micros % (60 * MICROS_PER_SECOND),
        }
    }

    fn all(&self) -> [i64; 6] {
        [self.years, self.months, self.days, self.hours, self.minutes, self.micros]
    }

    fn has_time(&self) -> bool {
        self.hours != 0 || self.minutes != 0 || self.micros != 0
    }

    fn iso(&self) -> String {
        if self.all().iter().all(|field| *field == 0) {
            return "PT0S".to_owned();
        }
        let mut text = String::from("P");
        let mut part = |value: i64, unit: char| {
            if value != 0 {
                text.push_str(&format!("{value}{unit}"));
            }
        };
        part(self.years, 'Y');
        part(self.months, 'M');
        part(self.days, 'D');
        if !self.has_time() {
            return text;
        }
        text.push('T');
        for (value, unit) in [(self.hours, 'H'), (self.minutes, 'M')] {
            if value != 0 {
                text.push_str(&format!("{value}{unit}"));
            }
        }
        if self.micros != 0 {
            let sign = if self.micros < 0 { "-" } else { "" };
            text.push_str(&format!("{sign}{}S", seconds(self.micros, 1)));
        }
        text
    }

    fn standard(&self) -> String {
        let fields = self.all();
        let negative = fields.iter().any(|field| *field < 0);
        let positive = fields.iter().any(|field| *field > 0);
        if !negative && !positive {
            return "0".to_owned();
        }
        let has_months = self.years != 0 || self.months != 0;
        let mixed = negative && positive || has_months && (self.days != 0 || self.has_time());
        let [years, months, days, hours, minutes, micros] = fields.map(i64::abs);
        let clock = format!("{hours}:{minutes:02}:{}", seconds(micros, 2));
        if mixed {
            let sign = |below: bool| if below { '-' } else { '+' };
            let month_sign = sign(self.years < 0 || self.months < 0);
            let time_sign = sign(self.hours < 0 || self.minutes < 0 || self.micros < 0);
            let day_sign = sign(self.days < 0);
            return format!("{month_sign}{years}-{months} {day_sign}{days} {time_sign}{clock}");
        }
        let sign = if negative { "-" } else { "" };
        match (has_months, days) {
            (true, _) => format!("{sign}{years}-{months}"),
            (_, 0) => format!("{sign}{clock}"),
            (_, days) => format!("{sign}{days} {clock}"),
        }
    }

    fn verbose(&self) -> String {
        let mut text = String::from("@");
        // What comes first tells the sign of all; parts of another one have theirs.
        let mut before: Option<bool> = None;
        let units = [
            (self.years, "year"),
            (self.months, "mon"),
            (self.days, "day"),
            (self.hours, "hour"),
            (self.minutes, "min"),
        ];
        for (value, unit) in units {
            if value == 0 {
                continue;
            }
            let shown = match *before.get_or_insert(value < 0) {
                true => -value,
                false => value,
            };
            let plural = if shown == 1 { "" } else { "s" };
            text.push_str(&format!(" {shown} {unit}{plural}"));
        }
        if self.micros != 0 {
            let ago = *before.get_or_insert(self.micros < 0);
            let sign = if ago != (self.micros < 0) { "-" } else { "" };
            let plural = if self.micros.abs() == MICROS_PER_SECOND { "" } else { "s" };
            text.push_str(&format!(" {sign}{} sec{plural}", seconds(self.micros, 1)));
        }
        match before {
            None => text.push_str(" 0"),
            Some(true) => text.push_str(" ago"),
            Some(false) => {}
        }
        text
    }
}

/// Seconds without their sign, at least `width` digits before the point.
fn seconds(micros: i64, width: usize) -> String {
    let micros = micros.abs();
    let whole = format!("{:0width$}", micros / MICROS_PER_SECOND);
    match micros % MICROS_PER_SECOND {
        0 => whole,
        fraction => {
            let digits = format!("{fraction:06}");
            format!("{whole}.{}", digits.trim_end_matches('0'))
        }
    }
}
