//! Templates of numbers, read once: what stands in them, and how many digits they have room for.

use plan::limits;
use types::{SqlError, SqlResult, SqlState};

/// Memory of a letter of a template: its piece, and the letters in its place on their way to the
/// result.
const LETTER_BYTES: usize = 4 * size_of::<Piece>();

/// A word of a template.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Word {
    Nine,
    Zero,
    /// `.` or `D`
    Point,
    /// `,` or `G`
    Group,
    Currency,
    /// Digits behind it are those of a power of ten.
    Shift,
    Minus,
    Plus,
    /// `SG`
    Sign,
    /// `S`: it stands at the number, wherever the template has it.
    Anchored,
    Brackets,
    /// In capitals or not.
    Ordinal(bool),
    Roman(bool),
    Exponent,
    Fill,
    Blank,
    /// Taken without a meaning.
    Nothing,
}

/// A piece of a template.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Piece {
    Word(Word),
    Letter(char),
}

/// Where `S` puts the sign.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Anchor {
    Before,
    Behind,
}

/// The words in capitals, longest first where one begins another; those in small letters mean the same.
const WORDS: [(&str, Word); 20] = [
    (",", Word::Group),
    (".", Word::Point),
    ("0", Word::Zero),
    ("9", Word::Nine),
    ("B", Word::Blank),
    ("C", Word::Nothing),
    ("D", Word::Point),
    ("EEEE", Word::Exponent),
    ("FM", Word::Fill),
    ("G", Word::Group),
    ("L", Word::Currency),
    ("MI", Word::Minus),
    ("PL", Word::Plus),
    ("PR", Word::Brackets),
    ("RN", Word::Roman(true)),
    ("SG", Word::Sign),
    ("SP", Word::Nothing),
    ("S", Word::Anchored),
    ("TH", Word::Ordinal(true)),
    ("V", Word::Shift),
];

/// A template and what it says of the whole number.
#[derive(Debug, Default)]
pub(crate) struct Template {
    pub pieces: Vec<Piece>,
    /// Digits before the point, and behind it.
    pub whole: usize,
    pub fraction: usize,
    /// Digits behind `V`.
    pub shift: usize,
    /// Digits before the first zero of the template, if there is one.
    pub first_zero: Option<usize>,
    /// Digits up to the last zero of the template.
    pub last_zero: usize,
    pub anchor: Option<Anchor>,
    /// Digits before the `S`.
    pub before_anchor: usize,
    pub has_point: bool,
    pub has_shift: bool,
    pub fill: bool,
    pub minus: bool,
    pub plus: bool,
    pub brackets: bool,
    pub roman: Option<bool>,
    pub exponent: bool,
    blank: bool,
}

impl Template {
    /// Errors: 42601 for words that do not go together.
    pub(crate) fn parse(text: &str) -> SqlResult<Template> {
        limits::room(text.len().saturating_mul(LETTER_BYTES))?;
        let mut template = Template::default();
        let mut rest = text;
        while let Some(letter) = rest.chars().next() {
            limits::go_on()?;
            if let Some((length, word)) = word(rest) {
                template.note(word, &rest[..length])?;
                template.pieces.push(Piece::Word(word));
                rest = &rest[length..];
            } else if letter == '"' {
                rest = template.quoted(&rest[1..]);
            } else {
                let escaped = rest.starts_with("\\\"");
                let letter = if escaped { '"' } else { letter };
                template.pieces.push(Piece::Letter(letter));
                rest = &rest[letter.len_utf8() + usize::from(escaped)..];
            }
        }
        Ok(template)
    }

