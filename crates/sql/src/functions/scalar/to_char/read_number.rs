//! `to_number`: numbers out of texts by templates.

use std::sync::Arc;

use arrow_array::{ArrayRef, Decimal128Array};
use arrow_schema::DataType;
use datafusion_common::ScalarValue;
use types::{SqlError, SqlResult, SqlState};

use crate::functions::scalar::overload::Args;
use crate::functions::scalar::to_char::number_template::{Piece, Template, Word};

/// As many places as the text has, or as the template has digits after its point where the text is no
/// constant.
pub(crate) fn number_type(values: &[Option<&ScalarValue>]) -> DataType {
    let constant = |i: usize| match values.get(i) {
        Some(Some(ScalarValue::Utf8(Some(t)) | ScalarValue::Utf8View(Some(t)))) => Some(t.as_str()),
        _ => None,
    };
    let places = match (constant(0), constant(1)) {
        (Some(text), Some(template)) => places_read(text, template).unwrap_or(0),
        (None, Some(template)) => places_of(template).unwrap_or(0),
        _ => PLACES_DEFAULT,
    };
    DataType::Decimal128(38, places.min(PLACES_MAX) as i8)
}

/// Places where the template is not known while planning.
const PLACES_DEFAULT: usize = 10;

/// More would leave too little room before the point.
const PLACES_MAX: usize = 30;

fn places_of(template: &str) -> SqlResult<usize> {
    let template = Template::parse(template)?;
    Ok(template.fraction + template.shift)
}

fn places_read(text: &str, template: &str) -> SqlResult<usize> {
    let template = Template::parse(template)?;
    let digits = Reader::new(&template, text).read()?;
    let fraction = digits.split_once('.').map_or(0, |(_, fraction)| fraction.len());
    Ok(fraction + template.shift)
}

pub(crate) fn to_number(args: &Args<'_>) -> SqlResult<ArrayRef> {
    let DataType::Decimal128(_, scale) = args.ty else {
        return Err(SqlError::internal("to_number gives a decimal"));
    };
    let places = usize::try_from(*scale).unwrap_or(0);
    let values = args.each::<_, Decimal128Array>(|row| {
        let (text, template) = (args.text(0).value(row), args.text(1).value(row));
        match template.is_empty() {
            true => Ok(None),
            false => value_of(text, template, places).map(Some),
        }
    })?;
    Ok(Arc::new(values.with_data_type(args.ty.clone())))
}

/// The number in units of so many places.
fn value_of(text: &str, template: &str, places: usize) -> SqlResult<i128> {
    let template = Template::parse(template)?;
    let digits = Reader::new(&template, text).read()?;
    let bad = || {
        let shown = digits.trim_start_matches('+');
        let message = format!("invalid input syntax for type numeric: \"{shown}\"");
        SqlError::new(SqlState::INVALID_TEXT_REPRESENTATION, message)
    };
    let (whole, fraction) = digits.split_once('.').unwrap_or((&digits, ""));
    if !whole.contains(|c: char| c.is_ascii_digit()) && fraction.is_empty() {
        return Err(bad());
    }
    let places_before = template.whole + template.shift;
    if whole.trim_start_matches(['-', '+', ' ', '0']).len() > places_before {
        return Err(SqlError::new(SqlState::NUMERIC_VALUE_OUT_OF_RANGE, "numeric field overflow"));
    }
    // With `V` the last digits of the whole number are behind the point.
    let wanted = places.saturating_sub(template.shift);
    let fraction: String = fraction.chars().chain(std::iter::repeat('0')).take(wanted).collect();
    format!("{whole}{fraction}").trim().parse().map_err(|_| {
        SqlError::new(SqlState::NUMERIC_VALUE_OUT_OF_RANGE, "numeric field overflow")
            .with_hint("numbers have at most 38 digits here")
    })
}

