//! Dates and times in the many forms that PostgreSQL reads, with month before day (`DateStyle` MDY).

use crate::blanks::is_blank;
use crate::zone::{self, Zone};

use super::{clock_micros, days_of};
use crate::datetime::units::{MICROS_PER_DAY, MICROS_PER_SECOND};

/// What a text says; a field that it does not name is `None`.
#[derive(Debug, Default)]
pub(super) struct Decoded {
    /// Days since 1970-01-01.
    pub date: Option<i64>,
    /// Microseconds since midnight.
    pub clock: Option<i64>,
    /// The zone behind the time.
    pub zone: Option<Zone>,
    /// A word that is a value by itself.
    pub special: Option<Special>,
}

/// Words that are values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Special {
    Epoch,
    Now,
    /// Midnight, so many days from today.
    Day(i64),
    Infinity,
    MinusInfinity,
}

/// Why a text is no value.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Problem {
    /// It is not written as one.
    Format,
    /// A field has a value that it cannot have.
    Range,
    /// It names an unknown zone.
    Zone(String),
}

#[derive(Debug)]
enum Token<'a> {
    Word(&'a str),
    Number(&'a str),
    /// Fields with `-`, `/` or `.` between them.
    Date(&'a str),
    /// Fields with `:` between them.
    Clock(&'a str),
    /// A sign and what follows it.
    Offset(&'a str),
}

const MONTHS: [&str; 12] = [
    "january",
    "february",
    "march",
    "april",
    "may",
    "june",
    "july",
    "august",
    "september",
    "october",
    "november",
    "december",
];
const DAYS: [&str; 7] =
    ["sunday", "monday", "tuesday", "wednesday", "thursday", "friday", "saturday"];

/// Reads a text.
pub(super) fn decode(text: &str) -> Result<Decoded, Problem> {
    let mut fields = Fields::default();
    for token in tokens(text)? {
        fields.take(token)?;
    }
    fields.finish()
}

fn tokens(text: &str) -> Result<Vec<Token<'_>>, Problem> {
    let bytes = text.as_bytes();
    let (mut found, mut at) = (vec![], 0);
    let run = |from: usize, keep: &dyn Fn(u8) -> bool| {
        from + bytes[from..].iter().take_while(|b| keep(**b)).count()
    };
    let digit = |at: usize| bytes.get(at).is_some_and(u8::is_ascii_digit);
    while at < bytes.len() {
        let start = at;
        match bytes[at] {
            b if is_blank(char::from(b)) || b == b',' => at += 1,
            b'0'..=b'9' => {
                let end = run(at, &|b| b.is_ascii_digit());
                let next = bytes.get(end).copied().unwrap_or(b' ');
                let dotted = next == b'.' && {
                    let second = run(end + 1, &|b| b.is_ascii_digit());
                    bytes.get(second) == Some(&b'.')
                };
                // Six digits may be a time with a zone behind it, unless a month and a day follow.
                let followed = next == b'-' && {
                    let second = run(end + 1, &|b| b.is_ascii_digit());
                    second > end + 1 && bytes.get(second) == Some(&b'-')
                };
                let is_date = dotted
                    || next == b'/'
                    || next == b'-' && (end - at < 6 || end - at == 6 && followed);
                if next == b':' {
                    at = run(end, &|b| b.is_ascii_digit() || b == b':' || b == b'.');
                    found.push(Token::Clock(&text[start..at]));
                } else if is_date {
                    at = date_end(bytes, end);
                    found.push(Token::Date(&text[start..at]));
                } else {
                    at = run(end, &|b| b.is_ascii_digit() || b == b'.');
                    found.push(Token::Number(&text[start..at]));
                }
            }
            b'+' | b'-' if digit(at + 1) => {
                at = run(at + 1, &|b| b.is_ascii_digit() || b == b':' || b == b'.');
                found.push(Token::Offset(&text[start..at]));
            }
            b'-' | b'a'..=b'z' | b'A'..=b'Z' => {
                let end = run(at + 1, &|b| b.is_ascii_alphabetic());
                let next = bytes.get(end).copied().unwrap_or(b' ');
                if b"-/.".contains(&next) && month(&text[at..end]).is_some() {
                    at = date_end(bytes, end);
                    found.push(Token::Date(&text[start..at]));
                } else if b"/_".contains(&next) {
                    at = run(end, &|b| b.is_ascii_alphanumeric() || b"/_+-".contains(&b));
                    found.push(Token::Word(&text[start..at]));
                } else {
                    at = end;
                    found.push(Token::Word(&text[start..at]));
                }
            }
            _ => return Err(Problem::Format),
        }
    }
    Ok(found)
}

/// Where a date with separators ends; letters stand behind a separator only.
fn date_end(bytes: &[u8], mut at: usize) -> usize {
    while let Some(b) = bytes.get(at) {
        let before = bytes[at - 1];
        let goes_on = b.is_ascii_digit()
            || b"-/.".contains(b)
            || b.is_ascii_alphabetic() && !before.is_ascii_digit();
        if !goes_on {
            break;
        }
        at += 1;
    }
    at
}

fn month(word: &str) -> Option<i32> {
    let word = word.to_ascii_lowercase();
    let named = |name: &&str| {
        *name == word || name[..3] == word || word == "sept" && name.starts_with("sept")
    };
    MONTHS.iter().position(named).map(|i| i as i32 + 1)
}

fn is_weekday(word: &str) -> bool {
    let also = ["tues", "wednes", "weds", "thur", "thurs"];
    DAYS.iter().any(|name| *name == word || name[..3] == *word) || also.contains(&word)
}

#[derive(Default)]
struct Fields {
    year: Option<i64>,
    /// The year has two digits: one between 1970 and 2069.
    short_year: bool,
    month: Option<i32>,
    /// The month was a name.
    named: bool,
    day: Option<i32>,
    day_of_year: Option<i64>,
    julian: Option<i64>,
    clock: Option<i64>,
    afternoon: Option<bool>,
    before_christ: bool,
    zone: Option<Zone>,
    special: Option<Special>,
    /// A `T` stood before: digits are a time.
    time_follows: bool,
    /// A `J` stood before.
    julian_follows: bool,
}

impl Fields {
    fn take(&mut self, token: Token<'_>) -> Result<(), Problem> {
        match token {
            Token::Date(text) => self.date(text),
            Token::Clock(text) => self.clock(clock_micros(text).ok_or(Problem::Range)?),
            Token::Number(text) => self.number(text),
            Token::Offset(text) => {
                // Only behind a time or a date is it a zone.
                if self.clock.is_none() && !self.has_date() {
                    return Err(Problem::Format);
                }
                let seconds = zone::distance(text).ok_or(Problem::Range)?;
                self.set_zone(Zone::Fixed(seconds))
            }
            Token::Word(text) => self.word(text),
        }
    }

    fn has_date(&self) -> bool {
        self.julian.is_some()
            || self.year.is_some()
                && (self.day_of_year.is_some() || self.month.is_some() && self.day.is_some())
    }

    fn set_year(&mut self, digits: &str) -> Result<(), Problem> {
        self.year = Some(i64::from(number(digits)?));
        self.short_year = digits.len() <= 2;
        Ok(())
    }

    fn set_zone(&mut self, zone: Zone) -> Result<(), Problem> {
        match self.zone.replace(zone) {
            Some(_) => Err(Problem::Format),
            None => Ok(()),
        }
    }

    fn clock(&mut self, micros: i64) -> Result<(), Problem> {
        self.time_follows = false;
        match self.clock.replace(micros) {
            Some(_) => Err(Problem::Format),
            None if micros > MICROS_PER_DAY => Err(Problem::Range),
            None => Ok(()),
        }
    }

    fn date(&mut self, text: &str) -> Result<(), Problem> {
        let parts: Vec<&str> = text.split(['-', '/', '.']).collect();
        let &[a, b, c] = parts.as_slice() else { return Err(Problem::Format) };
        if self.year.is_some() || self.day.is_some() || [a, b, c].contains(&"") {
            return Err(Problem::Format);
        }
        let (year, month_number, day) = match (month(a), month(b), month(c)) {
            (None, None, None) if a.len() > 2 => (a, number(b)?, c),
            (None, None, None) => (c, number(a)?, b),
            (Some(m), None, None) if b.len() > 2 => (b, m, c),
            (Some(m), None, None) => (c, m, b),
            (None, Some(m), None) if a.len() > 2 => (a, m, c),
            (None, Some(m), None) => (c, m, a),
            (None, None, Some(m)) if a.len() > 2 => (a, m, b),
            (None, None, Some(_)) => return Err(Problem::Range),
            _ => return Err(Problem::Format),
        };
        self.set_year(year)?;
        self.month = Some(month_number);
        self.named = true;
        self.day = Some(number(day)?);
        Ok(())
    }

    fn number(&mut self, text: &str) -> Result<(), Problem> {
        let (digits, fraction) = text.split_once('.').unwrap_or((text, ""));
        if std::mem::take(&mut self.julian_follows) {
            self.julian = Some(i64::from(number(digits)?));
            if fraction.is_empty() {
                return Ok(());
            }
            let share: f64 = format!("0.{fraction}").parse().map_err(|_| Problem::Format)?;
            return self.clock((share * MICROS_PER_DAY as f64).round() as i64);
        }
        if self.time_follows || self.has_date() && self.clock.is_none() && digits.len() >= 4 {
            return self.clock(clock_of_digits(digits, fraction)?);
        }
        if self.year.is_none() && self.month.is_none() && digits.len() == 4 && fraction.len() == 3 {
            self.set_year(digits)?;
            self.day_of_year = Some(i64::from(number(fraction)?));
            return Ok(());
        }
        if !fraction.is_empty() && digits.len() != 14 {
            return Err(Problem::Format);
        }
        let open = self.year.is_none() && self.month.is_none() && self.day.is_none();
        match digits.len() {
            14 if open => {
                self.compact(&digits[..4], &digits[4..6], &digits[6..8])?;
                self.clock(clock_of_digits(&digits[8..], fraction)?)
            }
            8 if open => self.compact(&digits[..4], &digits[4..6], &digits[6..]),
            7 if open => {
                self.set_year(&digits[..4])?;
                self.day_of_year = Some(i64::from(number(&digits[4..])?));
                Ok(())
            }
            6 if open => self.compact(&digits[..2], &digits[2..4], &digits[4..]),
            3 if self.year.is_some() && self.month.is_none() => {
                self.day_of_year = Some(i64::from(number(digits)?));
                Ok(())
            }
            _ => self.loose(digits),
        }
    }

    fn compact(&mut self, year: &str, month: &str, day: &str) -> Result<(), Problem> {
        self.set_year(year)?;
        self.month = Some(number(month)?);
        (self.day, self.named) = (Some(number(day)?), true);
        Ok(())
    }

    /// A number that stands alone: year, month or day, by what is known already.
    fn loose(&mut self, digits: &str) -> Result<(), Problem> {
        let long = digits.len() > 2;
        if long && self.year.is_none() {
            self.set_year(digits)?;
        } else if long {
            return Err(Problem::Format);
        } else if self.month.is_none() {
            self.month = Some(number(digits)?);
        } else if self.day.is_none() {
            self.day = Some(number(digits)?);
        } else if self.year.is_none() {
            self.set_year(digits)?;
        } else {
            return Err(Problem::Format);
        }
        Ok(())
    }

    fn word(&mut self, given: &str) -> Result<(), Problem> {
        let word = given.to_ascii_lowercase();
        if let Some(number) = month(&word) {
            // A number that was taken for the month is the day.
            if let Some(day) = self.month.replace(number)
                && (self.named || self.day.replace(day).is_some())
            {
                return Err(Problem::Format);
            }
            self.named = true;
            return Ok(());
        }
        if is_weekday(&word) {
            return Ok(());
        }
        match word.as_str() {
            "t" if self.clock.is_none() => self.time_follows = true,
            "j" | "jd" | "julian" => self.julian_follows = true,
            "am" => self.afternoon = Some(false),
            "pm" => self.afternoon = Some(true),
            "ad" => {}
            "bc" => self.before_christ = true,
            "allballs" => {
                self.clock(0)?;
                self.set_zone(Zone::UTC)?;
            }
            "epoch" => self.special(Special::Epoch)?,
            "now" => self.special(Special::Now)?,
            "today" => self.special(Special::Day(0))?,
            "tomorrow" => self.special(Special::Day(1))?,
            "yesterday" => self.special(Special::Day(-1))?,
            "infinity" => self.special(Special::Infinity)?,
            "-infinity" => self.special(Special::MinusInfinity)?,
            _ => {
                let zone = Zone::parse(given).map_err(|_| match given.contains('/') {
                    true => Problem::Zone(given.to_owned()),
                    false => Problem::Format,
                })?;
                self.set_zone(zone)?;
            }
        }
        Ok(())
    }

    fn special(&mut self, special: Special) -> Result<(), Problem> {
        match self.special.replace(special) {
            Some(_) => Err(Problem::Format),
            None => Ok(()),
        }
    }

    fn finish(self) -> Result<Decoded, Problem> {
        let half = MICROS_PER_DAY / 2;
        let clock = match (self.clock, self.afternoon) {
            (Some(clock), Some(_)) if clock >= half + 3_600 * MICROS_PER_SECOND => {
                return Err(Problem::Range);
            }
            (Some(clock), Some(true)) if clock < half => Some(clock + half),
            (Some(clock), Some(false)) if clock >= half => Some(clock - half),
            (None, Some(_)) => return Err(Problem::Format),
            (clock, _) => clock,
        };
        let named = self.year.is_some() || self.month.is_some() || self.day.is_some();
        let date = match (self.julian, self.day_of_year, named) {
            (Some(julian), ..) => Some(julian - JULIAN_1970),
            (None, Some(day), _) => {
                let first = days_of(self.calendar_year()?, 1, 1).ok_or(Problem::Range)?;
                if !(1..=366).contains(&day) {
                    return Err(Problem::Range);
                }
                Some(first + day - 1)
            }
            (None, None, true) => {
                let (Some(_), Some(month), Some(day)) = (self.year, self.month, self.day) else {
                    return Err(Problem::Format);
                };
                Some(days_of(self.calendar_year()?, month, day).ok_or(Problem::Range)?)
            }
            (None, None, false) => None,
        };
        let nothing = date.is_none() && clock.is_none() && self.special.is_none();
        if nothing || self.time_follows || self.special.is_some() && date.is_some() {
            return Err(Problem::Format);
        }
        Ok(Decoded { date, clock, zone: self.zone, special: self.special })
    }

    /// The year as the calendar counts it: the one before 1 is 0.
    fn calendar_year(&self) -> Result<i64, Problem> {
        match self.year.ok_or(Problem::Range)? {
            year if self.short_year && !self.before_christ && year < 70 => Ok(year + 2_000),
            year if self.short_year && !self.before_christ => Ok(year + 1_900),
            0 => Err(Problem::Range),
            year if self.before_christ => Ok(1 - year),
            year => Ok(year),
        }
    }
}

/// The day of 1970-01-01 in the count of astronomers.
const JULIAN_1970: i64 = 2_440_588;

fn number(digits: &str) -> Result<i32, Problem> {
    if !digits.bytes().all(|b| b.is_ascii_digit()) {
        return Err(Problem::Format);
    }
    digits.parse().map_err(|_| Problem::Range)
}

/// `HHMMSS`, `HHMM` or `HH`, with a fraction of the last.
fn clock_of_digits(digits: &str, fraction: &str) -> Result<i64, Problem> {
    let text = match digits.len() {
        6 => format!("{}:{}:{}.{fraction}", &digits[..2], &digits[2..4], &digits[4..]),
        4 => format!("{}:{}", &digits[..2], &digits[2..]),
        2 => format!("{digits}:00"),
        _ => return Err(Problem::Format),
    };
    clock_micros(&text).ok_or(Problem::Range)
}
