//! Values of settings: read as PostgreSQL reads them, shown as it shows them.

use types::zone::Zone;
use types::{SqlError, SqlResult, SqlState};

use super::setting::Kind;
use crate::device;

/// A value, in the setting's unit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Value {
    /// `on` or `off`.
    Bool(bool),
    /// A number, a time or a size.
    Integer(i64),
    /// A text, a choice, or a list.
    Text(String),
}

impl Value {
    pub(crate) fn flag(&self) -> bool {
        *self == Value::Bool(true)
    }

    pub(crate) fn integer(&self) -> i64 {
        match self {
            Value::Integer(number) => *number,
            _ => 0,
        }
    }

    /// The number, for settings that have none below 0.
    pub(crate) fn count(&self) -> usize {
        usize::try_from(self.integer()).unwrap_or(0)
    }

    pub(crate) fn text(&self) -> &str {
        match self {
            Value::Text(text) => text,
            _ => "",
        }
    }

    /// As `pg_settings` has it: without the unit.
    pub fn plain(&self) -> String {
        match self {
            Value::Bool(true) => "on".to_owned(),
            Value::Bool(false) => "off".to_owned(),
            Value::Integer(number) => number.to_string(),
            Value::Text(text) => text.clone(),
        }
    }

    /// As `SHOW` has it: with the largest unit that leaves a whole number.
    pub(crate) fn shown(&self, kind: Kind) -> String {
        match (self, kind) {
            (Value::Integer(number), Kind::Time { unit, .. }) => with_unit(*number, TIMES, unit),
            (Value::Integer(number), Kind::Size { unit, .. }) => with_unit(*number, SIZES, unit),
            _ => self.plain(),
        }
    }
}

/// Units of time in milliseconds, the largest first.
const TIMES: &[(&str, i64)] =
    &[("d", 86_400_000), ("h", 3_600_000), ("min", 60_000), ("s", 1_000), ("ms", 1)];

/// Units of size in bytes, the largest first.
const SIZES: &[(&str, i64)] =
    &[("TB", 1 << 40), ("GB", 1 << 30), ("MB", 1 << 20), ("kB", 1 << 10), ("B", 1)];

fn scale(units: &[(&str, i64)], unit: &str) -> i64 {
    units.iter().find(|(name, _)| *name == unit).map_or(1, |(_, scale)| *scale)
}

fn with_unit(number: i64, units: &[(&str, i64)], unit: &str) -> String {
    let total = number.saturating_mul(scale(units, unit));
    let whole = units.iter().find(|(_, scale)| total > 0 && total % scale == 0);
    whole.map_or_else(|| number.to_string(), |(name, scale)| format!("{}{name}", total / scale))
}

/// The error of a value that the setting cannot have.
pub(crate) fn invalid(name: &str, text: &str) -> SqlError {
    let message = format!("invalid value for parameter \"{name}\": \"{text}\"");
    SqlError::new(SqlState::INVALID_PARAMETER_VALUE, message)
}

/// The setting of which each session, and each line of the log, has a copy.
const APPLICATION_NAME: &str = "application_name";

/// Longest value of a setting: each session keeps its own, outside of what statements may take.
const VALUE_BYTES_MAX: usize = 64 << 10;

/// Longest name that a client gives itself, as of everything that has a name.
const NAME_BYTES_MAX: usize = 63;

/// The name that a client gives itself, as others see it: its beginning, without what terminals
/// heed.
fn shown_name(text: &str) -> String {
    let cut = &text[..text.floor_char_boundary(NAME_BYTES_MAX)];
    cut.bytes().map(|byte| if matches!(byte, b' '..=b'~') { byte as char } else { '?' }).collect()
}

