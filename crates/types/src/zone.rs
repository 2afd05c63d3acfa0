//! Time zones: by name, by abbreviation or by distance from UTC, and the zone that a thread works in.
//!
//! Instants are kept in UTC. Reading and printing them, and what functions do with their fields, happens
//! in the zone of the session: whoever runs such work for it enters the zone first ([`enter`]).

use std::cell::Cell;
use std::marker::PhantomData;

use chrono::{DateTime, MappedLocalTime, NaiveDateTime, Offset, TimeDelta, TimeZone};
use chrono_tz::{TZ_VARIANTS, Tz};

use crate::datetime::civil::{civil_of, days_of};
use crate::datetime::infinite::is_finite;
use crate::datetime::units::{MICROS_PER_DAY, MICROS_PER_SECOND};
use crate::error::{SqlError, SqlResult, SqlState};

/// The first and the last moment that is not infinite.
const FIRST: i64 = i64::MIN + 1;
const LAST: i64 = i64::MAX - 1;

/// A time zone.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Zone {
    /// So many seconds east of UTC, always.
    Fixed(i32),
    /// One of the time zone database, with its rules.
    Named(Tz),
}

/// Abbreviations, with their distance from UTC in minutes: those of PostgreSQL that are in wide use.
const ABBREVIATIONS: [(&str, i32); 36] = [
    ("utc", 0),
    ("gmt", 0),
    ("z", 0),
    ("zulu", 0),
    ("uct", 0),
    ("wet", 0),
    ("west", 60),
    ("bst", 60),
    ("cet", 60),
    ("met", 60),
    ("cest", 120),
    ("mest", 120),
    ("eet", 120),
    ("sast", 120),
    ("eest", 180),
    ("msk", 180),
    ("msd", 240),
    ("pkt", 300),
    ("ist", 120),
    ("sgt", 480),
    ("hkt", 480),
    ("awst", 480),
    ("jst", 540),
    ("kst", 540),
    ("acst", 570),
    ("aest", 600),
    ("aedt", 660),
    ("nzst", 720),
    ("nzdt", 780),
    ("ast", -240),
    ("adt", -180),
    ("brt", -180),
    ("hst", -600),
    ("akst", -540),
    ("akdt", -480),
    ("nst", -210),
];

/// The same of the mainland of the United States.
const AMERICAN: [(&str, i32); 8] = [
    ("est", -300),
    ("edt", -240),
    ("cst", -360),
    ("cdt", -300),
    ("mst", -420),
    ("mdt", -360),
    ("pst", -480),
    ("pdt", -420),
];

impl Zone {
    /// UTC.
    pub const UTC: Zone = Zone::Fixed(0);

    /// The zone of a name, an abbreviation or a specification as `AT TIME ZONE` takes it: a number
    /// counts hours to the west, as POSIX has it.
    ///
    /// # Errors
    /// 22023 for an unknown one.
    pub fn parse(name: &str) -> SqlResult<Zone> {
        let trimmed = name.trim();
        let found = abbreviation(trimmed).or_else(|| named(trimmed)).or_else(|| posix(trimmed));
        found.ok_or_else(|| {
            let message = format!("time zone \"{name}\" not recognized");
            SqlError::new(SqlState::INVALID_PARAMETER_VALUE, message)
        })
    }

    /// The zone and its name as the setting `TimeZone` takes and shows it: a number counts hours to the
    /// east.
    pub fn of_setting(value: &str) -> Option<(Zone, String)> {
        let trimmed = value.trim();
        if let Some(seconds) = trimmed.parse::<f64>().ok().map(|hours| hours * 3_600.0) {
            let seconds = (seconds.abs() <= 16.0 * 3_600.0).then_some(seconds as i32)?;
            return Some((Zone::Fixed(seconds), shown_fixed(seconds)));
        }
        match named(trimmed).or_else(|| abbreviation(trimmed)).or_else(|| posix(trimmed))? {
            Zone::Named(tz) => Some((Zone::Named(tz), tz.name().to_owned())),
            fixed => Some((fixed, trimmed.to_uppercase())),
        }
    }

    /// A name that [`Zone::parse`] reads.
    pub fn name(self) -> String {
        match self {
            Zone::UTC => "UTC".to_owned(),
            Zone::Fixed(seconds) => shown_fixed(seconds),
            Zone::Named(tz) => tz.name().to_owned(),
        }
    }

