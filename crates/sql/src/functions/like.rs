//! `LIKE`: a pattern of any length is matched from left to right, without a regular expression.

use memchr::memmem::Finder;
use plan::limits;
use types::{SqlError, SqlResult, SqlState};

const ESCAPE: char = '\\';

/// Steps of a search between two looks at the statement's limits: about a millisecond.
const STEPS_AT_ONCE: usize = 1 << 20;

/// A pattern of `LIKE` or `ILIKE`, whose escape character is the backslash.
pub(crate) struct Pattern {
    /// The pieces between `%`.
    parts: Vec<Part>,
    /// `%` stands before the first part.
    begins_open: bool,
    /// `%` stands behind the last part.
    ends_open: bool,
    /// An escape character is the last one, and escapes nothing.
    ends_in_escape: bool,
    ignores_case: bool,
}

#[derive(Default)]
struct Part {
    items: Vec<Item>,
    /// Of a part that is one text.
    finder: Option<Finder<'static>>,
}

enum Item {
    Text(String),
    /// So many characters, each a `_`.
    Any(usize),
}

impl Pattern {
    pub(crate) fn new(pattern: &str, ignores_case: bool) -> Pattern {
        let mut new = Pattern {
            parts: vec![],
            begins_open: pattern.starts_with('%'),
            ends_open: false,
            ends_in_escape: false,
            ignores_case,
        };
        let (mut part, mut letters) = (Part::default(), pattern.chars());
        while let Some(letter) = letters.next() {
            new.ends_open = letter == '%';
            match letter {
                '%' => new.push(std::mem::take(&mut part)),
                '_' => part.push_any(),
                ESCAPE => match letters.next() {
                    Some(escaped) => part.push(escaped, ignores_case),
                    None => new.ends_in_escape = true,
                },
                _ => part.push(letter, ignores_case),
            }
        }
        new.push(part);
        new
    }

    fn push(&mut self, mut part: Part) {
        if let [Item::Text(text)] = &part.items[..] {
            part.finder = Some(Finder::new(text).into_owned());
        }
        if !part.items.is_empty() {
            self.parts.push(part);
        }
    }

    /// True if all of a text is like the pattern.
    ///
    /// # Errors
    /// 22025 where the escape character at the end of the pattern would have to be like something;
    /// 57014.
    pub(crate) fn matches(&self, text: &str) -> SqlResult<bool> {
        match self.ignores_case {
            true => self.matches_folded(&text.chars().map(folded).collect::<String>()),
            false => self.matches_folded(text),
        }
    }

    fn matches_folded(&self, text: &str) -> SqlResult<bool> {
        if self.ends_in_escape {
            return self.matches_before_escape(text);
        }
        let (mut at, mut parts) = (0, &self.parts[..]);
        if let ([first, others @ ..], false) = (parts, self.begins_open) {
            let Some(end) = first.end_at(text, 0) else { return Ok(false) };
            (at, parts) = (end, others);
        }
        let last = match parts {
            [others @ .., last] if !self.ends_open => {
                parts = others;
                Some(last)
            }
            _ => None,
        };
        for part in parts {
            let Some(end) = part.find(text, at)? else { return Ok(false) };
            at = end;
        }
        Ok(match last {
            Some(last) => last.is_end_of(text, at),
            None => self.ends_open || at == text.len(),
        })
    }

    /// False, unless what stands before the escape character matches less than all of a text.
    fn matches_before_escape(&self, text: &str) -> SqlResult<bool> {
        let mut at = 0;
        for (nth, part) in self.parts.iter().enumerate() {
            let found = match nth == 0 && !self.begins_open {
                true => part.end_at(text, at),
                false => part.find(text, at)?,
            };
            let Some(end) = found else { return Ok(false) };
            at = end;
        }
        match at < text.len() {
            true => Err(ends_in_escape()),
            false => Ok(false),
        }
    }
}

impl Part {
    fn push(&mut self, letter: char, ignores_case: bool) {
        let letter = if ignores_case { folded(letter) } else { letter };
        match self.items.last_mut() {
            Some(Item::Text(text)) => text.push(letter),
            _ => self.items.push(Item::Text(letter.into())),
        }
    }

    fn push_any(&mut self) {
        match self.items.last_mut() {
            Some(Item::Any(count)) => *count += 1,
            _ => self.items.push(Item::Any(1)),
        }
    }

