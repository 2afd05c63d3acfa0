//! `to_char`, `to_date`, `to_timestamp` and `to_number`: values by templates.

use std::sync::Arc;

use arrow_array::{ArrayRef, Date32Array, Decimal128Array, TimestampMicrosecondArray};
use arrow_schema::DataType;
use types::datetime::{Civil, civil_of, days_of};
use types::numeric::wide;
use types::zone::{self, Zone};
use types::{SqlError, SqlResult, SqlState};

use super::dates::iso_week;
use super::{Args, Functions, Ty, date, invalid_parameter, text, timestamptz};

mod numbers;
mod spans;

use numbers::{float, number};

const DAY: i64 = 86_400_000_000;
const MONTHS: [&str; 12] = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
];
const WEEKDAYS: [&str; 7] =
    ["Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"];

/// Template words, longest first where one begins another.
const WORDS: [&str; 55] = [
    "HH24", "HH12", "HH", "MI", "SSSSS", "SSSS", "SS", "MS", "US", "FF1", "FF2", "FF3", "FF4",
    "FF5", "FF6", "AM", "PM", "am", "pm", "Y,YYY", "YYYY", "YYY", "YY", "IYYY", "MONTH", "Month",
    "month", "MON", "Mon", "mon", "MM", "DAY", "Day", "day", "DY", "Dy", "dy", "DDD", "DD", "ID",
    "IW", "WW", "CC", "TZH", "TZM", "TZ", "tzh", "tzm", "tz", "OF", "Q", "J", "W", "D", "Y",
];

pub(super) fn register(functions: &mut Functions) {
    functions.strict("to_char", &[Ty::Ts, Ty::Text], text, |args| {
        args.texts(|row| {
            let micros = args.micros(0, row);
            shown(args.text(1).value(row), |word, plain| Ok(field(micros, None, word, plain)))
        })
    });
    functions.strict("to_char", &[Ty::Tz, Ty::Text], text, |args| {
        let zone = zone::current().zone;
        args.texts(|row| {
            let instant = args.micros(0, row);
            let (local, here) = (zone.local_of(instant), Some((zone, instant)));
            shown(args.text(1).value(row), |word, plain| Ok(field(local, here, word, plain)))
        })
    });
    functions.strict("to_char", &[Ty::Interval, Ty::Text], text, |args| {
        args.texts(|row| {
            let span = args.interval(0, row);
            shown(args.text(1).value(row), |word, plain| spans::field(span, word, plain))
        })
    });
    functions.strict("to_char", &[Ty::Num, Ty::Text], text, |args| {
        let (values, scale) = wide(args.arrays[0].as_ref())?;
        args.texts(|row| {
            let digits = values.value(row).to_string();
            number(&digits, scale, args.text(1).value(row)).map(Some)
        })
    });
    functions.strict("to_char", &[Ty::Float, Ty::Text], text, |args| {
        args.texts(|row| float(args.float(0, row), args.text(1).value(row)).map(Some))
    });
    functions.strict("to_date", &[Ty::Text, Ty::Text], date, |args| {
        Ok(Arc::new(args.each::<_, Date32Array>(|row| {
            let micros = read(args.text(0).value(row), args.text(1).value(row))?;
            Ok(i32::try_from(micros.div_euclid(DAY)).ok())
        })?))
    });
    functions.strict("to_timestamp", &[Ty::Text, Ty::Text], timestamptz, |args| {
        let zone = zone::current().zone;
        instants(args, |row| {
            Ok(zone.instant_of(read(args.text(0).value(row), args.text(1).value(row))?))
        })
    });
    functions.strict("to_timestamp", &[Ty::Float], timestamptz, |args| {
        instants(args, |row| Ok((args.float(0, row) * 1e6).round() as i64))
    });
    functions.strict(
        "to_number",
        &[Ty::Text, Ty::Text],
        |_, values| number_type(values),
        to_number,
    );
}

fn instants(args: &Args<'_>, f: impl Fn(usize) -> SqlResult<i64>) -> SqlResult<ArrayRef> {
    let values = args.each::<_, TimestampMicrosecondArray>(|row| f(row).map(Some))?;
    Ok(Arc::new(values.with_data_type(args.ty.clone())))
}

/// The word that a template continues with.
fn word(template: &str) -> Option<&'static str> {
    let exact = WORDS.iter().find(|w| template.starts_with(**w));
    exact.copied().or_else(|| {
        WORDS
            .iter()
            .find(|w| template.get(..w.len()).is_some_and(|t| t.eq_ignore_ascii_case(w)))
            .copied()
    })
}

