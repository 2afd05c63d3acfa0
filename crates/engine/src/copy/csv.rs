//! CSV as PostgreSQL's COPY reads it: records may span lines inside quotes, and a quoted empty
//! field differs from an unquoted one.

use std::io::Read;

use sql::parse::CopyOptions;
use types::{SqlError, SqlResult, SqlState};

/// Bytes that are read at once.
const BLOCK_BYTES: usize = 1 << 18;

/// A record may not be longer: a missing quote would otherwise take all memory.
pub(super) const RECORD_BYTES_MAX: usize = 64 << 20;

/// One field of a record.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Field {
    pub(crate) bytes: Vec<u8>,
    /// Whether any of it was in quotes.
    pub(crate) quoted: bool,
    /// In the text format, the bytes as they stand there, where some of them are escaped.
    pub(crate) raw: Option<Vec<u8>>,
}

impl Field {
    /// As text, which must be UTF-8.
    pub(crate) fn text(&self) -> SqlResult<&str> {
        std::str::from_utf8(&self.bytes).map_err(|e| {
            let byte = self.bytes[e.valid_up_to()];
            let message = format!("invalid byte sequence for encoding \"UTF8\": {byte:#04x}");
            SqlError::new(SqlState::CHARACTER_NOT_IN_REPERTOIRE, message)
        })
    }

    /// Whether it is the text that stands for null.
    pub(crate) fn is(&self, null: &[u8]) -> bool {
        self.raw.as_ref().unwrap_or(&self.bytes) == null
    }

    /// `\.` alone on a line ends the data.
    pub(crate) fn is_end_marker(&self) -> bool {
        !self.quoted && self.is(b"\\.")
    }
}

/// Reads records.
pub(crate) struct CsvReader<'a> {
    input: &'a mut dyn Read,
    block: Vec<u8>,
    position: usize,
    pub(super) delimiter: u8,
    quote: u8,
    escape: u8,
    pub(super) line: u64,
    pub(super) next_line: u64,
}

impl<'a> CsvReader<'a> {
    pub(crate) fn new(input: &'a mut dyn Read, options: &CopyOptions) -> Self {
        let CopyOptions { delimiter, quote, escape, .. } = *options;
        let (block, position) = (vec![], 0);
        CsvReader { input, block, position, delimiter, quote, escape, line: 0, next_line: 1 }
    }

    /// The line on which the last record starts, from 1.
    pub(crate) fn line(&self) -> u64 {
        self.line
    }

    /// Whether each of so many records was one line.
    pub(crate) fn has_read_lines(&self, count: u64) -> bool {
        self.next_line == count || self.next_line == count + 1
    }

    pub(super) fn peek(&mut self) -> SqlResult<Option<u8>> {
        if self.position == self.block.len() {
            self.block.resize(BLOCK_BYTES, 0);
            self.position = 0;
            let read = self.input.read(&mut self.block);
            let count = read.map_err(|e| {
                SqlError::new(SqlState::IO_ERROR, format!("could not read COPY input: {e}"))
            })?;
            self.block.truncate(count);
        }
        Ok(self.block.get(self.position).copied())
    }

    pub(super) fn take(&mut self) -> SqlResult<Option<u8>> {
        let byte = self.peek()?;
        self.position += usize::from(byte.is_some());
        self.next_line += u64::from(byte == Some(b'\n'));
        Ok(byte)
    }

    /// The next record; `None` at the end.
    pub(crate) fn next_record(&mut self) -> SqlResult<Option<Vec<Field>>> {
        if self.peek()?.is_none() {
            return Ok(None);
        }
        self.line = self.next_line;
        let (mut fields, mut field, mut size) = (vec![], Field::default(), 0);
        loop {
            match self.take()? {
                None | Some(b'\n') => break,
                Some(b'\r') if matches!(self.peek()?, None | Some(b'\n')) => {}
                Some(byte) if byte == self.delimiter => fields.push(std::mem::take(&mut field)),
                Some(byte) if byte == self.quote => {
                    field.quoted = true;
                    self.quoted(&mut field.bytes)?;
                }
                Some(byte) => field.bytes.push(byte),
            }
            size += 1;
            if size > RECORD_BYTES_MAX {
                return Err(too_long());
            }
        }
        fields.push(field);
        Ok(Some(fields))
    }

    /// The rest of a quoted section.
    fn quoted(&mut self, out: &mut Vec<u8>) -> SqlResult<()> {
        loop {
            let Some(byte) = self.take()? else {
                let message = "unterminated CSV quoted field";
                return Err(SqlError::new(SqlState::BAD_COPY_FILE_FORMAT, message));
            };
            let next = self.peek()?;
            if byte == self.escape && (next == Some(self.quote) || next == Some(self.escape)) {
                out.extend(self.take()?);
            } else if byte == self.quote {
                return Ok(());
            } else {
                out.push(byte);
            }
            if out.len() > RECORD_BYTES_MAX {
                return Err(too_long());
            }
        }
    }
}

pub(super) fn too_long() -> SqlError {
    let message = format!("a CSV record is longer than {} MB", RECORD_BYTES_MAX >> 20);
    SqlError::new(SqlState::PROGRAM_LIMIT_EXCEEDED, message).with_hint("Is a quote missing?")
}

#[cfg(test)]
mod tests;
