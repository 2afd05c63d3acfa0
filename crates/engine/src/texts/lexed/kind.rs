//! Kinds of literals.

use sql::Parameter;
use types::{Datum, LogicalType, array, oid};

use super::list;

/// Digits of a number in an interval that may be a parameter.
const SPAN_DIGITS_MAX: usize = 4;

/// Units of such an interval, without an `s` at their ends.
const UNITS: [&str; 8] = ["year", "month", "mon", "week", "day", "hour", "minute", "second"];

#[derive(Clone, Copy)]
pub(super) enum Kind {
    /// A whole number below [`sql::parse::SUMMED_MAX`].
    Summand,
    Int32,
    Int64,
    Decimal,
    Text,
    /// A text behind the name of its type.
    Typed(&'static TypeWord),
    /// The elements of `IN`, behind this word, or of `NOT IN`: as one array they may be a
    /// parameter.
    List {
        of: ListOf,
        is_negated: bool,
    },
}

/// The type of all elements of a list.
#[derive(Clone, Copy)]
pub(super) enum ListOf {
    Int32,
    Int64,
    Text,
}

/// A type whose name may stand before a text.
pub(super) struct TypeWord {
    pub(super) name: &'static str,
    oid: u32,
    /// True of what stands between quotes, if it may be a parameter: sums of such moments and spans
    /// are in their ranges, and none depends on when it is read.
    pub(super) is_usual: fn(&[u8]) -> bool,
}

/// The types of literals with a word.
pub(super) static TYPES: [TypeWord; 4] = [
    TypeWord { name: "date", oid: oid::DATE, is_usual: is_usual_moment },
    TypeWord { name: "timestamp", oid: oid::TIMESTAMP, is_usual: is_usual_moment },
    TypeWord { name: "timestamptz", oid: oid::TIMESTAMPTZ, is_usual: is_usual_moment },
    TypeWord { name: "interval", oid: oid::INTERVAL, is_usual: is_usual_span },
];

impl Kind {
    /// The mark that stands for literals of the kind.
    pub(super) fn mark(self) -> (&'static str, char) {
        let mark = match self {
            Kind::Int32 => '\u{1}',
            Kind::Int64 => '\u{2}',
            Kind::Decimal => '\u{3}',
            Kind::Text => '\u{4}',
            Kind::Summand => '\u{5}',
            Kind::Typed(_) => '\u{6}',
            Kind::List { of: ListOf::Int32, .. } => '\u{7}',
            Kind::List { of: ListOf::Int64, .. } => '\u{8}',
            Kind::List { of: ListOf::Text, .. } => '\u{0}',
        };
        let word = match self {
            Kind::Typed(ty) => ty.name,
            Kind::List { is_negated: true, .. } => "not in",
            Kind::List { is_negated: false, .. } => "in",
            _ => "",
        };
        (word, mark)
    }

    /// The type of a parameter in its place; 0 is not known.
    pub(super) fn oid(self) -> u32 {
        match self {
            Kind::Int32 | Kind::Summand => oid::INT4,
            Kind::Int64 => oid::INT8,
            Kind::Decimal => oid::NUMERIC,
            Kind::Text | Kind::List { of: ListOf::Text, .. } => 0,
            Kind::Typed(ty) => ty.oid,
            Kind::List { of: ListOf::Int32, .. } => array_of(oid::INT4),
            Kind::List { of: ListOf::Int64, .. } => array_of(oid::INT8),
        }
    }

    /// A parameter in its place, with what belongs to it there.
    pub(super) fn placed(self, number: usize) -> String {
        match self {
            Kind::List { is_negated: true, .. } => format!("<> all (${number})"),
            Kind::List { is_negated: false, .. } => format!("= any (${number})"),
            _ => format!("${number}"),
        }
    }

    /// A literal of the kind as a parameter; `text` begins behind a word for its type, and is what
    /// stands between the parentheses of a list.
    pub(super) fn value(self, text: &str) -> Option<Parameter> {
        let whole = |ty| {
            let value = Datum::Int(text.parse().ok()?);
            Some(Parameter { value, ty: Some(ty), told: None })
        };
        match self {
            Kind::Int32 | Kind::Summand => whole(LogicalType::Int32),
            Kind::Int64 => whole(LogicalType::Int64),
            Kind::Decimal => Parameter::read(oid::NUMERIC, text).ok(),
            Kind::Text => Some(Parameter::unknown(unquoted(text)?)),
            Kind::Typed(ty) => Parameter::read(ty.oid, &unquoted(text)?).ok(),
            Kind::List { of: ListOf::Text, .. } => {
                let elements = list::texts(text).map(unquoted).collect::<Option<Vec<_>>>()?;
                let elements = elements.iter().map(String::as_str);
                Some(Parameter::unknown(array::array_of_texts(elements)))
            }
            Kind::List { .. } => Parameter::read(self.oid(), &format!("{{{text}}}")).ok(),
        }
    }
}

fn array_of(element: u32) -> u32 {
    oid::array_of(element).expect("there are arrays of whole numbers")
}

fn unquoted(text: &str) -> Option<String> {
    let inner = text.strip_prefix('\'')?.strip_suffix('\'')?;
    Some(match inner.contains('\'') {
        true => inner.replace("''", "'"),
        false => inner.to_owned(),
    })
}

/// True of a date of four digits for the year, with a time or without.
fn is_usual_moment(text: &[u8]) -> bool {
    let is_date = |(at, byte): (usize, &u8)| match at {
        4 | 7 => *byte == b'-',
        _ => byte.is_ascii_digit(),
    };
    let is_time = |byte: &u8| byte.is_ascii_digit() || b" T:.+-".contains(byte);
    text.len() >= 10 && text[..10].iter().enumerate().all(is_date) && text[10..].iter().all(is_time)
}

/// True of numbers of few digits, each with a unit that is no longer than a year.
fn is_usual_span(text: &[u8]) -> bool {
    let Ok(text) = std::str::from_utf8(text) else { return false };
    let mut words = text.split_ascii_whitespace();
    let is_part = |number: &str, unit: &str| {
        let digits = number.trim_start_matches(['-', '+']);
        let unit = unit.strip_suffix('s').unwrap_or(unit);
        (1..=SPAN_DIGITS_MAX).contains(&digits.len())
            && digits.bytes().all(|byte| byte.is_ascii_digit())
            && UNITS.contains(&unit)
    };
    let mut parts = std::iter::from_fn(|| {
        let number = words.next()?;
        Some(words.next().is_some_and(|unit| is_part(number, unit)))
    });
    parts.next() == Some(true) && parts.all(|is_part| is_part)
}
