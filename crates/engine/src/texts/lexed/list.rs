//! Lists of literals behind `IN`.

use super::kind::{Kind, ListOf};
use super::piece::{Piece, Role};
use crate::recent::LONG_TEXTS_BYTES_MIN;

/// Literals of a list that are parameters each: one of few is compared faster than an array.
const EACH_MAX: usize = 16;

/// Bytes of a list that is an array: values of more have no plan for all values in a database of
/// little memory, but literals that are parameters each may have one.
pub(super) const ARRAY_BYTES_MAX: usize = LONG_TEXTS_BYTES_MIN;

/// A list of literals of one type.
pub(super) struct List {
    pub(super) of: ListOf,
    /// The first byte of its first element behind a sign, which tells its place in a syntax tree.
    pub(super) unsigned: usize,
    /// The first byte behind its opening parenthesis, that of its closing one, and the one behind.
    pub(super) inner: (usize, usize),
    pub(super) end: usize,
}

impl List {
    /// The long list that begins at `at`, with blanks before its parenthesis.
    pub(super) fn of(bytes: &[u8], at: usize) -> Option<List> {
        let start = after_blanks(bytes, at);
        if bytes.get(start) != Some(&b'(') {
            return None;
        }
        let (mut at, mut count, mut first, mut of) = (start + 1, 0, None, None);
        loop {
            at = after_blanks(bytes, at);
            let piece = Piece::of(bytes, at, b',').filter(|_| at < bytes.len())?;
            let Role::Literal(kind, unsigned) = piece.role else { return None };
            of = Some(both(of, kind)?);
            first.get_or_insert(unsigned);
            count += 1;
            at = after_blanks(bytes, piece.end);
            match bytes.get(at)? {
                b',' => at += 1,
                b')' if count > EACH_MAX => break,
                _ => return None,
            }
        }
        let list = List { of: of?, unsigned: first?, inner: (start + 1, at), end: at + 1 };
        (at - start <= ARRAY_BYTES_MAX).then_some(list)
    }
}

/// The type of all elements, behind those that have been seen.
fn both(seen: Option<ListOf>, next: Kind) -> Option<ListOf> {
    let next = match next {
        Kind::Summand | Kind::Int32 => ListOf::Int32,
        Kind::Int64 => ListOf::Int64,
        Kind::Text => ListOf::Text,
        _ => return None,
    };
    match (seen, next) {
        (None, next) => Some(next),
        (Some(ListOf::Text), ListOf::Text) => Some(ListOf::Text),
        (Some(ListOf::Text), _) | (_, ListOf::Text) => None,
        (Some(ListOf::Int32), ListOf::Int32) => Some(ListOf::Int32),
        _ => Some(ListOf::Int64),
    }
}

fn after_blanks(bytes: &[u8], at: usize) -> usize {
    let blanks = bytes[at.min(bytes.len())..].iter().take_while(|byte| byte.is_ascii_whitespace());
    at + blanks.count()
}

/// The texts in quotes that a list of them has.
pub(super) fn texts(inner: &str) -> impl Iterator<Item = &str> {
    let mut at = 0;
    std::iter::from_fn(move || {
        at += inner[at..].find('\'')?;
        let piece = Piece::of(inner.as_bytes(), at, b',')?;
        let text = &inner[at..piece.end];
        at = piece.end;
        Some(text)
    })
}
