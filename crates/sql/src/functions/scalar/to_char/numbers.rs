//! Numbers by templates.

use types::SqlResult;

use crate::functions::scalar::to_char::number_template::{Anchor, Piece, Template, Word};
use crate::functions::scalar::to_char::ordinal_suffix;

/// A number, given as its digits without a point, by a template.
pub(crate) fn number(digits: &str, scale: i8, template: &str) -> SqlResult<String> {
    let template = Template::parse(template)?;
    if template.exponent {
        return Ok(scientific(digits, scale, template.fraction));
    }
    if template.roman.is_some() {
        return Ok(roman_written(&template, &roman(digits, scale)));
    }
    // Behind `V` the digits are those of the number times a power of ten.
    let shifted = format!("{digits}{}", "0".repeat(template.shift));
    let (negative, shown) = rounded(&shifted, scale, template.fraction);
    let (whole, fraction) = shown.split_at(shown.len() - template.fraction);
    let whole = whole.trim_start_matches('0');
    let whole = if whole.is_empty() { "0" } else { whole };
    let is_zero = shown.bytes().all(|b| b == b'0');
    let point = if fraction.is_empty() { "" } else { "." };
    Ok(written(&template, negative && !is_zero, format!("{whole}{point}{fraction}")))
}

/// Places behind the point of the longest floating point number.
const FLOAT_PLACES_MAX: usize = 1_074;

/// Digits that a floating point number is sure to have.
const FLOAT_DIGITS: usize = 15;

/// A floating point number by a template.
pub(crate) fn float(value: f64, text: &str) -> SqlResult<String> {
    let mut template = Template::parse(text)?;
    if template.exponent {
        return Ok(float_scientific(value, template.whole, template.fraction));
    }
    if template.roman.is_some() {
        return number(&format!("{:.0}", value.round_ties_even()), 0, text);
    }
    let value = value * 10f64.powi(i32::try_from(template.shift).unwrap_or(i32::MAX));
    let whole = shown_float(value.abs(), 0).len();
    template.fraction = template.fraction.min(FLOAT_DIGITS.saturating_sub(whole));
    let shown = shown_float(value, template.fraction);
    let digits = shown.strip_prefix('-');
    Ok(written(&template, digits.is_some(), digits.unwrap_or(&shown).to_owned()))
}

fn shown_float(value: f64, places: usize) -> String {
    match value.is_infinite() {
        true if value < 0.0 => "-Infinity".to_owned(),
        true => "Infinity".to_owned(),
        false => format!("{value:.places$}"),
    }
}

fn float_scientific(value: f64, before: usize, after: usize) -> String {
    if !value.is_finite() {
        // As wide as a number: a sign, a point, and an exponent of two digits.
        return format!(" {}.{}", "#".repeat(before), "#".repeat(after + 4));
    }
    // No float has more digits than these.
    let (digits, zeros) = (after.min(FLOAT_PLACES_MAX), after.saturating_sub(FLOAT_PLACES_MAX));
    let shown = format!("{value:.digits$e}");
    let (mantissa, exponent) = shown.split_once('e').unwrap_or((&shown, "0"));
    let sign = if mantissa.starts_with('-') { "" } else { " " };
    let exponent = shown_exponent(exponent.parse().unwrap_or(0));
    format!("{sign}{mantissa}{}{exponent}", "0".repeat(zeros))
}

/// A number with an exponent: `1.50e+00`.
fn scientific(digits: &str, scale: i8, places: usize) -> String {
    let sign = if digits.starts_with('-') { '-' } else { ' ' };
    let digits = digits.trim_start_matches(['-', '0']);
    let exponent = match digits.len() {
        0 => 0,
        length => length as i32 - 1 - i32::from(scale),
    };
    // The digits as a number with one of them before the point. Rounding may make it two, `10.00e+00`:
    // the exponent is that of the number before.
    let (_, shown) = rounded(digits, digits.len().saturating_sub(1) as i8, places);
    let (whole, fraction) = shown.split_at(shown.len() - places);
    let point = if fraction.is_empty() { "" } else { "." };
    format!("{sign}{whole}{point}{fraction}{}", shown_exponent(exponent))
}

fn shown_exponent(exponent: i32) -> String {
    let sign = if exponent < 0 { '-' } else { '+' };
    format!("e{sign}{:02}", exponent.unsigned_abs())
}

/// Places of a Roman number: the longest one has as many letters.
const ROMAN_PLACES: usize = 15;

const ROMAN: [(u32, &str); 13] = [
    (1_000, "M"),
    (900, "CM"),
    (500, "D"),
    (400, "CD"),
    (100, "C"),
    (90, "XC"),
    (50, "L"),
    (40, "XL"),
    (10, "X"),
    (9, "IX"),
    (5, "V"),
    (4, "IV"),
    (1, "I"),
];