    /// Microseconds that local time is ahead of UTC at an instant.
    pub fn offset_at(self, utc_micros: i64) -> i64 {
        let seconds = match self {
            Zone::Fixed(seconds) => seconds,
            Zone::Named(tz) => match known_moment(tz, utc_micros) {
                Some(utc) => tz.offset_from_utc_datetime(&utc).fix().local_minus_utc(),
                None => 0,
            },
        };
        i64::from(seconds) * MICROS_PER_SECOND
    }

    /// What the clock of the zone is called at an instant: `CEST`, or `+05:30` where it has no name.
    pub fn abbreviation_at(self, utc_micros: i64) -> String {
        match self {
            Zone::Named(tz) => match known_moment(tz, utc_micros) {
                Some(utc) => tz.offset_from_utc_datetime(&utc).to_string(),
                None => shown_offset(0),
            },
            Zone::UTC => "UTC".to_owned(),
            fixed => shown_offset(fixed.offset_at(utc_micros)),
        }
    }

    /// Local time of an instant; the infinite ones are the same everywhere.
    pub fn local_of(self, utc_micros: i64) -> i64 {
        if !is_finite(utc_micros) {
            return utc_micros;
        }
        utc_micros.saturating_add(self.offset_at(utc_micros)).clamp(FIRST, LAST)
    }

    /// The instant of a local time. One that the clock skips is counted as before the change, one that
    /// comes twice as after it.
    pub fn instant_of(self, local_micros: i64) -> i64 {
        if !is_finite(local_micros) {
            return local_micros;
        }
        let seconds = match self {
            Zone::Fixed(seconds) => seconds,
            Zone::Named(tz) => match known_moment(tz, local_micros) {
                Some(local) => match tz.offset_from_local_datetime(&local) {
                    MappedLocalTime::Single(offset) => offset.fix().local_minus_utc(),
                    MappedLocalTime::Ambiguous(_, later) => later.fix().local_minus_utc(),
                    MappedLocalTime::None => before(tz, local),
                },
                None => 0,
            },
        };
        let offset = i64::from(seconds) * MICROS_PER_SECOND;
        local_micros.saturating_sub(offset).clamp(FIRST, LAST)
    }
}

/// The distance a day before a local time that does not exist.
fn before(tz: Tz, local: NaiveDateTime) -> i32 {
    let earlier = local.checked_sub_signed(TimeDelta::days(1)).unwrap_or(local);
    tz.offset_from_utc_datetime(&earlier).fix().local_minus_utc()
}

/// The years at the end of the tables in which all kinds of calendars occur: 28 years without an
/// exception among leap years.
const LAST_YEARS: std::ops::RangeInclusive<i64> = 2072..=2099;

/// The first moment behind the tables, 2100-01-01.
const BEHIND_TABLES: i64 = 4_102_444_800 * MICROS_PER_SECOND;

/// A moment with the same distance from UTC that the tables know: the rule by which they end goes
/// on, so a later moment is that of a year with the same calendar.
fn known_moment(tz: Tz, micros: i64) -> Option<NaiveDateTime> {
    if micros < BEHIND_TABLES {
        return moment(micros);
    }
    let days = micros.div_euclid(MICROS_PER_DAY);
    let first_day = |year: i64| days_of(year, 1, 1);
    let calendar = |year: i64| {
        let (first, next) = (first_day(year)?, first_day(year + 1)?);
        Some((first.rem_euclid(7), next - first))
    };
    let year = civil_of(days).year;
    let wanted = calendar(year)?;
    // Some zones still change their rules within those years.
    let like = match changes(tz, *LAST_YEARS.end()) {
        true => LAST_YEARS.rev().find(|like| calendar(*like) == Some(wanted))?,
        false => *LAST_YEARS.end(),
    };
    let distance = (first_day(year)? - first_day(like)?) * MICROS_PER_DAY;
    moment(micros - distance)
}

/// True if a zone has two distances from UTC in a year.
fn changes(tz: Tz, year: i64) -> bool {
    let offset = |month: i32| {
        let micros = days_of(year, month, 15)? * MICROS_PER_DAY;
        Some(tz.offset_from_utc_datetime(&moment(micros)?).fix().local_minus_utc())
    };
    (2..=12).any(|month| offset(month) != offset(1))
}

fn moment(micros: i64) -> Option<NaiveDateTime> {
    DateTime::from_timestamp_micros(micros).map(|utc| utc.naive_utc())
}

fn abbreviation(name: &str) -> Option<Zone> {
    let mut known = ABBREVIATIONS.iter().chain(&AMERICAN);
    let found = known.find(|(known, _)| name.eq_ignore_ascii_case(known));
    found.map(|(_, minutes)| Zone::Fixed(minutes * 60))
}

