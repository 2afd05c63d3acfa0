//! Templates of dates and times, cut into pieces.

/// A piece of a template.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Piece {
    Field(Field),
    Space(char),
    Separator(char),
    Letter(char),
}

/// A word that stands for a value.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Field {
    /// The word as the list has it.
    pub word: &'static str,
    /// Without padding: behind `FM`, and names behind `TM`.
    pub plain: bool,
    /// `TH` (capitals) or `th` stands behind it.
    pub ordinal: Option<bool>,
}

/// Words in capitals, longest first where one begins another. Of most there is one in small letters.
const WORDS: [&str; 58] = [
    "A.D.", "A.M.", "AD", "AM", "B.C.", "BC", "CC", "DAY", "DDD", "DD", "DY", "Day", "Dy", "D",
    "FF1", "FF2", "FF3", "FF4", "FF5", "FF6", "FX", "HH24", "HH12", "HH", "IDDD", "ID", "IW",
    "IYYY", "IYY", "IY", "I", "J", "MI", "MM", "MONTH", "MON", "MS", "Month", "Mon", "OF", "P.M.",
    "PM", "Q", "RM", "SSSSS", "SSSS", "SS", "TZH", "TZM", "TZ", "US", "WW", "W", "Y,YYY", "YYYY",
    "YYY", "YY", "Y",
];

/// Those of which the value is in small letters too.
const SMALL: [&str; 14] = [
    "a.d.", "a.m.", "ad", "am", "b.c.", "bc", "day", "dy", "month", "mon", "p.m.", "pm", "rm", "tz",
];

/// Cuts a template.
pub(crate) fn pieces(template: &str) -> Vec<Piece> {
    let (mut pieces, mut rest) = (vec![], template);
    while let Some(letter) = rest.chars().next() {
        if letter == '"' {
            rest = quoted(&rest[1..], &mut pieces);
            continue;
        }
        let (prefix, behind) = prefixed(rest);
        if let Some((length, word)) = word(behind) {
            let name = ["DAY", "MONTH"].iter().any(|name| word.eq_ignore_ascii_case(name));
            let plain = prefix == Some(Prefix::Fill) || name && prefix.is_some();
            let (ordinal, after) = ordinal(&behind[length..]);
            pieces.push(Piece::Field(Field { word, plain, ordinal }));
            rest = after;
            continue;
        }
        rest = behind;
        let Some(letter) = rest.chars().next().filter(|c| *c != '"') else { continue };
        let escaped = rest.starts_with("\\\"");
        let letter = if escaped { '"' } else { letter };
        pieces.push(match letter {
            c if c.is_ascii_whitespace() => Piece::Space(c),
            c if is_separator(c) => Piece::Separator(c),
            c => Piece::Letter(c),
        });
        rest = &rest[letter.len_utf8() + usize::from(escaped)..];
    }
    pieces
}

/// Whether a letter parts fields.
pub(crate) fn is_separator(letter: char) -> bool {
    letter.is_ascii_punctuation()
}

/// Letters up to the next quote; what is behind it.
fn quoted<'a>(text: &'a str, pieces: &mut Vec<Piece>) -> &'a str {
    let mut letters = text.chars();
    while let Some(letter) = letters.next() {
        let letter = match letter {
            '"' => break,
            '\\' => letters.next().unwrap_or('\\'),
            other => other,
        };
        pieces.push(Piece::Letter(letter));
    }
    letters.as_str()
}

#[derive(Clone, Copy, PartialEq)]
enum Prefix {
    /// `FM`
    Fill,
    /// `TM`
    Translate,
}

/// What stands in front of a word, and what is behind it.
fn prefixed(text: &str) -> (Option<Prefix>, &str) {
    let prefixes = [
        ("FM", Prefix::Fill),
        ("fm", Prefix::Fill),
        ("TM", Prefix::Translate),
        ("tm", Prefix::Translate),
    ];
    let behind = |(name, prefix): &(&str, Prefix)| Some((Some(*prefix), text.strip_prefix(name)?));
    prefixes.iter().find_map(behind).unwrap_or((None, text))
}

fn ordinal(text: &str) -> (Option<bool>, &str) {
    match (text.strip_prefix("TH"), text.strip_prefix("th")) {
        (Some(after), _) => (Some(true), after),
        (_, Some(after)) => (Some(false), after),
        _ => (None, text),
    }
}

/// The word that a text begins with, and its length.
fn word(text: &str) -> Option<(usize, &'static str)> {
    let small = SMALL.iter().copied().filter(|small| text.starts_with(*small));
    let plain = WORDS.iter().copied().filter(|word| {
        let given = text.get(..word.len());
        given.is_some_and(|g| g == *word || g == word.to_ascii_lowercase())
    });
    // The longest wins: `ddd` is no `dd` and `d`, `month` no `mon` and `th`.
    let longest = plain.chain(small).max_by_key(|word| word.len());
    longest.map(|word| (word.len(), word))
}
