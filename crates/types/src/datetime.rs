//! Dates, times, instants and intervals from their text form, as PostgreSQL reads them.

use arrow_array::types::{Date32Type, IntervalMonthDayNano, TimestampMicrosecondType};
use arrow_cast::parse::Parser;

use crate::blanks::{is_blank, trimmed};
use crate::datetime::units::{MICROS_PER_DAY, MICROS_PER_SECOND};
use crate::error::{SqlError, SqlResult, SqlState};
use crate::logical::LogicalType;
use crate::zone::{self, Zone};

pub(crate) mod civil;
mod decode;
pub mod infinite;
mod shifted;
pub(crate) mod units;

pub use civil::{Civil, civil_of, days_of};
use decode::{Problem, Special};
pub use shifted::{after, shifted, shifted_instant};

/// True if a text may be read as a time that depends on the moment.
pub fn speaks_of_now(text: &str) -> bool {
    let text = text.to_ascii_lowercase();
    ["now", "today", "tomorrow", "yesterday"].iter().any(|word| text.contains(word))
}

/// Days since 1970-01-01. Errors: 22007 for text that is no date, 22008 for a date that does not exist.
pub fn parse_date(text: &str) -> SqlResult<i32> {
    let trimmed = trimmed(text);
    if let Some(days) = Date32Type::parse(trimmed) {
        return Ok(days);
    }
    match far_date(trimmed) {
        Some(days) => Ok(days),
        None => Ok(infinite::day_of(local(LogicalType::Date, text)?.0)),
    }
}

/// A date outside of the years 1 to 9999: `20000-01-01`, `0044-03-15 BC`.
fn far_date(text: &str) -> Option<i32> {
    let upper = text.to_ascii_uppercase();
    let (date, before) = match upper.strip_suffix(" BC") {
        Some(date) => (date.trim_end_matches(is_blank), true),
        None => (upper.as_str(), false),
    };
    let mut fields = date.split('-');
    let mut number = |widths: std::ops::RangeInclusive<usize>| -> Option<i64> {
        let field = fields.next()?;
        let digits = field.bytes().all(|b| b.is_ascii_digit());
        (digits && widths.contains(&field.len())).then(|| field.parse().ok())?
    };
    let (year, month, day) = (number(4..=7)?, number(1..=2)?, number(1..=2)?);
    if year == 0 || fields.next().is_some() {
        return None;
    }
    let year = if before { 1 - year } else { year };
    i32::try_from(days_of(year, i32::try_from(month).ok()?, i32::try_from(day).ok()?)?).ok()
}

/// Microseconds since 1970-01-01 00:00; a zone in the text is ignored, as PostgreSQL does.
pub fn parse_timestamp(text: &str) -> SqlResult<i64> {
    if let Some(micros) = TimestampMicrosecondType::parse(trimmed(text)).filter(|_| is_plain(text))
    {
        return Ok(micros);
    }
    local(LogicalType::Timestamp, text).map(|(micros, _)| micros)
}

/// Microseconds since 1970-01-01 00:00 UTC; text without a zone is in that of the session.
pub fn parse_timestamptz(text: &str) -> SqlResult<i64> {
    if let Some(micros) = TimestampMicrosecondType::parse(trimmed(text)).filter(|_| is_plain(text))
    {
        return Ok(zone::current().zone.instant_of(micros));
    }
    let (micros, zone) = local(LogicalType::TimestampTz, text)?;
    Ok(zone.unwrap_or(zone::current().zone).instant_of(micros))
}

/// Whether a text has no more than digits, blanks and the separators of a date and a time, so that it has
/// no zone, and no digits that have to be rounded.
fn is_plain(text: &str) -> bool {
    let known = |b: u8| b.is_ascii_digit() || b"-: .T".contains(&b);
    let fraction = text.split_once('.').map_or(0, |(_, fraction)| fraction.len());
    text.bytes().all(known) && !text.bytes().skip(10).any(|b| b == b'-') && fraction <= 6
}