/// Reads a value of a setting.
///
/// # Errors
/// 22023, worded as PostgreSQL words it.
pub(crate) fn parse(name: &str, kind: Kind, text: &str) -> SqlResult<Value> {
    if name == APPLICATION_NAME {
        return Ok(Value::Text(shown_name(text)));
    }
    if text.len() > VALUE_BYTES_MAX {
        let message = format!("value for parameter \"{name}\" is too long");
        let detail = format!("It has {} bytes; at most {VALUE_BYTES_MAX} are kept.", text.len());
        let error = SqlError::new(SqlState::INVALID_PARAMETER_VALUE, message);
        return Err(error.with_detail(detail));
    }
    match kind {
        Kind::Bool => boolean(text).map(Value::Bool).ok_or_else(|| {
            let message = format!("parameter \"{name}\" requires a Boolean value");
            SqlError::new(SqlState::INVALID_PARAMETER_VALUE, message)
        }),
        Kind::Integer { min, max } => {
            let number = text.trim().parse::<i64>().map_err(|_| invalid(name, text))?;
            within(name, number, (min, max), "").map(Value::Integer)
        }
        Kind::Time { unit, min, max } => {
            let number = measured(text, TIMES, unit).ok_or_else(|| {
                invalid(name, text).with_hint(
                    "Valid units for this parameter are \"ms\", \"s\", \"min\", \"h\", and \"d\".",
                )
            })?;
            within(name, number, (min, max), unit).map(Value::Integer)
        }
        Kind::Size { unit, min, zero } => {
            let number = measured(text, SIZES, unit).or_else(|| binary(text, unit));
            let number = number.ok_or_else(|| {
                invalid(name, text).with_hint(
                    "Valid units for this parameter are \"B\", \"kB\", \"MB\", \"GB\", and \"TB\".",
                )
            })?;
            match number {
                0 if zero => Ok(Value::Integer(0)),
                number => within(name, number, (min, i64::MAX), unit).map(Value::Integer),
            }
        }
        Kind::Choice(choices) => choice(name, choices, text).map(Value::Text),
        Kind::Zone => match Zone::of_setting(text) {
            Some((_, name)) => Ok(Value::Text(name)),
            None => Err(invalid(name, text)),
        },
        Kind::Device => {
            device(text).map(Value::Text).map_err(|hint| invalid(name, text).with_hint(hint))
        }
        Kind::Text | Kind::Path | Kind::List => Ok(Value::Text(text.to_owned())),
    }
}

/// The text of a profile in one form; the error is a hint.
fn device(text: &str) -> Result<String, String> {
    match text.trim().to_ascii_lowercase() {
        word if word == "auto" || word == "probe" => Ok(word),
        _ => device::text::parse_figures(text).map(|profile| device::text::figures(&profile)),
    }
}

fn choice(name: &str, choices: &[&str], text: &str) -> SqlResult<String> {
    let named = |text: &str| choices.iter().find(|choice| choice.eq_ignore_ascii_case(text));
    let word = |on: bool| named(if on { "on" } else { "off" });
    let found = named(text.trim()).or_else(|| boolean(text).and_then(word));
    found.map(|choice| (*choice).to_owned()).ok_or_else(|| {
        invalid(name, text).with_hint(format!("Available values: {}.", choices.join(", ")))
    })
}

/// Any beginning of a word that is no beginning of another will do, as in PostgreSQL.
fn boolean(text: &str) -> Option<bool> {
    let text = text.trim().to_ascii_lowercase();
    let begins = |word: &str, least: usize| text.len() >= least && word.starts_with(&text);
    match text.as_str() {
        "1" => Some(true),
        "0" => Some(false),
        _ if begins("true", 1) || begins("yes", 1) || begins("on", 2) => Some(true),
        _ if begins("false", 1) || begins("no", 1) || begins("off", 2) => Some(false),
        _ => None,
    }
}

fn within(name: &str, number: i64, (min, max): (i64, i64), unit: &str) -> SqlResult<i64> {
    if (min..=max).contains(&number) {
        return Ok(number);
    }
    let blank = if unit.is_empty() { "" } else { " " };
    let message = format!(
        "{number}{blank}{unit} is outside the valid range for parameter \"{name}\" ({min} .. {max})"
    );
    Err(SqlError::new(SqlState::INVALID_PARAMETER_VALUE, message))
}

/// A number with a unit, in `base`, rounded.
fn measured(text: &str, units: &[(&str, i64)], base: &str) -> Option<i64> {
    let text = text.trim();
    let end = text.trim_end_matches(|c: char| c.is_ascii_alphabetic()).len();
    let (number, unit) = (text[..end].trim(), &text[end..]);
    let unit = if unit.is_empty() { base } else { unit };
    let (_, scale_of_unit) = units.iter().find(|(name, _)| *name == unit)?;
    let base = scale(units, base);
    if let Ok(number) = number.parse::<i64>() {
        return number.checked_mul(*scale_of_unit).map(|total| rounded(total, base));
    }
    let digits = |c: char| c.is_ascii_digit() || matches!(c, '.' | '-');
    let number = number.parse::<f64>().ok().filter(|_| number.chars().all(digits))?;
    let total = (number * *scale_of_unit as f64 / base as f64).round();
    (total.abs() < i64::MAX as f64).then_some(total as i64)
}

/// A size with a unit that PostgreSQL does not know and people write: `1GiB`, `64mb`.
fn binary(text: &str, base: &str) -> Option<i64> {
    let bytes = stdx::parse_bytes(text).ok()?;
    Some(rounded(i64::try_from(bytes).ok()?, scale(SIZES, base)))
}

fn rounded(total: i64, base: i64) -> i64 {
    (total / base) + i64::from((total % base).abs() * 2 >= base) * total.signum()
}