/// A template with its words replaced by values; a word behind `FM` has no padding.
fn shown(
    template: &str,
    value: impl Fn(&str, bool) -> SqlResult<String>,
) -> SqlResult<Option<String>> {
    let (mut out, mut rest) = (String::new(), template);
    let mut plain = false;
    while let Some(letter) = rest.chars().next() {
        if letter == '"' {
            let end = rest[1..].find('"').map_or(rest.len(), |e| e + 2);
            out.push_str(rest[1..end].trim_end_matches('"'));
            rest = &rest[end..];
            continue;
        }
        if let Some(after) = rest.strip_prefix("FM").or_else(|| rest.strip_prefix("fm")) {
            (plain, rest) = (true, after);
            continue;
        }
        let Some(word) = word(rest) else {
            out.push(letter);
            rest = &rest[letter.len_utf8()..];
            continue;
        };
        rest = &rest[word.len()..];
        let value = value(word, plain)?;
        let ordinal = rest.starts_with("TH") || rest.starts_with("th");
        out.push_str(&value);
        if ordinal {
            let suffix = ordinal_suffix(&value);
            out.push_str(&if rest.starts_with("TH") {
                suffix.to_uppercase()
            } else {
                suffix.into()
            });
            rest = &rest[2..];
        }
        plain = false;
    }
    Ok(Some(out))
}

fn ordinal_suffix(number: &str) -> &'static str {
    match number.as_bytes() {
        [.., b'1', _] => "th",
        [.., b'1'] => "st",
        [.., b'2'] => "nd",
        [.., b'3'] => "rd",
        _ => "th",
    }
}

/// A field of a local time; with the zone and the instant where there is a zone.
fn field(micros: i64, here: Option<(Zone, i64)>, word: &str, plain: bool) -> String {
    let (days, clock) = (micros.div_euclid(DAY), micros.rem_euclid(DAY));
    let Civil { year, month, day } = civil_of(days);
    let seconds = clock / 1_000_000;
    let hour = seconds / 3_600;
    let fraction = clock % 1_000_000;
    let weekday = (days + 4).rem_euclid(7);
    let year_day = days - days_of(year, 1, 1).unwrap_or(days) + 1;
    let padded = |value: i64, width: usize| match plain {
        true => value.to_string(),
        false => format!("{value:0width$}"),
    };
    let name = |text: &str, width: usize| match plain {
        true => text.to_owned(),
        false => format!("{text:<width$}"),
    };
    let month_name = MONTHS[(month - 1) as usize];
    let day_name = WEEKDAYS[weekday as usize];
    match word {
        "HH24" => padded(hour, 2),
        "HH12" | "HH" => padded((hour + 11) % 12 + 1, 2),
        "MI" => padded(seconds / 60 % 60, 2),
        "SS" => padded(seconds % 60, 2),
        "SSSSS" | "SSSS" => padded(seconds, 1),
        "MS" | "FF3" => format!("{:03}", fraction / 1_000),
        "US" | "FF6" => format!("{fraction:06}"),
        "FF1" => format!("{:01}", fraction / 100_000),
        "FF2" => format!("{:02}", fraction / 10_000),
        "FF4" => format!("{:04}", fraction / 100),
        "FF5" => format!("{:05}", fraction / 10),
        "AM" | "PM" => (if hour < 12 { "AM" } else { "PM" }).to_owned(),
        "am" | "pm" => (if hour < 12 { "am" } else { "pm" }).to_owned(),
        "Y,YYY" => format!("{},{:03}", year / 1_000, year % 1_000),
        "YYYY" => padded(year, 4),
        "YYY" => padded(year % 1_000, 3),
        "YY" => padded(year % 100, 2),
        "Y" => padded(year % 10, 1),
        "IYYY" => padded(iso_week(days).0, 4),
        "MONTH" => name(&month_name.to_uppercase(), 9),
        "Month" => name(month_name, 9),
        "month" => name(&month_name.to_lowercase(), 9),
        "MON" => month_name[..3].to_uppercase(),
        "Mon" => month_name[..3].to_owned(),
        "mon" => month_name[..3].to_lowercase(),
        "MM" => padded(month.into(), 2),
        "DAY" => name(&day_name.to_uppercase(), 9),
        "Day" => name(day_name, 9),
        "day" => name(&day_name.to_lowercase(), 9),
        "DY" => day_name[..3].to_uppercase(),
        "Dy" => day_name[..3].to_owned(),
        "dy" => day_name[..3].to_lowercase(),
        "DDD" => padded(year_day, 3),
        "DD" => padded(day.into(), 2),
        "D" => (weekday + 1).to_string(),
        "ID" => ((weekday + 6) % 7 + 1).to_string(),
        "IW" => padded(iso_week(days).1, 2),
        "WW" => padded((year_day - 1) / 7 + 1, 2),
        "W" => ((i64::from(day) - 1) / 7 + 1).to_string(),
        "CC" => padded((year + 99) / 100, 2),
        "Q" => ((month - 1) / 3 + 1).to_string(),
        "J" => (days + 2_440_588).to_string(),
        word => zone_field(here, word),
    }
}

