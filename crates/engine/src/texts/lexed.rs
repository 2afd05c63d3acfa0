//! A text with its literals apart.

mod kind;
mod list;
mod piece;

use std::ops::Range;

use sql::Parameter;

use self::kind::Kind;
use self::list::List;
use self::piece::{Piece, Role, is_end};

/// Words that statements begin with which have plans for all values.
const FIRST_WORDS: [&str; 6] = ["select", "insert", "update", "delete", "with", "values"];

/// Words that statements begin with which begin or end a transaction, or a part of one.
const STEPS: [&str; 8] =
    ["begin", "start", "commit", "end", "rollback", "abort", "savepoint", "release"];

/// A literal of a text.
pub(crate) struct Literal {
    /// Its first byte, which is that of a sign or of a word for its type where one belongs to it.
    start: usize,
    /// Its first byte behind these.
    pub(crate) unsigned: usize,
    end: usize,
    /// Its text with a sign and without a word, or the elements of a list.
    inner: (usize, usize),
    kind: Kind,
}

impl Literal {
    /// True of a list, whose place is that of its first element.
    pub(crate) fn is_list(&self) -> bool {
        matches!(self.kind, Kind::List { .. })
    }
}

/// A text whose literals have been found.
pub(crate) struct Lexed<'a> {
    pub(crate) text: &'a str,
    pub(crate) literals: Vec<Literal>,
    /// First bytes of comments, and those behind their ends.
    comments: Vec<Range<usize>>,
}

impl<'a> Lexed<'a> {
    /// Finds the literals of the one statement that `text` seems to be. `None` of a text that has
    /// placeholders, text between dollars or with escapes, or several statements, or that is no
    /// statement with a plan for all values.
    pub(crate) fn of(text: &'a str) -> Option<Lexed<'a>> {
        let text = without_comments_before(text)?;
        if !begins(text, &FIRST_WORDS) {
            return None;
        }
        let (bytes, mut literals, mut comments) = (text.as_bytes(), vec![], vec![]);
        // The last byte that is no blank, and the last word if nothing but blanks are behind it.
        let (mut at, mut before, mut word) = (0, b' ', 0..0);
        while at < bytes.len() {
            let Piece { mut end, role } = Piece::of(bytes, at, before)?;
            match role {
                Role::Literal(kind, unsigned) => {
                    let start = if matches!(kind, Kind::Typed(_)) { unsigned } else { at };
                    let inner = (start, end);
                    literals.push(Literal { start: at, unsigned, end, inner, kind });
                }
                Role::Code if bytes[at..end].eq_ignore_ascii_case(b"in") => {
                    if let Some(List { of, unsigned, inner, end: behind }) = List::of(bytes, end) {
                        let is_negated = bytes[word.clone()].eq_ignore_ascii_case(b"not");
                        let start = if is_negated { word.start } else { at };
                        let kind = Kind::List { of, is_negated };
                        literals.push(Literal { start, unsigned, end: behind, inner, kind });
                        end = behind;
                    }
                }
                Role::Comment => comments.push(at..end),
                Role::End if is_end(bytes, end) => {
                    let text = text[..at].trim_end();
                    return Some(Lexed { text, literals, comments });
                }
                Role::End => return None,
                Role::Code => {}
            }
            if !matches!(role, Role::Comment) && !bytes[end - 1].is_ascii_whitespace() {
                before = bytes[end - 1];
                word = at..end;
            }
            at = end;
        }
        let text = text.trim_end();
        Some(Lexed { text, literals, comments })
    }

    /// The text with a mark in the place of each literal.
    pub(crate) fn skeleton(&self) -> String {
        self.with(|skeleton, _, literal| {
            let (word, mark) = literal.kind.mark();
            skeleton.push_str(word);
            skeleton.push(mark);
            true
        })
    }

    /// The text with parameters in the places of some literals, and the types of these.
    pub(crate) fn parameterized(&self, taken: &[bool]) -> (String, Vec<u32>) {
        let mut oids = vec![];
        let text = self.with(|text, number, literal| {
            if taken[number] {
                oids.push(literal.kind.oid());
                text.push_str(&literal.kind.placed(oids.len()));
            }
            taken[number]
        });
        (text, oids)
    }

    /// The text with what `put` puts in the place of a literal; it stays where that is nothing.
    fn with(&self, mut put: impl FnMut(&mut String, usize, &Literal) -> bool) -> String {
        let (mut text, mut done) = (String::with_capacity(self.text.len()), 0);
        for (number, literal) in self.literals.iter().enumerate() {
            self.push_code(&mut text, done..literal.start);
            done = if put(&mut text, number, literal) { literal.end } else { literal.start };
        }
        self.push_code(&mut text, done..self.text.len());
        text.truncate(text.trim_end().len());
        text
    }

    /// Adds a part of the text, with a blank in the place of each comment.
    fn push_code(&self, text: &mut String, part: Range<usize>) {
        let mut done = part.start;
        let first = self.comments.partition_point(|comment| comment.start < done);
        for comment in self.comments[first..].iter().take_while(|c| c.start < part.end) {
            text.push_str(&self.text[done..comment.start]);
            text.push(' ');
            // A line's end belongs to its comment, and not to a text that ends with it.
            done = comment.end.min(part.end);
        }
        text.push_str(&self.text[done..part.end]);
    }

    /// The values of those that are taken, without a type where the text has none.
    pub(crate) fn values(&self, taken: &[bool]) -> Option<Vec<Parameter>> {
        let taken = self.literals.iter().zip(taken).filter(|(_, taken)| **taken);
        let value = |(literal, _): (&Literal, _)| {
            literal.kind.value(&self.text[literal.inner.0..literal.inner.1])
        };
        taken.map(value).collect()
    }
}

/// The statements of a text that has several, and where they begin, if each changes or asks for
/// rows, or begins or ends a transaction. `None` of other texts.
pub(crate) fn several(text: &str) -> Option<Vec<(usize, &str)>> {
    let (bytes, mut statements, mut start) = (text.as_bytes(), vec![], 0);
    let (mut at, mut before) = (0, b' ');
    while at < bytes.len() {
        let Piece { end, role } = Piece::of(bytes, at, before)?;
        if matches!(role, Role::End) {
            statements.push((start, &text[start..at]));
            start = end;
        }
        before = bytes[end - 1];
        at = end;
    }
    if !is_end(bytes, start) {
        statements.push((start, &text[start..]));
    }
    let is_one = |(_, text): &(usize, &str)| {
        let text = without_comments_before(text);
        text.is_some_and(|text| begins(text, &FIRST_WORDS) || begins(text, &STEPS))
    };
    (statements.len() > 1 && statements.iter().all(is_one)).then_some(statements)
}

fn begins(text: &str, words: &[&str]) -> bool {
    let begins = |word: &&str| {
        let start = text.as_bytes().get(..word.len());
        start.is_some_and(|start| start.eq_ignore_ascii_case(word.as_bytes()))
    };
    words.iter().any(begins)
}

/// A text from its first word on; `None` where a comment does not end.
fn without_comments_before(text: &str) -> Option<&str> {
    let mut text = text.trim_start();
    while text.starts_with("--") || text.starts_with("/*") {
        let comment = Piece::of(text.as_bytes(), 0, b' ')?;
        text = text[comment.end..].trim_start();
    }
    Some(text)
}

#[cfg(test)]
mod tests;
