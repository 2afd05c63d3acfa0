//! Text and bytea: plain bytes, symbols (FSST), dictionaries of a vector or of the column.

mod encode;
mod lengths;
mod symbols;

pub(crate) use encode::{SharedFinder, SharedWriter, encode};
pub(crate) use symbols::Symbols;

use std::ops::Range;

use arrow_buffer::Buffer;

use crate::encoding::Encoding;
use crate::error::Result;
use crate::layout::VECTOR_ROWS;
use crate::mask::Mask;
use crate::shared::Shared;
use crate::view::View;
use crate::words::{Packed, checked_codes, codes_mask};
use lengths::Lengths;

/// Strings as ranges of one buffer.
#[derive(Clone, Debug)]
pub(crate) struct Texts {
    /// The bytes.
    pub buffer: Buffer,
    /// Offset and length of each string in the buffer.
    pub spans: Vec<(u32, u32)>,
    /// The number of each row's string, if that is not the row's own number.
    pub codes: Option<Vec<u16>>,
}

impl Texts {
    /// The string at `index`.
    pub fn get(&self, index: usize) -> &[u8] {
        let (offset, len) = self.spans[index];
        &self.buffer[offset as usize..][..len as usize]
    }
}

/// Strings that are found one by one.
#[derive(Default)]
pub(crate) struct TextsBuilder {
    buffer: Vec<u8>,
    spans: Vec<(u32, u32)>,
}

impl TextsBuilder {
    /// Appends a string.
    pub fn push(&mut self, bytes: &[u8]) {
        self.spans.push((self.buffer.len() as u32, bytes.len() as u32));
        self.buffer.extend_from_slice(bytes);
    }

    /// The strings.
    pub fn finish(self) -> Texts {
        Texts { buffer: Buffer::from_vec(self.buffer), spans: self.spans, codes: None }
    }
}

const NO_ENTRY: &str = "a code has no entry";

/// Strings in one of their encodings.
pub(crate) enum Strings<'a> {
    Plain(Stored<'a>),
    Symbols(Stored<'a>, &'a Symbols),
    Dictionary { codes: Packed<'a>, entries: Stored<'a> },
    Shared { view: View<'a>, codes: Packed<'a>, entries: &'a Texts },
}

/// Strings back to back, as bytes or as codes of symbols.
#[derive(Clone, Copy)]
pub(crate) struct Stored<'a> {
    view: View<'a>,
    lengths: Lengths<'a>,
    bytes_at: usize,
}