/// A local time in microseconds since 1970-01-01 00:00, and the zone that the text names.
fn local(ty: LogicalType, text: &str) -> SqlResult<(i64, Option<Zone>)> {
    let problem = |problem| match problem {
        Problem::Format => syntax(ty, text),
        Problem::Range => out_of_range(ty, text),
        Problem::Zone(name) => {
            let message = format!("time zone \"{name}\" not recognized");
            SqlError::new(SqlState::INVALID_PARAMETER_VALUE, message)
        }
    };
    let decoded = decode::decode(text).map_err(problem)?;
    match (decoded.special, decoded.clock) {
        (Some(special @ Special::Day(_)), Some(clock)) => {
            let (midnight, _) = special_time(special, text)?;
            return Ok((midnight + clock, decoded.zone));
        }
        (Some(Special::Now), Some(_)) => return Err(syntax(ty, text)),
        (Some(special), _) => return special_time(special, text),
        (None, _) => {}
    }
    let days = decoded.date.ok_or_else(|| syntax(ty, text))?;
    let clock = decoded.clock.unwrap_or(0);
    let micros = days.checked_mul(MICROS_PER_DAY).and_then(|micros| micros.checked_add(clock));
    let micros = micros.filter(|micros| infinite::is_finite(*micros));
    Ok((micros.ok_or_else(|| out_of_range(ty, text))?, decoded.zone))
}

/// The time that a word stands for.
fn special_time(special: Special, text: &str) -> SqlResult<(i64, Option<Zone>)> {
    let zone::Context { zone, now_us } = zone::current();
    let now = || {
        now_us.map(|now| zone.local_of(now)).ok_or_else(|| {
            SqlError::unsupported(format!("the time \"{}\" in this place", trimmed(text)))
        })
    };
    Ok(match special {
        Special::Epoch => (0, Some(Zone::UTC)),
        Special::Now => (now()?, None),
        Special::Day(distance) => {
            (now()?.div_euclid(MICROS_PER_DAY).saturating_add(distance) * MICROS_PER_DAY, None)
        }
        Special::Infinity => (i64::MAX, None),
        Special::MinusInfinity => (i64::MIN, None),
    })
}

/// Microseconds since midnight: `HH:MM[:SS[.ffffff]]`, up to `24:00`, perhaps with AM or PM. A zone means
/// nothing, as in PostgreSQL.
pub fn parse_time(text: &str) -> SqlResult<i64> {
    let ty = LogicalType::Time;
    if let Some(micros) = clock_micros(trimmed(text)).filter(|micros| *micros <= MICROS_PER_DAY) {
        return Ok(micros);
    }
    // Behind a letter, digits alone are a time too.
    let plain = trimmed(text);
    let digits = plain.len() >= 4 && plain.bytes().all(|b| b.is_ascii_digit() || b == b'.');
    let marked = if digits { format!("t{plain}") } else { plain.to_owned() };
    match decode::decode(&marked) {
        Ok(decode::Decoded { clock: Some(clock), .. }) => Ok(clock),
        Ok(decode::Decoded { special: Some(Special::Now), .. }) => {
            Ok(special_time(Special::Now, text)?.0.rem_euclid(MICROS_PER_DAY))
        }
        Err(Problem::Range) => Err(out_of_range(ty, text)),
        _ => Err(syntax(ty, text)),
    }
}