/// The name of the zone or its distance from UTC; a time without a zone has no name for it.
fn zone_field(here: Option<(Zone, i64)>, word: &str) -> String {
    let seconds = here.map_or(0, |(zone, instant)| zone.offset_at(instant) / 1_000_000);
    let (sign, minutes) = (if seconds < 0 { '-' } else { '+' }, seconds.abs() / 60);
    let name = || here.map(|(zone, instant)| zone.abbreviation_at(instant)).unwrap_or_default();
    match word {
        "TZ" => name().to_uppercase(),
        "tz" => name().to_lowercase(),
        "TZH" | "tzh" => format!("{sign}{:02}", minutes / 60),
        "TZM" | "tzm" => format!("{:02}", minutes % 60),
        "OF" if minutes % 60 == 0 => format!("{sign}{:02}", minutes / 60),
        "OF" => format!("{sign}{:02}:{:02}", minutes / 60, minutes % 60),
        _ => String::new(),
    }
}

/// Microseconds since 1970 of a text in the form of a template.
fn read(text: &str, template: &str) -> SqlResult<i64> {
    let mut parts = Parts { year: 1, month: 1, day: 1, ..Parts::default() };
    let (mut input, mut rest) = (text.trim_start(), template.trim_start());
    while let Some(letter) = rest.chars().next() {
        if let Some(after) = rest.strip_prefix("FM").or_else(|| rest.strip_prefix("fm")) {
            rest = after;
            continue;
        }
        let Some(word) = word(rest) else {
            rest = &rest[letter.len_utf8()..];
            let separator = |c: char| !c.is_ascii_alphanumeric();
            match letter.is_ascii_alphanumeric() {
                true => input = input.get(1..).unwrap_or_default(),
                false => input = input.strip_prefix(separator).unwrap_or(input),
            }
            continue;
        };
        if ["TZH", "TZM", "TZ", "OF"].iter().any(|zone| word.eq_ignore_ascii_case(zone)) {
            return Err(SqlError::unsupported(format!("{word} in a template to read")));
        }
        rest = &rest[word.len()..];
        input = input.trim_start();
        if let Some(after) = parts.take_name(word, input)? {
            input = after;
            continue;
        }
        // A year before a separator takes all its digits.
        let open = word == "YYYY" && !rest.starts_with(|c: char| c.is_ascii_alphabetic());
        let limit = if open { usize::MAX } else { digits_max(word) };
        let length = input.bytes().take(limit).take_while(u8::is_ascii_digit).count();
        let value: i64 = input[..length].parse().map_err(|_| bad_value(input, word))?;
        input = &input[length..];
        parts.set(word, value, length)?;
    }
    parts.micros().ok_or_else(|| {
        let message = format!("date/time field value out of range: \"{text}\"");
        SqlError::new(SqlState::DATETIME_FIELD_OVERFLOW, message)
    })
}

/// Most digits of a field when it is read.
fn digits_max(word: &str) -> usize {
    match word {
        "HH24" | "HH12" | "HH" | "MI" | "SS" | "MM" | "DD" | "YY" => 2,
        "YYYY" | "IYYY" => 4,
        "YYY" | "DDD" | "MS" | "FF3" => 3,
        "US" | "FF6" => 6,
        _ => 1,
    }
}

/// The fields of a date and time while they are read.
#[derive(Default)]
struct Parts {
    year: i64,
    month: i64,
    day: i64,
    year_day: Option<i64>,
    hour: i64,
    minute: i64,
    second: i64,
    fraction: i64,
    afternoon: Option<bool>,
}

