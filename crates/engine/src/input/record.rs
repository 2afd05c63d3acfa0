//! Records of text and CSV, read from bytes that are there.

use std::borrow::Cow;

use sql::parse::{CopyFormat, CopyOptions};
use types::{SqlError, SqlResult, SqlState};

use super::stop::Stop;

/// A record may not be longer: a missing quote would otherwise take all memory.
pub(crate) const RECORD_BYTES_MAX: usize = 64 << 20;

/// What tells records and fields apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RecordFormat {
    /// CSV as PostgreSQL reads it.
    Csv { delimiter: u8, quote: u8, escape: u8 },
    /// One line a record, backslash escapes.
    Text { delimiter: u8 },
}

impl RecordFormat {
    pub(crate) fn of(options: &CopyOptions) -> RecordFormat {
        let CopyOptions { delimiter, quote, escape, .. } = *options;
        match options.format {
            CopyFormat::Csv => RecordFormat::Csv { delimiter, quote, escape },
            _ => RecordFormat::Text { delimiter },
        }
    }
}

/// One field of a record.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Field<'a> {
    pub(crate) bytes: Cow<'a, [u8]>,
    /// Whether any of it was in quotes.
    pub(crate) quoted: bool,
    /// In the text format, the bytes as they stand there, where some of them are escaped.
    pub(crate) raw: Option<Vec<u8>>,
}

impl<'a> Field<'a> {
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
        self.raw.as_deref().unwrap_or(&self.bytes) == null
    }

    /// `\.` alone on a line ends the data.
    pub(crate) fn is_end_marker(&self) -> bool {
        !self.quoted && self.is(b"\\.")
    }

    /// The same without the bytes that it was read from.
    pub(crate) fn into_owned(self) -> Field<'static> {
        let Field { bytes, quoted, raw } = self;
        Field { bytes: Cow::Owned(bytes.into_owned()), quoted, raw }
    }

    /// Adds bytes as they stand in the record.
    pub(crate) fn extend(&mut self, bytes: &'a [u8]) {
        match self.bytes.is_empty() {
            true => self.bytes = Cow::Borrowed(bytes),
            false if bytes.is_empty() => {}
            false => self.bytes.to_mut().extend_from_slice(bytes),
        }
        if let Some(raw) = &mut self.raw {
            raw.extend_from_slice(bytes);
        }
    }
}

/// Reads records one after the other.
pub(crate) struct RecordReader<'a> {
    pub(crate) format: RecordFormat,
    bytes: &'a [u8],
    at: usize,
    /// Whether a record that does not end in the bytes ends behind them.
    goes_on: bool,
    line: u64,
    next_line: u64,
}

impl<'a> RecordReader<'a> {
    /// A reader of whole records, the first of which begins on line `first_line`.
    pub(crate) fn new(format: RecordFormat, bytes: &'a [u8], first_line: u64) -> Self {
        let (line, next_line) = (first_line.saturating_sub(1), first_line);
        RecordReader { format, bytes, at: 0, goes_on: false, line, next_line }
    }

    /// A reader of the begin of a record, of which more comes.
    pub(crate) fn of_begun(format: RecordFormat, bytes: &'a [u8], first_line: u64) -> Self {
        RecordReader { goes_on: true, ..RecordReader::new(format, bytes, first_line) }
    }

    /// The line on which the last record starts, from 1.
    pub(crate) fn line(&self) -> u64 {
        self.line
    }

    /// Where the next record begins.
    pub(crate) fn position(&self) -> usize {
        self.at
    }

    /// Reads the next record into `fields`, in the place of those that are there; false at the end.
    ///
    /// # Errors
    /// 22P04 for quotes that do not end, 54000 for a record that is too long; that more is needed, unless the
    /// records are whole.
    pub(crate) fn read(&mut self, fields: &mut Vec<Field<'a>>) -> Result<bool, Stop> {
        fields.clear();
        if self.peek()?.is_none() {
            return Ok(false);
        }
        self.line = self.next_line;
        match self.format {
            RecordFormat::Csv { delimiter, quote, escape } => {
                self.read_csv(fields, delimiter, [quote, escape])?;
            }
            RecordFormat::Text { delimiter } => self.read_tabbed(fields, delimiter)?,
        }
        Ok(true)
    }

    /// The same where records are whole.
    ///
    /// # Errors
    /// 22P04, 54000.
    pub(crate) fn next(&mut self, fields: &mut Vec<Field<'a>>) -> SqlResult<bool> {
        self.read(fields).map_err(|stop| match stop {
            Stop::Wrong(error) => error,
            Stop::NeedsMore => SqlError::internal("a record is not whole"),
        })
    }

    /// The next byte; `None` at the end.
    pub(crate) fn peek(&self) -> Result<Option<u8>, Stop> {
        match self.bytes.get(self.at) {
            None if self.goes_on => Err(Stop::NeedsMore),
            byte => Ok(byte.copied()),
        }
    }

    pub(crate) fn take(&mut self) -> Result<Option<u8>, Stop> {
        let byte = self.peek()?;
        if let Some(byte) = byte {
            self.at += 1;
            self.next_line += u64::from(byte == b'\n');
        }
        Ok(byte)
    }

    /// Takes bytes up to one that ends them.
    pub(crate) fn take_until(&mut self, is_end: impl Fn(u8) -> bool) -> &'a [u8] {
        let left = &self.bytes[self.at..];
        let count = left.iter().position(|byte| is_end(*byte)).unwrap_or(left.len());
        self.at += count;
        &left[..count]
    }

    /// Counts lines that were passed over within a record.
    pub(crate) fn count_lines(&mut self, bytes: &[u8]) {
        self.next_line += bytes.iter().filter(|byte| **byte == b'\n').count() as u64;
    }
}

/// Errors: 54000 for a record of CSV, or a line of text, that is too long.
pub(crate) fn check_length(is_csv: bool, bytes: usize) -> SqlResult<()> {
    if bytes <= RECORD_BYTES_MAX {
        return Ok(());
    }
    let (what, hint) = match is_csv {
        true => ("CSV record", "Is a quote missing?"),
        false => ("line of the text format", "Do lines end with line feeds?"),
    };
    let message = format!("a {what} is longer than {} MB", RECORD_BYTES_MAX >> 20);
    Err(SqlError::new(SqlState::PROGRAM_LIMIT_EXCEEDED, message).with_hint(hint))
}