/// `1 year 2 mons -3 days 04:05:06.7`, with all of PostgreSQL's units, `ago`, and `@`; `1-2` is a year and
/// two months, and `P1Y2M3DT4H` is as in ISO 8601.
pub fn parse_interval(text: &str) -> SqlResult<IntervalMonthDayNano> {
    let error = || syntax(LogicalType::Interval, text);
    if trimmed(text).starts_with(['P', 'p']) {
        return iso_interval(trimmed(text)).ok_or_else(error)?.finish(false, text);
    }
    let mut sum = Span::default();
    let (mut number, mut any, mut ago) = (None::<Amount>, false, false);
    for word in words(text) {
        if word == "@" {
            continue;
        } else if word.eq_ignore_ascii_case("ago") && number.is_none() {
            ago = true;
        } else if word.contains(':') {
            let (negative, clock) = signed(&word);
            let micros = clock_micros(clock).ok_or_else(error)?;
            sum.note(CLOCK_UNITS).ok_or_else(error)?;
            if let Some(days) = number.take() {
                sum.add(days, "day").ok_or_else(error)?;
            }
            sum.micros += if negative { -micros } else { micros } as f64;
            any = true;
        } else if let Some(months) = years_and_months(&word) {
            sum.note(1 << MONTH).ok_or_else(error)?;
            sum.months += months;
            any = true;
        } else if let Some(value) = Amount::parse(&word) {
            if number.replace(value).is_some() {
                return Err(error());
            }
        } else {
            let value = number.take().ok_or_else(error)?;
            sum.add(value, &word.to_ascii_lowercase()).ok_or_else(error)?;
            any = true;
        }
    }
    match number {
        Some(seconds) => sum.add(seconds, "second").ok_or_else(error)?,
        None if !any => return Err(error()),
        None => {}
    }
    sum.finish(ago, text)
}

fn signed(word: &str) -> (bool, &str) {
    match word.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, word.strip_prefix('+').unwrap_or(word)),
    }
}

/// `1-2`, in months.
fn years_and_months(word: &str) -> Option<f64> {
    let (negative, plain) = signed(word);
    let (years, months) = plain.split_once('-')?;
    let number = |digits: &str| -> Option<f64> {
        let plain = !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit());
        if plain { digits.parse().ok() } else { None }
    };
    let (years, months) = (number(years)?, number(months)?);
    let whole = years * 12.0 + months;
    (months < 12.0).then_some(if negative { -whole } else { whole })
}

/// `P1Y2M3W4DT5H6M7.8S`.
fn iso_interval(text: &str) -> Option<Span> {
    let mut sum = Span::default();
    let (mut clock, mut number) = (false, String::new());
    let mut any = false;
    for c in text[1..].chars() {
        let unit = match (c.to_ascii_uppercase(), clock) {
            ('T', false) if number.is_empty() => {
                clock = true;
                continue;
            }
            ('0'..='9' | '.' | '-' | '+', _) => {
                number.push(c);
                continue;
            }
            ('Y', false) => "year",
            ('M', false) => "month",
            ('W', false) => "week",
            ('D', false) => "day",
            ('H', true) => "hour",
            ('M', true) => "minute",
            ('S', true) => "second",
            _ => return None,
        };
        // In this form a unit may stand twice.
        sum.given = 0;
        sum.add(Amount::of(std::mem::take(&mut number).parse().ok()?), unit)?;
        any = true;
    }
    (any && number.is_empty()).then_some(sum)
}

/// The parts of an interval while it is read; fractions move down to the smaller unit.
#[derive(Default)]
struct Span {
    months: f64,
    days: f64,
    micros: f64,
    /// The units that were given, a bit each.
    given: u32,
}

/// A number of an interval. What is behind its point is read by itself, as PostgreSQL does: it has
/// more digits so.
#[derive(Clone, Copy)]
struct Amount {
    whole: f64,
    fraction: f64,
}

impl Amount {
    fn of(value: f64) -> Amount {
        Amount { whole: value.trunc(), fraction: value.fract() }
    }

    fn parse(word: &str) -> Option<Amount> {
        let value = word.parse::<f64>().ok().filter(|value| value.is_finite())?;
        let Some((_, digits)) = word.split_once('.') else { return Some(Amount::of(value)) };
        let fraction = format!("0.{digits}").parse::<f64>().ok()?;
        Some(Amount { whole: value.trunc(), fraction: fraction.copysign(value) })
    }
}

/// Bits of units; each stands once in an interval.
const MICROSECOND: u32 = 0;
const MILLISECOND: u32 = 1;
const SECOND: u32 = 2;
const MINUTE: u32 = 3;
const HOUR: u32 = 4;
const DAY: u32 = 5;
const WEEK: u32 = 6;
const MONTH: u32 = 7;
const YEAR: u32 = 8;
const DECADE: u32 = 9;
const CENTURY: u32 = 10;
const MILLENNIUM: u32 = 11;

