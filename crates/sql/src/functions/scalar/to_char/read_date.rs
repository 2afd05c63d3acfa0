//! `to_date` and `to_timestamp`: points in time out of texts by templates.

use types::zone::Zone;
use types::{SqlError, SqlResult, SqlState};

use crate::functions::scalar::to_char::date_template::{Field, Piece, is_separator, pieces};
use crate::functions::scalar::to_char::fields_read::{Fields, bad_format, bad_value, overflow};
use crate::functions::scalar::to_char::{MONTHS, ROMAN_MONTHS, WEEKDAYS};

/// The first and the last day that there are, since 1970.
const DAYS: std::ops::Range<i64> = -2_440_588..2_145_042_906;

/// Days since 1970.
pub(crate) fn date(text: &str, template: &str) -> SqlResult<i32> {
    let days = fields(text, template)?.day(text)?;
    let found = i32::try_from(days).ok().filter(|_| DAYS.contains(&days));
    found.ok_or_else(|| {
        let message = format!("date out of range: \"{text}\"");
        SqlError::new(SqlState::DATETIME_FIELD_OVERFLOW, message)
    })
}

/// Microseconds since 1970; the time is that of `zone`, where the text has no other.
pub(crate) fn instant(text: &str, template: &str, zone: Zone) -> SqlResult<i64> {
    let fields = fields(text, template)?;
    let zone = fields.offset(text)?.map_or(zone, Zone::Fixed);
    Ok(zone.instant_of(fields.moment(text)?))
}

fn fields(text: &str, template: &str) -> SqlResult<Fields> {
    let pieces = pieces(template);
    let mut reader =
        Reader { text, rest: text, skipped: 0, exact: false, fields: Fields::default() };
    for (at, piece) in pieces.iter().enumerate() {
        if reader.rest.is_empty() {
            break;
        }
        let is_field = matches!(piece, Piece::Field(_));
        let is_exact = matches!(piece, Piece::Field(Field { word: "FX", .. }));
        if !reader.exact && !is_exact && (is_field || at == 0) {
            reader.skip_spaces();
        }
        match piece {
            Piece::Field(field) => {
                let open = field.plain || field.ordinal.is_some() || ends(pieces.get(at + 1));
                reader.field(*field, open)?;
                if !reader.exact {
                    reader.skipped = 0;
                    reader.skip_spaces();
                }
            }
            Piece::Space(_) | Piece::Separator(_) => reader.separator(),
            Piece::Letter(_) => reader.letter(),
        }
    }
    Ok(reader.fields)
}

/// Whether what follows a number cannot be one of its digits.
fn ends(next: Option<&Piece>) -> bool {
    match next {
        Some(Piece::Field(field)) => {
            WITHOUT_DIGITS.iter().any(|w| w.eq_ignore_ascii_case(field.word))
        }
        Some(Piece::Letter(c) | Piece::Separator(c) | Piece::Space(c)) => !c.is_ascii_digit(),
        None => true,
    }
}

/// Words whose values do not begin with a digit.
const WITHOUT_DIGITS: [&str; 17] = [
    "A.D.", "A.M.", "AD", "AM", "B.C.", "BC", "DAY", "DY", "FX", "MONTH", "MON", "OF", "P.M.",
    "PM", "RM", "TZH", "TZ",
];

/// A text while fields are read from it.
struct Reader<'a> {
    text: &'a str,
    rest: &'a str,
    /// Letters that were skipped beyond those of the template.
    skipped: i64,
    /// Behind `FX`: each letter of the template is one of the text.
    exact: bool,
    fields: Fields,
}

impl<'a> Reader<'a> {
    fn skip_spaces(&mut self) {
        let after = self.rest.trim_ascii_start();
        self.skipped += (self.rest.len() - after.len()) as i64;
        self.rest = after;
    }

    fn skip_letter(&mut self) {
        let mut letters = self.rest.chars();
        letters.next();
        self.rest = letters.as_str();
    }

    fn separator(&mut self) {
        if self.exact {
            return self.skip_letter();
        }
        self.skipped -= 1;
        if self.rest.starts_with(|c: char| c.is_ascii_whitespace() || is_separator(c)) {
            self.skip_letter();
            self.skipped += 1;
        }
    }

    fn letter(&mut self) {
        match !self.exact && self.skipped > 0 {
            true => self.skipped -= 1,
            false => self.skip_letter(),
        }
    }

    fn field(&mut self, field: Field, open: bool) -> SqlResult<()> {
        let upper = field.word.to_ascii_uppercase();
        match upper.as_str() {
            "FX" => self.exact = true,
            "TZ" | "OF" => {
                let word = field.word;
                let message = format!("formatting field \"{word}\" is only supported in to_char");
                return Err(SqlError::new(SqlState::FEATURE_NOT_SUPPORTED, message));
            }
            "TZH" => self.zone_hours(field, open)?,
            "AM" | "PM" | "A.M." | "P.M." | "AD" | "BC" | "A.D." | "B.C." => {
                self.half(&upper, field)?;
            }
            "MONTH" | "MON" | "DAY" | "DY" | "RM" => self.name(&upper, field)?,
            "Y,YYY" => self.year_with_comma(field)?,
            _ => {
                self.number(&upper, field, open)?;
                if field.ordinal.is_some() {
                    self.skip_letter();
                    self.skip_letter();
                }
            }
        }
        Ok(())
    }