    /// Letters up to the next quote; what is behind it.
    fn quoted<'a>(&mut self, text: &'a str) -> &'a str {
        let mut letters = text.chars();
        while let Some(letter) = letters.next() {
            let letter = match letter {
                '"' => break,
                '\\' => letters.next().unwrap_or('\\'),
                other => other,
            };
            self.pieces.push(Piece::Letter(letter));
        }
        letters.as_str()
    }

    fn note(&mut self, word: Word, shown: &str) -> SqlResult<()> {
        if self.exponent && word != Word::Exponent {
            return Err(syntax("\"EEEE\" must be the last pattern used"));
        }
        match word {
            Word::Nine | Word::Zero => self.digit(word == Word::Zero, shown)?,
            Word::Point if self.has_point => return Err(syntax("multiple decimal points")),
            Word::Point if self.has_shift => return Err(together()),
            Word::Shift if self.has_point => return Err(together()),
            Word::Point => self.has_point = true,
            Word::Shift => self.has_shift = true,
            Word::Anchored => self.anchored()?,
            Word::Minus | Word::Plus | Word::Sign if self.anchor.is_some() => {
                let name = shown.to_ascii_uppercase();
                return Err(syntax(&format!("cannot use \"S\" and \"{name}\" together")));
            }
            Word::Minus => self.minus = true,
            Word::Plus => self.plus = true,
            Word::Sign => (self.minus, self.plus) = (true, true),
            Word::Brackets if self.anchor.is_some() || self.plus || self.minus => {
                let message = "cannot use \"PR\" and \"S\"/\"PL\"/\"MI\"/\"SG\" together";
                return Err(syntax(message));
            }
            Word::Brackets => self.brackets = true,
            Word::Roman(upper) => self.roman = Some(upper),
            Word::Exponent => self.exponent()?,
            Word::Fill => self.fill = true,
            Word::Blank => self.blank |= self.whole + self.fraction == 0,
            Word::Group | Word::Currency | Word::Ordinal(_) | Word::Nothing => {}
        }
        Ok(())
    }

    fn digit(&mut self, zero: bool, shown: &str) -> SqlResult<()> {
        if self.brackets {
            return Err(syntax(&format!("\"{shown}\" must be ahead of \"PR\"")));
        }
        if !zero && self.has_shift {
            self.shift += 1;
            return Ok(());
        }
        if zero && !self.has_point && self.first_zero.is_none() {
            self.first_zero = Some(self.whole);
        }
        match self.has_point {
            true => self.fraction += 1,
            false => self.whole += 1,
        }
        if zero {
            self.last_zero = self.whole + self.fraction;
        }
        Ok(())
    }

    fn anchored(&mut self) -> SqlResult<()> {
        if self.anchor.is_some() {
            return Err(syntax("cannot use \"S\" twice"));
        }
        if self.plus || self.minus || self.brackets {
            let message = "cannot use \"S\" and \"PL\"/\"MI\"/\"SG\"/\"PR\" together";
            return Err(syntax(message));
        }
        self.before_anchor = self.whole;
        self.anchor = Some(if self.has_point { Anchor::Behind } else { Anchor::Before });
        Ok(())
    }

    fn exponent(&mut self) -> SqlResult<()> {
        if self.exponent {
            return Err(syntax("cannot use \"EEEE\" twice"));
        }
        let signs = self.anchor.is_some() || self.brackets || self.minus || self.plus;
        if signs || self.blank || self.fill || self.roman.is_some() || self.has_shift {
            return Err(syntax("\"EEEE\" is incompatible with other formats").with_detail(
                "\"EEEE\" may only be used together with digit and decimal point patterns.",
            ));
        }
        self.exponent = true;
        Ok(())
    }
}

/// The word that a text begins with, and its length. A word is in capitals or in small letters.
fn word(text: &str) -> Option<(usize, Word)> {
    WORDS.iter().find_map(|(name, word)| {
        let given = text.get(..name.len())?;
        let small = given == name.to_ascii_lowercase();
        (given == *name || small).then(|| {
            let word = match (word, small) {
                (Word::Ordinal(_), true) => Word::Ordinal(false),
                (Word::Roman(_), true) => Word::Roman(false),
                _ => *word,
            };
            (name.len(), word)
        })
    })
}

fn together() -> SqlError {
    syntax("cannot use \"V\" and decimal point together")
}

fn syntax(message: &str) -> SqlError {
    SqlError::new(SqlState::SYNTAX_ERROR, message)
}