/// Seconds with a fraction leave no room for smaller units.
const SECOND_UNITS: u32 = 1 << SECOND | 1 << MILLISECOND | 1 << MICROSECOND;
const CLOCK_UNITS: u32 = 1 << HOUR | 1 << MINUTE | SECOND_UNITS;

/// The bits that a value of a unit takes.
fn bits_of(unit: &str, value: Amount) -> Option<u32> {
    let bit = match unit {
        "us" | "usec" | "usecs" | "microsecond" | "microseconds" => MICROSECOND,
        "ms" | "msec" | "msecs" | "millisecond" | "milliseconds" => MILLISECOND,
        "s" | "sec" | "secs" | "second" | "seconds" if value.fraction != 0.0 => {
            return Some(SECOND_UNITS);
        }
        "s" | "sec" | "secs" | "second" | "seconds" => SECOND,
        "m" | "min" | "mins" | "minute" | "minutes" => MINUTE,
        "h" | "hr" | "hrs" | "hour" | "hours" => HOUR,
        "d" | "day" | "days" => DAY,
        "w" | "week" | "weeks" => WEEK,
        "mon" | "mons" | "month" | "months" => MONTH,
        "y" | "yr" | "yrs" | "year" | "years" => YEAR,
        "decade" | "decades" | "dec" | "decs" => DECADE,
        "century" | "centuries" | "cent" | "c" => CENTURY,
        "millennium" | "millennia" | "mil" | "mils" => MILLENNIUM,
        _ => return None,
    };
    Some(1 << bit)
}

impl Span {
    /// `None` if one of the units was given before.
    fn note(&mut self, units: u32) -> Option<()> {
        let again = self.given & units != 0;
        self.given |= units;
        (!again).then_some(())
    }

    /// Adds an amount; `None` for an unknown unit, and for one that was given before.
    fn add(&mut self, amount: Amount, unit: &str) -> Option<()> {
        self.note(bits_of(unit, amount)?)?;
        let Amount { whole, fraction } = amount;
        let months = |months: f64| whole * months + (fraction * months).round_ties_even();
        match unit {
            "us" | "usec" | "usecs" | "microsecond" | "microseconds" => {
                self.add_micros(amount, 1.0)
            }
            "ms" | "msec" | "msecs" | "millisecond" | "milliseconds" => {
                self.add_micros(amount, 1e3);
            }
            "s" | "sec" | "secs" | "second" | "seconds" => self.add_micros(amount, 1e6),
            "m" | "min" | "mins" | "minute" | "minutes" => self.add_micros(amount, 60e6),
            "h" | "hr" | "hrs" | "hour" | "hours" => self.add_micros(amount, 3_600e6),
            "d" | "day" | "days" => self.add_days(amount, 1.0),
            "w" | "week" | "weeks" => self.add_days(amount, 7.0),
            "mon" | "mons" | "month" | "months" => {
                self.months += whole;
                self.add_days(Amount { whole: 0.0, fraction }, 30.0);
            }
            "y" | "yr" | "yrs" | "year" | "years" => self.months += months(12.0),
            "decade" | "decades" | "dec" | "decs" => self.months += months(120.0),
            "century" | "centuries" | "cent" | "c" => self.months += months(1_200.0),
            "millennium" | "millennia" | "mil" | "mils" => self.months += months(12_000.0),
            _ => return None,
        }
        Some(())
    }

    /// Adds an amount of so many days.
    fn add_days(&mut self, amount: Amount, days: f64) {
        let rest = amount.fraction * days;
        self.days += amount.whole * days + rest.trunc();
        let rest = Amount { whole: 0.0, fraction: rest.fract() };
        self.add_micros(rest, MICROS_PER_DAY as f64);
    }

    /// Adds an amount of so many microseconds: of two that are as near the one nearer to zero.
    fn add_micros(&mut self, amount: Amount, micros: f64) {
        let rest = amount.fraction * micros;
        let up = if rest.fract().abs() > 0.5 { rest.signum() } else { 0.0 };
        self.micros += amount.whole * micros + rest.trunc() + up;
    }