    fn zone_hours(&mut self, field: Field, open: bool) -> SqlResult<()> {
        let read = &self.text[..self.text.len() - self.rest.len()];
        self.fields.zone_sign = match self.rest.chars().next() {
            Some(sign @ ('+' | '-' | ' ')) => {
                self.skip_letter();
                if sign == '-' { -1 } else { 1 }
            }
            // The minus may have been taken for a separator.
            _ if self.skipped > 0 && read.ends_with('-') => -1,
            _ => 1,
        };
        self.fields.zone_hours = self.take_number(field, 2, open)?.0;
        Ok(())
    }

    /// One of two words: the half of the day, or the era.
    fn half(&mut self, upper: &str, field: Field) -> SqlResult<()> {
        let names: [&str; 2] = match upper {
            "AM" | "PM" => ["am", "pm"],
            "A.M." | "P.M." => ["a.m.", "p.m."],
            "AD" | "BC" => ["ad", "bc"],
            _ => ["a.d.", "b.c."],
        };
        let second = self.take_name(&names, field)? as i64;
        let is_clock = upper.contains('M');
        self.fields.twelve |= is_clock;
        let known = match is_clock {
            true => &mut self.fields.afternoon,
            false => &mut self.fields.before_christ,
        };
        put(known, second, field)
    }

    fn name(&mut self, upper: &str, field: Field) -> SqlResult<()> {
        if matches!(upper, "MONTH" | "MON" | "RM") {
            self.fields.set_calendar(false)?;
        }
        match upper {
            "MONTH" | "MON" => {
                let names = MONTHS.map(|m| if upper == "MON" { &m[..3] } else { m });
                let month = self.take_name(&names, field)? as i64 + 1;
                put(&mut self.fields.month, month, field)
            }
            "RM" => {
                // The longer ones first: `VIII` begins with `V`.
                let mut names = ROMAN_MONTHS;
                names.reverse();
                let month = 12 - self.take_name(&names, field)? as i64;
                put(&mut self.fields.month, month, field)
            }
            _ => {
                let names = WEEKDAYS.map(|d| if upper == "DY" { &d[..3] } else { d });
                let day = self.take_name(&names, field)? as i64 + 1;
                put(&mut self.fields.weekday, day, field)
            }
        }
    }

    fn take_name(&mut self, names: &[&str], field: Field) -> SqlResult<usize> {
        let begins = |name: &&str| {
            self.rest.get(..name.len()).is_some_and(|given| given.eq_ignore_ascii_case(name))
        };
        let Some(at) = names.iter().position(begins) else {
            let given = self.rest.split_ascii_whitespace().next().unwrap_or_default();
            let detail = "The given value did not match any of the allowed values for this field.";
            return Err(bad_value(given, field).with_detail(detail));
        };
        self.rest = &self.rest[names[at].len()..];
        Ok(at)
    }

    fn year_with_comma(&mut self, field: Field) -> SqlResult<()> {
        let bad = || bad_format("invalid input string for \"Y,YYY\"");
        let (millennia, after) = signed(self.rest).ok_or_else(bad)?;
        let after = after.strip_prefix(',').ok_or_else(bad)?;
        let length = after.bytes().take(3).take_while(u8::is_ascii_digit).count();
        let years: i64 = after[..length].parse().map_err(|_| bad())?;
        self.rest = &after[length..];
        let year = millennia.checked_mul(1_000).and_then(|m| m.checked_add(years));
        self.fields.year_digits = 4;
        self.fields.set_calendar(false)?;
        put(&mut self.fields.year, year.ok_or_else(|| overflow(self.text))?, field)
    }