fn named(name: &str) -> Option<Zone> {
    let exact = name.parse::<Tz>().ok();
    let other = || TZ_VARIANTS.iter().find(|tz| tz.name().eq_ignore_ascii_case(name)).copied();
    exact.or_else(other).map(Zone::Named)
}

/// `UTC+3`, `<+03>-3`, `-8`, `+05:30`: hours to the west.
fn posix(text: &str) -> Option<Zone> {
    let rest = match text.strip_prefix('<') {
        Some(quoted) => quoted.split_once('>')?.1,
        None => text.trim_start_matches(|c: char| c.is_ascii_alphabetic()),
    };
    let west = distance(rest)?;
    Some(Zone::Fixed(-west))
}

/// Seconds of `8`, `+08`, `-05:30`, `+0530`; up to a week of hours is too much for any zone.
pub(crate) fn distance(text: &str) -> Option<i32> {
    let (sign, digits) = match text.as_bytes().first()? {
        b'-' => (-1, &text[1..]),
        b'+' => (1, &text[1..]),
        _ => (1, text),
    };
    let parts: Vec<&str> = match digits.len() {
        4 | 6 if !digits.contains(':') => {
            (0..digits.len() / 2).map(|i| digits.get(2 * i..2 * i + 2)).collect::<Option<_>>()?
        }
        _ => digits.split(':').collect(),
    };
    let number = |part: &&str| -> Option<i32> {
        let plain = (1..=2).contains(&part.len()) && part.bytes().all(|b| b.is_ascii_digit());
        if plain { part.parse().ok() } else { None }
    };
    let numbers = parts.iter().map(number).collect::<Option<Vec<_>>>()?;
    let (hours, minutes, seconds) = match *numbers.as_slice() {
        [h] => (h, 0, 0),
        [h, m] => (h, m, 0),
        [h, m, s] => (h, m, s),
        _ => return None,
    };
    let fits = hours < 16 && minutes < 60 && seconds < 60;
    fits.then_some(sign * (hours * 3_600 + minutes * 60 + seconds))
}

/// A distance to the east as a zone of POSIX: `<-08>+08`.
fn shown_fixed(seconds: i32) -> String {
    let clock = |sign: char| {
        let minutes = seconds.abs() / 60;
        match minutes % 60 {
            0 => format!("{sign}{:02}", minutes / 60),
            rest => format!("{sign}{:02}:{rest:02}", minutes / 60),
        }
    };
    let (east, west) = if seconds < 0 { ('-', '+') } else { ('+', '-') };
    format!("<{}>{}", clock(east), clock(west))
}

/// A distance from UTC behind a time: `+00`, `-03:30`.
pub(crate) fn shown_offset(micros: i64) -> String {
    let seconds = micros / MICROS_PER_SECOND;
    let sign = if seconds < 0 { '-' } else { '+' };
    let seconds = seconds.abs();
    let (hours, minutes, rest) = (seconds / 3_600, seconds / 60 % 60, seconds % 60);
    match (minutes, rest) {
        (0, 0) => format!("{sign}{hours:02}"),
        (_, 0) => format!("{sign}{hours:02}:{minutes:02}"),
        _ => format!("{sign}{hours:02}:{minutes:02}:{rest:02}"),
    }
}

/// What reading and printing depends on besides the text.
#[derive(Clone, Copy, Debug)]
pub struct Context {
    /// The zone of the session.
    pub zone: Zone,
    /// When the statement began, in microseconds since 1970 (UTC), if that is known.
    pub now_us: Option<i64>,
}

impl Context {
    /// Outside of any session's work.
    const NONE: Context = Context { zone: Zone::UTC, now_us: None };
}

impl Default for Context {
    fn default() -> Context {
        Context::NONE
    }
}

thread_local! {
    static CURRENT: Cell<Context> = const { Cell::new(Context::NONE) };
}

/// What this thread works in; UTC outside of any session's work.
pub fn current() -> Context {
    CURRENT.get()
}

/// Until the guard goes, this thread works in a context. Not to be held across a suspension.
pub fn enter(context: Context) -> Entered {
    Entered { before: CURRENT.replace(context), thread: PhantomData }
}

/// Ends the work in a context when it goes.
#[must_use]
pub struct Entered {
    before: Context,
    /// The context is that of one thread.
    thread: PhantomData<*const ()>,
}

impl Drop for Entered {
    fn drop(&mut self) {
        CURRENT.set(self.before);
    }
}