impl<'a> Strings<'a> {
    pub fn parse(
        view: View<'a>,
        at: usize,
        encoding: Encoding,
        count: usize,
        shared: &'a Shared,
    ) -> Result<Strings<'a>> {
        match (encoding, shared) {
            (Encoding::Plain, _) => Ok(Strings::Plain(Stored::parse(view, at, count)?)),
            (Encoding::Symbols, Shared::Symbols(symbols)) => {
                Ok(Strings::Symbols(Stored::parse(view, at, count)?, symbols))
            }
            (Encoding::Dictionary, _) => {
                let entry_count = view.count(at, VECTOR_ROWS)?;
                let (codes, entries_at) = Packed::parse::<u16>(view, at + 8, count)?;
                let entries = Stored::parse(view, entries_at, entry_count)?;
                Ok(Strings::Dictionary { codes, entries })
            }
            (Encoding::Shared, Shared::Dictionary(entries)) => {
                let (codes, _) = Packed::parse::<u16>(view, at, count)?;
                Ok(Strings::Shared { view, codes, entries })
            }
            _ => Err(view.damage(at, "an encoding that strings of this column do not have")),
        }
    }

    /// All strings.
    pub fn decode(&self) -> Result<Texts> {
        match self {
            Strings::Plain(stored) => stored.decode(),
            Strings::Symbols(stored, symbols) => stored.decode_symbols(symbols),
            Strings::Dictionary { codes, entries } => {
                let codes = checked_codes(entries.view, codes, entries.lengths.count())?;
                Ok(Texts { codes: Some(codes), ..entries.decode()? })
            }
            Strings::Shared { view, codes, entries } => {
                let codes = checked_codes(*view, codes, entries.spans.len())?;
                Ok(Texts { codes: Some(codes), ..Texts::clone(entries) })
            }
        }
    }

    /// The strings of some rows; `few` if each is looked up alone, for which no other's bytes need be at hand.
    /// Of strings that have bytes of their own no others are decoded.
    pub fn choose(&self, rows: &[u16], few: bool) -> Result<Texts> {
        let mut texts = TextsBuilder::default();
        match self {
            Strings::Plain(stored) => {
                stored.chosen(rows, few)?.into_iter().for_each(|string| texts.push(string));
            }
            Strings::Symbols(stored, symbols) => {
                return symbols.decode(&stored.view, &stored.chosen(rows, few)?);
            }
            Strings::Dictionary { codes, entries } if few => {
                for row in rows {
                    let code = usize::from(codes.get::<u16>(usize::from(*row))?);
                    if code >= entries.lengths.count() {
                        return Err(entries.view.damage(0, NO_ENTRY));
                    }
                    texts.push(entries.get(code)?);
                }
            }
            Strings::Shared { view, codes, entries } if few => {
                for row in rows {
                    let code = usize::from(codes.get::<u16>(usize::from(*row))?);
                    if code >= entries.spans.len() {
                        return Err(view.damage(0, NO_ENTRY));
                    }
                    texts.push(entries.get(code));
                }
            }
            Strings::Dictionary { .. } | Strings::Shared { .. } => {
                let Texts { buffer, spans, codes } = self.decode()?;
                let chosen =
                    |all: Vec<u16>| rows.iter().map(|row| all[usize::from(*row)]).collect();
                return Ok(Texts { buffer, spans, codes: codes.map(chosen) });
            }
        }
        Ok(texts.finish())
    }

    /// Where the bytes of these rows lie in the body, if each has bytes of its own.
    pub fn places(&self, rows: &[u16]) -> Option<Result<Vec<Range<u64>>>> {
        match self {
            Strings::Plain(stored) | Strings::Symbols(stored, _) => {
                Some(rows.iter().map(|row| stored.place(usize::from(*row))).collect())
            }
            Strings::Dictionary { .. } | Strings::Shared { .. } => None,
        }
    }

    /// The rows whose bytes `contains` accepts; a dictionary is asked once for each entry.
    pub fn matching(&self, contains: impl Fn(&[u8]) -> bool) -> Result<Mask> {
        let wanted = |texts: &Texts| -> Vec<u8> {
            (0..texts.spans.len()).map(|entry| u8::from(contains(texts.get(entry)))).collect()
        };
        match self {
            Strings::Dictionary { codes, entries } => {
                let codes = checked_codes(entries.view, codes, entries.lengths.count())?;
                Ok(codes_mask(&codes, &wanted(&entries.decode()?)))
            }
            Strings::Shared { view, codes, entries } => {
                let codes = checked_codes(*view, codes, entries.spans.len())?;
                Ok(codes_mask(&codes, &wanted(entries)))
            }
            Strings::Plain(_) | Strings::Symbols(..) => {
                let texts = self.decode()?;
                Ok(Mask::from_fn(texts.spans.len(), |row| contains(texts.get(row))))
            }
        }
    }
}

impl<'a> Stored<'a> {
    /// `count` strings whose lengths begin at `at` and whose bytes end with the view.
    pub fn parse(view: View<'a>, at: usize, count: usize) -> Result<Stored<'a>> {
        let (lengths, bytes_at) = Lengths::parse(view, at, count)?;
        Ok(Stored { view, lengths, bytes_at })
    }

    /// All strings, as they are stored.
    pub fn decode(&self) -> Result<Texts> {
        let buffer = Buffer::from(self.view.rest(self.bytes_at)?);
        Ok(Texts { spans: self.lengths.spans(buffer.len())?, buffer, codes: None })
    }

    fn decode_symbols(&self, symbols: &Symbols) -> Result<Texts> {
        let codes = self.view.rest(self.bytes_at)?;
        let spans = self.lengths.spans(codes.len())?;
        let strings: Vec<&[u8]> = spans.iter().map(|span| slice(codes, span)).collect();
        symbols.decode(&self.view, &strings)
    }

    /// The stored bytes of some strings.
    fn chosen(&self, rows: &[u16], few: bool) -> Result<Vec<&'a [u8]>> {
        if few {
            return rows.iter().map(|row| self.get(usize::from(*row))).collect();
        }
        let bytes = self.view.rest(self.bytes_at)?;
        let spans = self.lengths.spans(bytes.len())?;
        Ok(rows.iter().map(|row| slice(bytes, &spans[usize::from(*row)])).collect())
    }

    /// Where the bytes of one string lie in the body.
    fn place(&self, index: usize) -> Result<Range<u64>> {
        let (offset, len) = self.lengths.span(index)?;
        self.view.place(self.bytes_at + offset, len)
    }

    /// The stored bytes of one string.
    fn get(&self, index: usize) -> Result<&'a [u8]> {
        let (offset, len) = self.lengths.span(index)?;
        self.view.bytes(self.bytes_at + offset, len)
    }
}

fn slice<'a>(bytes: &'a [u8], (offset, len): &(u32, u32)) -> &'a [u8] {
    &bytes[*offset as usize..][..*len as usize]
}