    fn number(&mut self, upper: &str, field: Field, open: bool) -> SqlResult<()> {
        if let Some(by_weeks) = calendar(upper) {
            self.fields.set_calendar(by_weeks)?;
        }
        let width = match upper.as_bytes() {
            b"HH24" | b"HH12" => 2,
            b"ID" => 1,
            b"IDDD" | b"MS" => 3,
            b"US" => 6,
            [b'F', b'F', places] => usize::from(places - b'0'),
            other => other.len(),
        };
        let (value, length) = self.take_number(field, width, open)?;
        let fields = &mut self.fields;
        let place = match upper {
            "HH24" => &mut fields.hour,
            "HH12" | "HH" => {
                fields.twelve = true;
                &mut fields.hour
            }
            "MI" => &mut fields.minute,
            "SS" => &mut fields.second,
            "SSSS" | "SSSSS" => &mut fields.seconds_of_day,
            "MS" => return put(&mut fields.millis, as_fraction(value, length, 3), field),
            "US" | "FF1" | "FF2" | "FF3" | "FF4" | "FF5" | "FF6" => {
                return put(&mut fields.micros, as_fraction(value, length, 6), field);
            }
            "TZM" => {
                fields.zone_sign = if fields.zone_sign == 0 { 1 } else { fields.zone_sign };
                &mut fields.zone_minutes
            }
            "YYYY" | "IYYY" | "YYY" | "IYY" | "YY" | "IY" | "Y" | "I" => {
                fields.year_digits = upper.len();
                let partial = upper.len() < 4 && length < 4;
                let year = if partial { near_2020(value) } else { value };
                return put(&mut fields.year, year, field);
            }
            "MM" => &mut fields.month,
            "DD" => &mut fields.day,
            "DDD" | "IDDD" => &mut fields.year_day,
            "D" => &mut fields.weekday,
            "ID" => return put(&mut fields.weekday, value % 7 + 1, field),
            "WW" | "IW" => &mut fields.week,
            "W" => &mut fields.month_week,
            "CC" => &mut fields.century,
            "J" => &mut fields.julian,
            // A quarter says nothing of the day.
            _ => return Ok(()),
        };
        put(place, value, field)
    }

    /// A number of so many digits, or, where it is `open`, of as many as there are; and its length.
    fn take_number(&mut self, field: Field, width: usize, open: bool) -> SqlResult<(i64, usize)> {
        let begin = self.rest;
        let after = begin.trim_ascii_start();
        if open {
            let (value, rest) = signed(after).ok_or_else(|| no_number(begin, width, field))?;
            self.rest = rest;
            return in_range(value, field).map(|value| (value, begin.len() - rest.len()));
        }
        let given: String = after.chars().take(width).collect();
        let hint = "If your source string is not fixed-width, try using the \"FM\" modifier.";
        if given.len() < width {
            let word = field.word;
            let message = format!("source string too short for \"{word}\" formatting field");
            let left = given.len();
            let detail = format!("Field requires {width} characters, but only {left} remain.");
            return Err(bad_format(&message).with_detail(detail).with_hint(hint));
        }
        let (value, rest) = signed(&given).ok_or_else(|| no_number(begin, width, field))?;
        let used = given.len() - rest.len();
        if used < width {
            let detail =
                format!("Field requires {width} characters, but only {used} could be parsed.");
            return Err(bad_value(&given, field).with_detail(detail).with_hint(hint));
        }
        self.rest = &after[used..];
        in_range(value, field).map(|value| (value, begin.len() - self.rest.len()))
    }
}

/// Whether a field belongs to the years of weeks; `None` for one that is of either.
fn calendar(upper: &str) -> Option<bool> {
    match upper {
        "IYYY" | "IYY" | "IY" | "I" | "IW" | "ID" | "IDDD" => Some(true),
        "YYYY" | "YYY" | "YY" | "Y" | "WW" | "W" | "DDD" | "DD" | "D" | "MM" => Some(false),
        _ => None,
    }
}

/// Sets a field that has no other value yet.
fn put(place: &mut i64, value: i64, field: Field) -> SqlResult<()> {
    if *place != 0 && *place != value {
        let message =
            format!("conflicting values for \"{}\" field in formatting string", field.word);
        let detail = "This value contradicts a previous setting for the same field type.";
        return Err(bad_format(&message).with_detail(detail));
    }
    *place = value;
    Ok(())
}

/// Digits behind a point: 25 is a quarter.
fn as_fraction(value: i64, length: usize, places: u32) -> i64 {
    value * 10i64.pow(places.saturating_sub(u32::try_from(length).unwrap_or(places)))
}

/// The year next to 2020 that ends so.
fn near_2020(year: i64) -> i64 {
    match year {
        0..=69 => year + 2_000,
        70..=99 => year + 1_900,
        100..=519 => year + 2_000,
        520..=999 => year + 1_000,
        other => other,
    }
}

/// A whole number with its sign, and what is behind it.
fn signed(text: &str) -> Option<(i64, &str)> {
    let sign = usize::from(text.starts_with(['-', '+']));
    let digits = text[sign..].bytes().take_while(u8::is_ascii_digit).count();
    let (number, rest) = text.split_at(sign + digits);
    let value = if digits > 18 { Some(i64::MAX) } else { number.parse().ok() };
    (digits > 0).then_some((value?, rest))
}

fn no_number(input: &str, width: usize, field: Field) -> SqlError {
    let given: String = input.chars().take(width).collect();
    bad_value(&given, field).with_detail("Value must be an integer.")
}

fn in_range(value: i64, field: Field) -> SqlResult<i64> {
    if i32::try_from(value).is_ok() {
        return Ok(value);
    }
    let message = format!("value for \"{}\" in source string is out of range", field.word);
    let detail = format!("Value must be in the range {} to {}.", i32::MIN, i32::MAX);
    Err(SqlError::new(SqlState::DATETIME_FIELD_OVERFLOW, message).with_detail(detail))
}