/// A text while a number is read from it.
struct Reader<'a> {
    template: &'a Template,
    letters: Vec<char>,
    at: usize,
    sign: Option<char>,
    digits: String,
    fraction: usize,
    has_point: bool,
}

impl<'a> Reader<'a> {
    fn new(template: &'a Template, text: &str) -> Reader<'a> {
        Reader {
            template,
            letters: text.chars().collect(),
            at: 0,
            sign: None,
            digits: String::new(),
            fraction: 0,
            has_point: false,
        }
    }

    /// The digits, with a sign before them and a point in them.
    fn read(mut self) -> SqlResult<String> {
        let refused = |word: &str| Err(SqlError::unsupported(format!("\"{word}\" for input")));
        if self.template.exponent {
            return refused("EEEE");
        }
        if self.template.roman.is_some() {
            return refused("RN");
        }
        for piece in &self.template.pieces {
            if self.at >= self.letters.len() {
                break;
            }
            match piece {
                Piece::Letter(_) => self.at += 1,
                Piece::Word(word) => self.word(*word),
            }
        }
        let digits = self.digits.trim_end_matches('.');
        Ok(format!("{}{digits}", self.sign.unwrap_or(' ')))
    }

    fn here(&self) -> Option<char> {
        self.letters.get(self.at).copied()
    }

    fn word(&mut self, word: Word) {
        match word {
            Word::Nine | Word::Zero | Word::Point => self.place(word != Word::Point),
            Word::Group if self.here() == Some(',') => self.at += 1,
            Word::Minus => self.sign_word("-"),
            Word::Plus => self.sign_word("+"),
            Word::Sign => self.sign_word("-+"),
            Word::Currency => self.skip(1),
            Word::Ordinal(_) => self.skip(2),
            _ => {}
        }
    }

    fn sign_word(&mut self, signs: &str) {
        match self.here().filter(|c| signs.contains(*c)) {
            Some(sign) => {
                self.sign = Some(sign);
                self.at += 1;
            }
            None => self.skip(1),
        }
    }

    /// Letters that are no part of a number.
    fn skip(&mut self, most: usize) {
        for _ in 0..most {
            if self.here().is_none_or(|c| "0123456789.,+-".contains(c)) {
                return;
            }
            self.at += 1;
        }
    }

    /// A place for a digit, or for the point: either is read there.
    fn place(&mut self, is_digit: bool) {
        if self.here() == Some(' ') {
            self.at += 1;
        }
        if is_digit && self.sign.is_none() && !self.digits.contains(|c: char| c.is_ascii_digit()) {
            self.sign_before();
        }
        let Some(letter) = self.here() else { return };
        let (mut taken, mut step) = (false, 1);
        if letter.is_ascii_digit() {
            if self.has_point && self.fraction == self.template.fraction {
                self.at += 1;
                return;
            }
            self.digits.push(letter);
            self.fraction += usize::from(self.has_point);
            taken = true;
        } else if self.template.has_point && !self.has_point && letter == '.' {
            self.digits.push('.');
            self.has_point = true;
            taken = true;
        }
        if self.sign.is_none() && self.digits.contains(|c: char| c.is_ascii_digit()) {
            step += self.sign_behind(taken);
        }
        self.at += step;
    }

    fn sign_before(&mut self) {
        let sign = match self.here() {
            Some('-') => '-',
            Some('+') => '+',
            Some('<') if self.template.brackets => '-',
            _ => return,
        };
        self.sign = Some(sign);
        self.at += 1;
    }

    /// A sign at or behind this place; how many letters it takes besides.
    fn sign_behind(&mut self, taken: bool) -> usize {
        let apart = self.template.plus || self.template.minus;
        let at = match (self.template.anchor, taken) {
            (Some(_), true) => self.at + 1,
            (None, false) if apart => self.at,
            _ => return 0,
        };
        match self.letters.get(at) {
            Some(sign @ ('-' | '+')) => {
                self.sign = Some(*sign);
                at - self.at
            }
            _ => 0,
        }
    }
}
