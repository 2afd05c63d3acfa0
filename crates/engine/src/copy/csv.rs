//! CSV as PostgreSQL's COPY reads it: records may span lines inside quotes, and a quoted empty
//! field differs from an unquoted one.

use runtime::sync::Cancel;
use sql::parse::CopyOptions;
use types::{SqlError, SqlResult, SqlState};

use super::input::{Input, Stop};

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
pub(crate) struct CsvReader {
    pub(super) input: Input,
    pub(super) delimiter: u8,
    quote: u8,
    escape: u8,
    pub(super) line: u64,
    pub(super) next_line: u64,
}

impl CsvReader {
    pub(crate) fn new(input: Input, options: &CopyOptions) -> Self {
        let CopyOptions { delimiter, quote, escape, .. } = *options;
        CsvReader { input, delimiter, quote, escape, line: 0, next_line: 1 }
    }

    /// The line on which the last record starts, from 1.
    pub(crate) fn line(&self) -> u64 {
        self.line
    }

    /// Waits for more of what is read.
    ///
    /// # Errors
    /// 58030 when it cannot be read, 57014.
    pub(crate) async fn fill(&mut self, cancel: &Cancel) -> SqlResult<()> {
        self.input.fill(cancel).await
    }

    /// Bytes that have come.
    pub(crate) fn bytes_read(&self) -> u64 {
        self.input.bytes_read()
    }

    /// Whether each of so many records was one line.
    pub(crate) fn has_read_lines(&self, count: u64) -> bool {
        self.next_line == count || self.next_line == count + 1
    }

    pub(super) fn peek(&self) -> Result<Option<u8>, Stop> {
        self.input.peek()
    }

    pub(super) fn take(&mut self) -> Result<Option<u8>, Stop> {
        let byte = self.peek()?;
        if let Some(byte) = byte {
            self.input.step();
            self.next_line += u64::from(byte == b'\n');
        }
        Ok(byte)
    }

    /// Reads a record that begins here. When it does not end in what has come, nothing is read.
    pub(super) fn record<T>(
        &mut self,
        read: impl FnOnce(&mut CsvReader) -> Result<T, Stop>,
    ) -> Result<T, Stop> {
        let lines = (self.line, self.next_line);
        self.input.begin();
        let record = read(self);
        if matches!(record, Err(Stop::NeedsMore)) {
            self.input.go_back();
            (self.line, self.next_line) = lines;
        }
        record
    }

    /// The next record; `None` at the end.
    pub(crate) fn next_record(&mut self) -> Result<Option<Vec<Field>>, Stop> {
        self.record(CsvReader::read_record)
    }

    fn read_record(&mut self) -> Result<Option<Vec<Field>>, Stop> {
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
                return Err(too_long().into());
            }
        }
        fields.push(field);
        Ok(Some(fields))
    }

    /// The rest of a quoted section.
    fn quoted(&mut self, out: &mut Vec<u8>) -> Result<(), Stop> {
        loop {
            let Some(byte) = self.take()? else {
                let message = "unterminated CSV quoted field";
                return Err(SqlError::new(SqlState::BAD_COPY_FILE_FORMAT, message).into());
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
                return Err(too_long().into());
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
