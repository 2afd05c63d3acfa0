//! `to_char`, `to_date`, `to_timestamp` and `to_number`: values by templates.

use std::sync::Arc;

use arrow_array::{ArrayRef, Date32Array, TimestampMicrosecondArray};
use plan::limits;
use types::SqlResult;
use types::datetime::infinite::is_finite;
use types::datetime::{Civil, civil_of, days_of};
use types::numeric::wide;
use types::zone::{self, Zone};

use crate::functions::scalar::date_parts::iso_week;
use crate::functions::scalar::dates;
use crate::functions::scalar::overload::{Args, Functions, Ty};
use crate::functions::scalar::returns::{date, text, timestamptz};
use date_template::{Field, Piece};
use numbers::{float, number};
use read_number::{number_type, to_number};

mod date_template;
mod fields_read;
mod number_template;
mod numbers;
mod read_date;
mod read_number;
mod spans;

/// Memory of a letter of a template: its piece, and the text in its place.
const LETTER_BYTES: usize = 48;

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

pub(crate) fn register(functions: &mut Functions) {
    functions.strict("to_char", &[Ty::Ts, Ty::Text], text, |args| {
        args.texts(|row| {
            let (micros, template) = (args.micros(0, row), args.text(1).value(row));
            if has_no_text(micros, template) {
                return Ok(None);
            }
            shown(template, |word, plain| Ok(field(micros, None, word, plain)))
        })
    });
    functions.strict("to_char", &[Ty::Tz, Ty::Text], text, |args| {
        let zone = zone::current().zone;
        args.texts(|row| {
            let (instant, template) = (args.micros(0, row), args.text(1).value(row));
            if has_no_text(instant, template) {
                return Ok(None);
            }
            let (local, here) = (zone.local_of(instant), Some((zone, instant)));
            shown(template, |word, plain| Ok(field(local, here, word, plain)))
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
    functions.strict("to_char", &[Ty::Big, Ty::Text], text, |args| {
        args.texts(|row| {
            number(&args.big(0, row).to_string(), 0, args.text(1).value(row)).map(Some)
        })
    });
    functions.strict("to_char", &[Ty::Float, Ty::Text], text, |args| {
        args.texts(|row| float(args.float(0, row), args.text(1).value(row)).map(Some))
    });
    functions.strict("to_date", &[Ty::Text, Ty::Text], date, |args| {
        Ok(Arc::new(args.each::<_, Date32Array>(|row| {
            read_date::date(args.text(0).value(row), args.text(1).value(row)).map(Some)
        })?))
    });
    functions.strict("to_timestamp", &[Ty::Text, Ty::Text], timestamptz, |args| {
        let zone = zone::current().zone;
        instants(args, |row| {
            read_date::instant(args.text(0).value(row), args.text(1).value(row), zone)
        })
    });
    functions.strict("to_timestamp", &[Ty::Float], timestamptz, |args| {
        instants(args, |row| instant_of_epoch(args.float(0, row)))
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

/// The first and the last second of which there is a timestamp, since 1970.
const EPOCHS: std::ops::Range<f64> = -210_866_803_200.0..9_224_318_016_000.0;

/// The instant of seconds since 1970.
fn instant_of_epoch(seconds: f64) -> SqlResult<i64> {
    if seconds.is_infinite() {
        return Ok(if seconds > 0.0 { i64::MAX } else { i64::MIN });
    }
    if seconds.is_nan() {
        return Err(dates::out_of_range("timestamp cannot be NaN"));
    }
    if !EPOCHS.contains(&seconds) {
        let shown = types::text::format_float(seconds);
        return Err(dates::out_of_range(&format!("timestamp out of range: \"{shown}\"")));
    }
    // Beyond 2000 as PostgreSQL counts, so that the last digit is rounded as there.
    Ok(((seconds - EPOCH_2000) * 1e6).round_ties_even() as i64 + EPOCH_2000 as i64 * 1_000_000)
}

/// Seconds from 1970 to 2000.
const EPOCH_2000: f64 = 946_684_800.0;

/// Whether a moment is shown as null: one without end has no fields, and a template may ask for none.
fn has_no_text(micros: i64, template: &str) -> bool {
    !is_finite(micros) || template.is_empty()
}

/// A template with its words replaced by values.
fn shown(
    template: &str,
    value: impl Fn(&str, bool) -> SqlResult<String>,
) -> SqlResult<Option<String>> {
    limits::room(template.len().saturating_mul(LETTER_BYTES))?;
    let mut out = String::new();
    for piece in date_template::pieces(template) {
        limits::go_on()?;
        match piece {
            Piece::Field(Field { word: "FX", .. }) => {}
            Piece::Field(field) => {
                let value = value(field.word, field.plain)?;
                out.push_str(&value);
                let number = value.ends_with(|c: char| c.is_ascii_digit());
                match field.ordinal.filter(|_| number) {
                    Some(true) => out.push_str(&ordinal_suffix(&value).to_uppercase()),
                    Some(false) => out.push_str(ordinal_suffix(&value)),
                    None => {}
                }
            }
            Piece::Space(c) | Piece::Separator(c) | Piece::Letter(c) => out.push(c),
        }
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
    // Years before Christ are counted from 1 on, without a sign.
    let of_era = |year: i64| if year > 0 { year } else { 1 - year };
    let (shown_year, iso_year) = (of_era(year), of_era(iso_week(days).0));
    let (month_name, day_name) = (MONTHS[(month - 1) as usize], WEEKDAYS[weekday as usize]);
    let text =
        fraction_of_second(word, fraction).or_else(|| half_or_era(word, hour < 12, year > 0));
    if let Some(text) = text.or_else(|| name_of(word, month_name, day_name, plain)) {
        return text;
    }
    match word {
        "HH24" => padded(hour, 2),
        "HH12" | "HH" => padded((hour + 11) % 12 + 1, 2),
        "MI" => padded(seconds / 60 % 60, 2),
        "SS" => padded(seconds % 60, 2),
        "SSSSS" | "SSSS" => padded(seconds, 1),
        "Y,YYY" => format!("{},{:03}", shown_year / 1_000, shown_year % 1_000),
        "YYYY" => padded(shown_year, 4),
        "YYY" => padded(shown_year % 1_000, 3),
        "YY" => padded(shown_year % 100, 2),
        "Y" => padded(shown_year % 10, 1),
        "IYYY" => padded(iso_year, 4),
        "IYY" => padded(iso_year % 1_000, 3),
        "IY" => padded(iso_year % 100, 2),
        "I" => padded(iso_year % 10, 1),
        "IDDD" => padded(days - iso_first_day(days) + 1, 3),
        "RM" => roman(ROMAN_MONTHS[(month - 1) as usize], plain),
        "rm" => roman(&ROMAN_MONTHS[(month - 1) as usize].to_lowercase(), plain),
        "MM" => padded(month.into(), 2),
        "DDD" => padded(year_day, 3),
        "DD" => padded(day.into(), 2),
        "D" => (weekday + 1).to_string(),
        "ID" => ((weekday + 6) % 7 + 1).to_string(),
        "IW" => padded(iso_week(days).1, 2),
        "WW" => padded((year_day - 1) / 7 + 1, 2),
        "W" => ((i64::from(day) - 1) / 7 + 1).to_string(),
        "CC" if year > 0 => padded((year + 99) / 100, 2),
        // As many places, whatever the sign.
        "CC" => format!("-{}", padded((shown_year + 99) / 100, 2)),
        "Q" => ((month - 1) / 3 + 1).to_string(),
        "J" => (days + 2_440_588).to_string(),
        word => zone_field(here, word),
    }
}

/// The digits behind the point of a second.
fn fraction_of_second(word: &str, micros: i64) -> Option<String> {
    Some(match word {
        "MS" | "FF3" => format!("{:03}", micros / 1_000),
        "US" | "FF6" => format!("{micros:06}"),
        "FF1" => format!("{:01}", micros / 100_000),
        "FF2" => format!("{:02}", micros / 10_000),
        "FF4" => format!("{:04}", micros / 100),
        "FF5" => format!("{:05}", micros / 10),
        _ => return None,
    })
}

/// The half of the day, or the era.
fn half_or_era(word: &str, is_morning: bool, is_after_christ: bool) -> Option<String> {
    let one = |condition: bool, yes: &str, no: &str| (if condition { yes } else { no }).to_owned();
    Some(match word {
        "AM" | "PM" => one(is_morning, "AM", "PM"),
        "am" | "pm" => one(is_morning, "am", "pm"),
        "A.M." | "P.M." => one(is_morning, "A.M.", "P.M."),
        "a.m." | "p.m." => one(is_morning, "a.m.", "p.m."),
        "AD" | "BC" => one(is_after_christ, "AD", "BC"),
        "ad" | "bc" => one(is_after_christ, "ad", "bc"),
        "A.D." | "B.C." => one(is_after_christ, "A.D.", "B.C."),
        "a.d." | "b.c." => one(is_after_christ, "a.d.", "b.c."),
        _ => return None,
    })
}

/// The name of the month or of the day, in nine places if it is whole and not plain.
fn name_of(word: &str, month: &str, day: &str, plain: bool) -> Option<String> {
    let whole = |text: &str| match plain {
        true => text.to_owned(),
        false => format!("{text:<9}"),
    };
    Some(match word {
        "MONTH" => whole(&month.to_uppercase()),
        "Month" => whole(month),
        "month" => whole(&month.to_lowercase()),
        "MON" => month[..3].to_uppercase(),
        "Mon" => month[..3].to_owned(),
        "mon" => month[..3].to_lowercase(),
        "DAY" => whole(&day.to_uppercase()),
        "Day" => whole(day),
        "day" => whole(&day.to_lowercase()),
        "DY" => day[..3].to_uppercase(),
        "Dy" => day[..3].to_owned(),
        "dy" => day[..3].to_lowercase(),
        _ => return None,
    })
}

const ROMAN_MONTHS: [&str; 12] =
    ["I", "II", "III", "IV", "V", "VI", "VII", "VIII", "IX", "X", "XI", "XII"];

/// A month in Roman digits, in as many places as the longest has.
fn roman(month: &str, plain: bool) -> String {
    if plain { month.to_owned() } else { format!("{month:<4}") }
}

/// The Monday with which the year of a day's week begins.
fn iso_first_day(days: i64) -> i64 {
    days - (iso_week(days).1 - 1) * 7 - (days + 3).rem_euclid(7)
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