    /// Errors: 22015 for more than an interval holds.
    fn finish(self, ago: bool, text: &str) -> SqlResult<IntervalMonthDayNano> {
        self.whole(ago).ok_or_else(|| {
            let message = format!("interval field value out of range: \"{text}\"");
            SqlError::new(SqlState("22015"), message)
        })
    }

    fn whole(self, ago: bool) -> Option<IntervalMonthDayNano> {
        let sign = if ago { -1.0 } else { 1.0 };
        let whole = |v: f64, limit: f64| (v.abs() <= limit).then_some(v * sign);
        let months = whole(self.months, f64::from(i32::MAX))? as i32;
        let days = whole(self.days, f64::from(i32::MAX))? as i32;
        let micros = whole(self.micros.round(), i64::MAX as f64 / 1_000.0 - 1_000.0)? as i64;
        Some(IntervalMonthDayNano::new(months, days, micros.checked_mul(1_000)?))
    }
}

/// Numbers apart from the units that follow them.
fn words(text: &str) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    // A sign may stand apart from its number.
    let mut sign = String::new();
    for piece in text.split(is_blank).filter(|piece| !piece.is_empty()) {
        if matches!(piece, "-" | "+") && sign.is_empty() {
            piece.clone_into(&mut sign);
            continue;
        }
        let letters = |c: char| c.is_ascii_alphabetic();
        let piece = std::mem::take(&mut sign) + piece;
        let mut rest = piece.as_str();
        while let Some(at) = rest.char_indices().skip(1).find_map(|(i, c)| {
            let before = rest[..i].chars().next_back().is_some_and(letters);
            (before != letters(c)).then_some(i)
        }) {
            words.push(rest[..at].to_owned());
            rest = &rest[at..];
        }
        words.push(rest.to_owned());
    }
    words.extend((!sign.is_empty()).then_some(sign));
    words
}

/// The microseconds of digits behind the point of a second: the nearest, and of two the even one.
fn fraction_micros(digits: &str) -> Option<i64> {
    if !digits.bytes().all(|b| b.is_ascii_digit()) {
        return None;
    }
    let share: f64 = format!("0.{digits}").parse().ok()?;
    Some((share * MICROS_PER_SECOND as f64).round_ties_even() as i64)
}

/// `HH:MM[:SS[.f]]` in microseconds.
fn clock_micros(text: &str) -> Option<i64> {
    let mut fields = text.split(':');
    let number = |s: &str| -> Option<i64> {
        (!s.is_empty() && s.len() <= 9 && s.bytes().all(|b| b.is_ascii_digit()))
            .then(|| s.parse().ok())?
    };
    let (hours, minutes) = (number(fields.next()?)?, number(fields.next()?)?);
    let (seconds, micros) = match fields.next() {
        None => (0, 0),
        Some(field) => {
            let (whole, fraction) = field.split_once('.').unwrap_or((field, ""));
            (number(whole)?, fraction_micros(fraction)?)
        }
    };
    if fields.next().is_some() || minutes > 59 || seconds > 60 {
        return None;
    }
    let seconds = hours.checked_mul(3_600)? + minutes * 60 + seconds;
    seconds.checked_mul(MICROS_PER_SECOND)?.checked_add(micros)
}

fn name(ty: LogicalType) -> &'static str {
    match ty {
        LogicalType::Date => "date",
        LogicalType::Time => "time",
        LogicalType::Interval => "interval",
        LogicalType::TimestampTz => "timestamp with time zone",
        _ => "timestamp",
    }
}

fn syntax(ty: LogicalType, text: &str) -> SqlError {
    let message = format!("invalid input syntax for type {}: \"{text}\"", name(ty));
    SqlError::new(SqlState::INVALID_DATETIME_FORMAT, message)
}

fn out_of_range(_ty: LogicalType, text: &str) -> SqlError {
    let message = format!("date/time field value out of range: \"{text}\"");
    SqlError::new(SqlState::DATETIME_FIELD_OVERFLOW, message)
}
