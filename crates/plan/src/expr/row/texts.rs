//! Texts that are computed of a row.

use ir::Refused;
use types::cells::Value;

use super::{Row, RowExpr};

/// Bytes of a text that is made here; longer ones are left to who counts their memory.
const TEXT_BYTES_MAX: usize = 16 << 10;

/// A function of texts, null if one of its arguments is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TextFunction {
    /// Two texts, one behind the other.
    Concat,
    /// The text in capital letters.
    Upper,
    /// The text in small letters.
    Lower,
    /// So many of its first characters.
    Left,
    /// How many characters it has.
    Length,
}

impl TextFunction {
    /// How many arguments it has.
    pub fn arguments(self) -> usize {
        match self {
            TextFunction::Concat | TextFunction::Left => 2,
            TextFunction::Upper | TextFunction::Lower | TextFunction::Length => 1,
        }
    }

    /// The value of a row; what is made lies in the row's memory.
    pub(super) fn value<'a>(
        self,
        arguments: &'a [RowExpr],
        row: Row<'a>,
    ) -> Result<Value<'a>, Refused> {
        let first = arguments.first().ok_or(Refused)?.value(row)?;
        let second = arguments.get(1).map(|argument| argument.value(row)).transpose()?;
        let Value::Bytes(text) = first else { return nothing(first) };
        match (self, second) {
            (_, Some(Value::Null)) => Ok(Value::Null),
            (TextFunction::Concat, Some(Value::Bytes(behind))) => concat(text, behind, row),
            (TextFunction::Left, Some(Value::Word(count))) => left(text, count),
            (TextFunction::Upper, None) => cased(text, row, <[u8]>::make_ascii_uppercase),
            (TextFunction::Lower, None) => cased(text, row, <[u8]>::make_ascii_lowercase),
            (TextFunction::Length, None) => {
                let count = characters(text)?.chars().count();
                Ok(Value::Word(i64::try_from(count).map_err(|_| Refused)?))
            }
            _ => Err(Refused),
        }
    }
}

/// Null of null; all else is no text.
fn nothing(value: Value<'_>) -> Result<Value<'_>, Refused> {
    if value.is_null() { Ok(Value::Null) } else { Err(Refused) }
}

fn characters(text: &[u8]) -> Result<&str, Refused> {
    std::str::from_utf8(text).map_err(|_| Refused)
}

fn concat<'a>(text: &[u8], behind: &[u8], row: Row<'a>) -> Result<Value<'a>, Refused> {
    let len = text.len() + behind.len();
    if len > TEXT_BYTES_MAX {
        return Err(Refused);
    }
    let both = row.made.alloc_slice_fill_copy(len, 0);
    both[..text.len()].copy_from_slice(text);
    both[text.len()..].copy_from_slice(behind);
    Ok(Value::Bytes(both))
}

/// Letters that are none of ASCII's are the library's.
fn cased<'a>(text: &[u8], row: Row<'a>, of: fn(&mut [u8])) -> Result<Value<'a>, Refused> {
    if text.len() > TEXT_BYTES_MAX || !text.is_ascii() {
        return Err(Refused);
    }
    let made = row.made.alloc_slice_copy(text);
    of(made);
    Ok(Value::Bytes(made))
}

fn left(text: &[u8], count: i64) -> Result<Value<'_>, Refused> {
    let count = usize::try_from(count).map_err(|_| Refused)?;
    let end = characters(text)?.char_indices().nth(count).map_or(text.len(), |(at, _)| at);
    Ok(Value::Bytes(&text[..end]))
}