impl Parts {
    /// Reads a field that is a word; what is left of the input, or `None` where it is a number.
    fn take_name<'a>(&mut self, word: &str, input: &'a str) -> SqlResult<Option<&'a str>> {
        match word.to_ascii_uppercase().as_str() {
            kind @ ("MONTH" | "MON") => {
                let names = MONTHS.map(|m| if kind == "MON" { &m[..3] } else { m });
                let begins = |name: &&str| {
                    input.get(..name.len()).is_some_and(|i| i.eq_ignore_ascii_case(name))
                };
                let at = names.iter().position(begins).ok_or_else(|| bad_value(input, word))?;
                self.month = at as i64 + 1;
                Ok(Some(&input[names[at].len()..]))
            }
            "DAY" | "DY" => Ok(Some(input.trim_start_matches(|c: char| c.is_ascii_alphabetic()))),
            "AM" | "PM" => {
                let first = input.get(..1).unwrap_or_default();
                self.afternoon = Some(first.eq_ignore_ascii_case("p"));
                Ok(Some(input.get(2..).unwrap_or_default()))
            }
            _ => Ok(None),
        }
    }

    /// Sets a field that is a number of so many digits.
    fn set(&mut self, word: &str, value: i64, length: usize) -> SqlResult<()> {
        match word {
            "YYYY" | "IYYY" => self.year = value,
            "YY" => self.year = if value < 70 { 2_000 + value } else { 1_900 + value },
            "YYY" => self.year = if value < 520 { 2_000 + value } else { 1_000 + value },
            "MM" => self.month = value,
            "DD" => self.day = value,
            "DDD" => self.year_day = Some(value),
            "HH24" | "HH12" | "HH" => self.hour = value,
            "MI" => self.minute = value,
            "SS" => self.second = value,
            "MS" | "FF3" | "US" | "FF6" => {
                self.fraction = value * 10i64.pow(6 - length.min(6) as u32);
            }
            _ => return Err(SqlError::unsupported(format!("{word} in a template to read"))),
        }
        Ok(())
    }

    /// Microseconds since 1970; `None` if there is no such day or time.
    fn micros(&self) -> Option<i64> {
        let hour = match self.afternoon {
            Some(pm) => self.hour % 12 + if pm { 12 } else { 0 },
            None => self.hour,
        };
        if hour > 23 || self.minute > 59 || self.second > 59 {
            return None;
        }
        let days = match self.year_day {
            Some(n) => days_of(self.year, 1, 1)? + n - 1,
            None => days_of(self.year, self.month as i32, self.day as i32)?,
        };
        let seconds = (hour * 60 + self.minute) * 60 + self.second;
        Some(days * DAY + seconds * 1_000_000 + self.fraction)
    }
}

fn bad_value(input: &str, word: &str) -> SqlError {
    let given: String = input.chars().take(word.len()).collect();
    let message = format!("invalid value \"{given}\" for \"{word}\"");
    SqlError::new(SqlState::INVALID_DATETIME_FORMAT, message)
}

/// As many places as the template has digits after its point.
fn number_type(values: &[Option<&datafusion_common::ScalarValue>]) -> DataType {
    use datafusion_common::ScalarValue::{Utf8, Utf8View};
    let template = match values.get(1) {
        Some(Some(Utf8(Some(t)) | Utf8View(Some(t)))) => t.to_ascii_uppercase(),
        _ => "9.9999999999".to_owned(),
    };
    let fraction = template.replace('D', ".");
    let places = fraction.split_once('.').map_or(0, |(_, f)| f.matches(['9', '0']).count());
    DataType::Decimal128(38, places.min(30) as i8)
}

fn to_number(args: &Args<'_>) -> SqlResult<ArrayRef> {
    let DataType::Decimal128(_, scale) = args.ty else {
        return Err(SqlError::internal("to_number gives a decimal"));
    };
    let values = args.each::<_, Decimal128Array>(|row| {
        let text = args.text(0).value(row);
        let negative = text.contains('-') || text.trim_start().starts_with('<');
        let kept: String = text.chars().filter(|c| c.is_ascii_digit() || *c == '.').collect();
        let (whole, fraction) = kept.split_once('.').unwrap_or((&kept, ""));
        let places = usize::try_from(*scale).unwrap_or(0);
        let fraction: String =
            fraction.chars().chain(std::iter::repeat('0')).take(places).collect();
        let value: i128 = format!("{whole}{fraction}").parse().map_err(|_| {
            invalid_parameter(format!("invalid input syntax for type numeric: \"{text}\""))
        })?;
        Ok(Some(if negative { -value } else { value }))
    })?;
    Ok(Arc::new(values.with_data_type(args.ty.clone())))
}