/// A Roman number, from 1 to 3999.
fn roman(digits: &str, scale: i8) -> String {
    let (negative, shown) = rounded(digits, scale, 0);
    let value = shown.parse::<u32>().ok().filter(|v| !negative && (1..4_000).contains(v));
    let Some(mut left) = value else { return "#".repeat(ROMAN_PLACES) };
    let mut text = String::new();
    for (value, letters) in ROMAN {
        while left >= value {
            text.push_str(letters);
            left -= value;
        }
    }
    text
}

/// A Roman number in its template: other words for digits give nothing, those for signs blanks.
fn roman_written(template: &Template, number: &str) -> String {
    let mut out = String::new();
    for piece in &template.pieces {
        match piece {
            Piece::Letter(letter) => out.push(*letter),
            Piece::Word(Word::Roman(upper)) => {
                let number = if *upper { number.to_owned() } else { number.to_ascii_lowercase() };
                match template.fill {
                    true => out.push_str(&number),
                    false => out.push_str(&format!("{number:>ROMAN_PLACES$}")),
                }
            }
            Piece::Word(Word::Currency) => out.push(' '),
            Piece::Word(Word::Group | Word::Minus | Word::Plus) if !template.fill => out.push(' '),
            // It has no sign, and PostgreSQL ends the text there.
            Piece::Word(Word::Sign) => break,
            Piece::Word(_) => {}
        }
    }
    out
}

/// The digits in the places of the template. More digits than places are shown as `#`.
fn written(template: &Template, negative: bool, digits: String) -> String {
    let places = template.whole + template.shift;
    let length = digits.find('.').unwrap_or(digits.len());
    let (digits, blanks) = match places.checked_sub(length) {
        Some(blanks) => (digits, blanks),
        None => (format!("{}.{}", "#".repeat(places), "#".repeat(template.fraction)), 0),
    };
    let mut writer = Writer::new(template, negative, digits.as_bytes(), blanks);
    for piece in &template.pieces {
        match piece {
            Piece::Word(Word::Nine | Word::Zero | Word::Point) => writer.place(*piece),
            Piece::Word(word) => writer.word(*word),
            Piece::Letter(letter) => writer.out.push(*letter),
        }
    }
    writer.out.truncate(writer.end.unwrap_or(writer.out.len()));
    writer.out
}

/// A number while it is written.
struct Writer<'a> {
    template: &'a Template,
    negative: bool,
    digits: &'a [u8],
    /// The digit or the point that comes next.
    at: usize,
    /// Places before the first digit.
    blanks: usize,
    /// The place that comes next.
    place: usize,
    /// The place behind which a sign follows the digits.
    last_place: usize,
    /// With `FM`, the last digit behind the point that is shown; that of the point, if there is none.
    last_shown: Option<usize>,
    sign_written: bool,
    brackets: bool,
    anchor: Option<Anchor>,
    /// The piece before was a digit.
    in_number: bool,
    out: String,
    /// Where the text ends: PostgreSQL writes nothing behind a place for which there is no digit.
    end: Option<usize>,
}

