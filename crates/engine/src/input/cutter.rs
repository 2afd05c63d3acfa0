//! Cuts the data of a `COPY .. FROM` into portions of whole records, which can be read beside each other.

use types::SqlResult;

use super::borders::{Border, Borders};
use super::record::{RECORD_BYTES_MAX, RecordFormat, RecordReader, check_length};
use super::stop::Stop;

/// Records of a portion: as many rows as are handed on at once.
pub(crate) const PORTION_RECORDS: usize = 4096;

/// Bytes of a portion, about. Reading them takes some milliseconds, beside which a hand-over is nothing, and
/// a portion for each of many workers is little memory.
pub(crate) const PORTION_BYTES: usize = 256 << 10;

/// Bytes that a byte of a field may take in the data: `\x41`.
pub(crate) const ESCAPED_BYTES_MAX: usize = 4;

/// How large portions become, but for the record that goes beyond it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PortionSize {
    pub(crate) records: usize,
    pub(crate) bytes: usize,
}

impl Default for PortionSize {
    fn default() -> PortionSize {
        PortionSize { records: PORTION_RECORDS, bytes: PORTION_BYTES }
    }
}

/// Whole records, one after the other.
#[derive(Debug, Default)]
pub(crate) struct Portion {
    pub(crate) bytes: Vec<u8>,
    /// The line of the first one, from 1.
    pub(crate) first_line: u64,
    /// Nothing stands before them.
    pub(crate) is_first: bool,
}

/// Cuts what comes.
pub(crate) struct Cutter {
    format: RecordFormat,
    size: PortionSize,
    borders: Borders,
    bytes: Vec<u8>,
    /// Up to where they were cut.
    cut: usize,
    /// Where the last whole record ends.
    whole: usize,
    /// Up to where borders were looked for.
    seen: usize,
    /// Whole records that are not cut yet.
    records: usize,
    /// The lines at `cut`, at `whole` and at `seen`, and that of the last whole record.
    cut_line: u64,
    whole_line: u64,
    seen_line: u64,
    last_line: u64,
    /// Bytes of a record that has no end yet from which it is looked whether it is too long.
    suspect_bytes: usize,
    is_first: bool,
    has_ended: bool,
}

impl Cutter {
    pub(crate) fn new(format: RecordFormat) -> Cutter {
        Cutter::of_size(format, PortionSize::default())
    }

    pub(crate) fn of_size(format: RecordFormat, size: PortionSize) -> Cutter {
        Cutter {
            format,
            size,
            borders: Borders::new(format),
            bytes: vec![],
            cut: 0,
            whole: 0,
            seen: 0,
            records: 0,
            cut_line: 1,
            whole_line: 1,
            seen_line: 1,
            last_line: 0,
            suspect_bytes: RECORD_BYTES_MAX,
            is_first: true,
            has_ended: false,
        }
    }

    /// More has come.
    pub(crate) fn push(&mut self, bytes: Vec<u8>) {
        if self.cut == self.bytes.len() {
            self.bytes = bytes;
        } else {
            self.bytes.drain(..self.cut);
            self.bytes.extend_from_slice(&bytes);
        }
        (self.whole, self.seen, self.cut) = (self.whole - self.cut, self.seen - self.cut, 0);
    }

    /// Nothing more comes.
    pub(crate) fn end(&mut self) {
        self.has_ended = true;
    }

    pub(crate) fn has_ended(&self) -> bool {
        self.has_ended
    }

    /// The line of the last record that has come as a whole, 0 before the first one.
    pub(crate) fn line(&self) -> u64 {
        self.last_line
    }

    /// The line behind all that was looked at.
    pub(crate) fn next_line(&self) -> u64 {
        self.seen_line
    }

    /// A portion of the full size, if so much has come.
    pub(crate) fn full(&mut self) -> Option<Portion> {
        while let Some((border, count)) = self.borders.next(&self.bytes[self.seen..]) {
            self.seen += count;
            self.seen_line += 1;
            if border == Border::Record {
                self.records += 1;
                self.suspect_bytes = RECORD_BYTES_MAX;
                self.end_record();
                if self.records >= self.size.records || self.whole - self.cut >= self.size.bytes {
                    return self.portion();
                }
            }
        }
        self.seen = self.bytes.len();
        None
    }

    /// The records that have come as a whole, of which there is no full portion; at the end, all that is left.
    pub(crate) fn rest(&mut self) -> Option<Portion> {
        if self.has_ended && self.seen == self.bytes.len() && self.whole < self.seen {
            self.end_record();
        }
        self.portion()
    }

    /// What was looked at last ends a record.
    fn end_record(&mut self) {
        self.last_line = self.whole_line;
        (self.whole, self.whole_line) = (self.seen, self.seen_line);
    }

    fn portion(&mut self) -> Option<Portion> {
        if self.whole == self.cut {
            return None;
        }
        let bytes = match self.cut == 0 && self.whole == self.bytes.len() {
            true => {
                (self.whole, self.seen) = (0, 0);
                std::mem::take(&mut self.bytes)
            }
            false => self.bytes[self.cut..self.whole].to_vec(),
        };
        self.cut = self.whole;
        self.records = 0;
        let first_line = std::mem::replace(&mut self.cut_line, self.whole_line);
        let is_first = std::mem::take(&mut self.is_first);
        Some(Portion { bytes, first_line, is_first })
    }

    /// Looks whether the record that goes on is too long already.
    ///
    /// # Errors
    /// 54000.
    pub(crate) fn check_length(&mut self) -> SqlResult<()> {
        let begun = &self.bytes[self.whole..];
        if begun.len() <= self.suspect_bytes {
            return Ok(());
        }
        // Many quoted fields have no limit together: so long are the bytes of no record that is short enough.
        if begun.len() > RECORD_BYTES_MAX * ESCAPED_BYTES_MAX {
            self.last_line = self.whole_line;
            let is_csv = matches!(self.format, RecordFormat::Csv { .. });
            return check_length(is_csv, begun.len());
        }
        // Looked at again when it is some longer: not too often, and before it takes much more memory.
        self.suspect_bytes = begun.len() + begun.len() / 8;
        let read = RecordReader::of_begun(self.format, begun, self.whole_line).read(&mut vec![]);
        match read {
            Err(Stop::Wrong(error)) => {
                self.last_line = self.whole_line;
                Err(error)
            }
            Ok(_) | Err(Stop::NeedsMore) => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests;