    /// Where the part ends if it begins at this byte.
    fn end_at(&self, text: &str, begin: usize) -> Option<usize> {
        let mut at = begin;
        for item in &self.items {
            let rest = &text[at..];
            at += match item {
                Item::Text(literal) => {
                    rest.starts_with(literal.as_str()).then_some(literal.len())?
                }
                Item::Any(count) => {
                    let mut letters = rest.char_indices();
                    let (last, letter) = letters.nth(count - 1)?;
                    last + letter.len_utf8()
                }
            };
        }
        Some(at)
    }

    /// Where the part ends that begins first, from this byte on.
    fn find(&self, text: &str, from: usize) -> SqlResult<Option<usize>> {
        if let Some(finder) = &self.finder {
            let found = finder.find(&text.as_bytes()[from..]);
            return Ok(found.map(|begin| from + begin + finder.needle().len()));
        }
        let mut steps = 0;
        let begins = text[from..].char_indices().map(|(at, _)| from + at);
        for begin in begins {
            if let Some(end) = self.end_at(text, begin) {
                return Ok(Some(end));
            }
            steps += self.items.len();
            if steps >= STEPS_AT_ONCE {
                limits::go_on()?;
                steps = 0;
            }
        }
        Ok(None)
    }

    /// True if the part is the end of a text and begins at this byte or behind it.
    fn is_end_of(&self, text: &str, from: usize) -> bool {
        let count = |item: &Item| match item {
            Item::Text(literal) => literal.chars().count(),
            Item::Any(count) => *count,
        };
        let letters: usize = self.items.iter().map(count).sum();
        let begin = text[from..].char_indices().rev().nth(letters - 1);
        begin.is_some_and(|(begin, _)| self.end_at(text, from + begin) == Some(text.len()))
    }
}

/// The letter in lower case, where that is one letter.
fn folded(letter: char) -> char {
    let mut lower = letter.to_lowercase();
    match (lower.next(), lower.next()) {
        (Some(lower), None) => lower,
        _ => letter,
    }
}

fn ends_in_escape() -> SqlError {
    let message = "LIKE pattern must not end with escape character";
    SqlError::new(SqlState("22025"), message)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn like(text: &str, pattern: &str) -> bool {
        Pattern::new(pattern, false).matches(text).expect("a good pattern")
    }

    #[test]
    fn parts_are_found_from_left_to_right() {
        for (text, pattern) in [
            ("", ""),
            ("", "%"),
            ("abc", "abc"),
            ("abc", "a%"),
            ("abc", "%c"),
            ("abc", "%b%"),
            ("abc", "a%c"),
            ("abcbc", "a%bc"),
            ("abc", "___"),
            ("abc", "_%_"),
            ("äöü", "_ö_"),
            ("äöü", "%ö_"),
            ("a%b", "a\\%b"),
            ("a\nb", "a_b"),
            ("aab", "%ab"),
            ("xaxb", "%_b"),
            ("mississippi", "m%iss%ip%i"),
        ] {
            assert!(like(text, pattern), "{text} is like {pattern}");
        }
        for (text, pattern) in [
            ("a", ""),
            ("", "_"),
            ("abc", "ab"),
            ("abc", "bc"),
            ("abc", "__"),
            ("abc", "____"),
            ("ab", "ab%b"),
            ("aXb", "a\\%b"),
            ("abc", "ABC"),
            ("abc", "a%b"),
        ] {
            assert!(!like(text, pattern), "{text} is not like {pattern}");
        }
    }

    #[test]
    fn letters_of_both_cases_are_alike_if_that_is_wanted() {
        assert!(Pattern::new("ÄB%_d", true).matches("äbXXD").expect("a good pattern"));
        assert!(!Pattern::new("ÄB%_d", true).matches("äBD").expect("a good pattern"));
    }

    #[test]
    fn an_escape_at_the_end_is_an_error_where_it_is_reached() {
        let outcome = |text: &str, pattern: &str| Pattern::new(pattern, false).matches(text);
        assert_eq!(outcome("b", "a\\").ok(), Some(false));
        assert_eq!(outcome("a", "a\\").ok(), Some(false));
        assert_eq!(outcome("ab", "a\\").expect_err("it is reached").state, SqlState("22025"));
        assert_eq!(outcome("ab", "%\\").expect_err("it is reached").state, SqlState("22025"));
    }

    #[test]
    fn a_pattern_may_be_long() {
        let long = "%_".repeat(100_000);
        assert!(!like("a", &long));
        assert!(like(&"a".repeat(100_000), &long));
    }
}