impl<'a> Writer<'a> {
    fn new(template: &'a Template, negative: bool, digits: &'a [u8], blanks: usize) -> Writer<'a> {
        let Template { fill, plus, minus, .. } = *template;
        let apart = plus || minus;
        let anchor = match template.anchor {
            Some(Anchor::Before) if template.whole == template.before_anchor => {
                Some(Anchor::Behind)
            }
            other => other,
        };
        let sign_written = match apart {
            true => minus,
            false => !negative && fill && anchor.is_none(),
        };
        let point = usize::from(template.has_point) + usize::from(blanks > 0 || !sign_written);
        Writer {
            template,
            negative,
            digits,
            at: 0,
            blanks,
            place: 0,
            last_place: (template.whole + template.shift + template.fraction + point)
                .saturating_sub(1),
            last_shown: last_shown(template, digits, blanks),
            sign_written,
            brackets: template.brackets && (apart || negative || !fill),
            anchor,
            in_number: false,
            out: String::new(),
            end: None,
        }
    }

    /// A digit or the point.
    fn place(&mut self, piece: Piece) {
        let zeros = self.template.first_zero.filter(|first| *first <= self.place);
        self.in_number = false;
        let begins = self.place >= self.blanks || zeros == Some(self.place);
        let rests = self.last_shown.is_some_and(|last| self.digits[last] == b'.');
        if !self.sign_written && begins && (!self.is_hidden_zero() || rests) {
            self.sign_before();
        }
        match (self.place < self.blanks, zeros) {
            (true, Some(_)) => {
                self.out.push('0');
                self.in_number = true;
            }
            (true, None) if self.template.fill => {}
            (true, None) => self.out.push(' '),
            _ => self.digit(piece == Piece::Word(Word::Zero), rests),
        }
        // Where `FM` ends the digits just here, PostgreSQL forgets the sign behind them.
        if self.last_shown != Some(self.at) && self.place + 1 == self.last_place {
            self.sign_behind();
        }
        self.place += 1;
    }

    /// The zero before the point, where the template has digits behind it and asks for no zeros.
    fn is_hidden_zero(&self) -> bool {
        let asked = self.template.first_zero.is_some();
        !asked && self.at == 0 && self.digits.first() == Some(&b'0') && self.template.fraction > 0
    }

    fn digit(&mut self, zero: bool, rests: bool) {
        let cut = self.last_shown.is_some_and(|last| self.at > last) && !zero;
        let Some(digit) = self.digits.get(self.at).copied() else {
            if !cut {
                self.end.get_or_insert(self.out.len());
            }
            return;
        };
        if digit == b'.' {
            self.out.push('.');
        } else if self.is_hidden_zero() && !cut {
            match self.template.fill {
                false => self.out.push(' '),
                true if rests => self.out.push('0'),
                true => {}
            }
        } else if !cut {
            self.out.push(char::from(digit));
            self.in_number = true;
        }
        self.at += 1;
    }

    fn sign_before(&mut self) {
        let sign = match (self.anchor, self.brackets) {
            (Some(Anchor::Behind), _) => return,
            (Some(Anchor::Before), _) => Some(self.sign()),
            (None, true) => Some(if self.negative { '<' } else { ' ' }),
            (None, false) if self.negative => Some('-'),
            (None, false) => (!self.template.fill).then_some(' '),
        };
        self.out.extend(sign);
        self.sign_written = true;
    }

    fn sign_behind(&mut self) {
        if self.sign_written && self.brackets {
            self.out.push(if self.negative { '>' } else { ' ' });
        } else if self.anchor == Some(Anchor::Behind) {
            self.out.push(self.sign());
        }
    }

    fn sign(&self) -> char {
        if self.negative { '-' } else { '+' }
    }

    /// What is no digit.
    fn word(&mut self, word: Word) {
        let fill = self.template.fill;
        let blank = (!fill).then_some(' ');
        match word {
            Word::Group if self.in_number => self.out.push(','),
            Word::Group => self.out.extend(blank),
            Word::Currency => self.out.push(' '),
            Word::Minus => self.out.extend(if self.negative { Some('-') } else { blank }),
            Word::Plus => self.out.extend(if self.negative { blank } else { Some('+') }),
            Word::Sign => self.out.push(self.sign()),
            Word::Ordinal(upper) => self.ordinal(upper),
            _ => {}
        }
    }

    fn ordinal(&mut self, upper: bool) {
        let digits = String::from_utf8_lossy(self.digits);
        if self.negative || self.template.has_point || digits.starts_with('#') {
            return;
        }
        let suffix = ordinal_suffix(&digits);
        self.out.push_str(&if upper { suffix.to_uppercase() } else { suffix.to_owned() });
    }
}

/// With `FM`, the last digit that is shown: zeros at the end are not, but where the template has them.
fn last_shown(template: &Template, digits: &[u8], blanks: usize) -> Option<usize> {
    let point = digits.iter().position(|d| *d == b'.')?;
    if !template.fill || !template.has_point {
        return None;
    }
    let last = digits.iter().rposition(|d| *d != b'0').map_or(point, |last| last.max(point));
    let asked = template.last_zero.checked_sub(blanks).filter(|asked| *asked > 0);
    Some(asked.map_or(last, |asked| last.max(asked.min(digits.len() - 1))))
}

/// Sign and digits of a number rounded to so many places.
fn rounded(digits: &str, scale: i8, places: usize) -> (bool, String) {
    let (negative, digits) = match digits.strip_prefix('-') {
        Some(digits) => (true, digits),
        None => (false, digits),
    };
    let scale = usize::try_from(scale).unwrap_or(0);
    let mut padded = format!("{digits:0>width$}", width = scale + 1);
    if scale <= places {
        padded.push_str(&"0".repeat(places - scale));
        return (negative, padded);
    }
    let cut = padded.len() - (scale - places);
    let up = padded.as_bytes()[cut] >= b'5';
    let mut kept: Vec<u8> = padded.as_bytes()[..cut].to_vec();
    if up {
        let mut at = kept.len();
        loop {
            if at == 0 {
                kept.insert(0, b'1');
                break;
            }
            at -= 1;
            if kept[at] < b'9' {
                kept[at] += 1;
                break;
            }
            kept[at] = b'0';
        }
    }
    (negative, String::from_utf8(kept).unwrap_or_default())
}
