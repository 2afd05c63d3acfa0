//! The text format of COPY: one line a record, fields between delimiters, backslash escapes.

use types::SqlResult;

use super::csv::{CsvReader, Field, RECORD_BYTES_MAX, too_long};

impl CsvReader<'_> {
    /// The next record in text format; `None` at the end. An escaped field counts as quoted, so
    /// that an escaped null marker is text; the marker `\\N` itself is kept as it is.
    pub(super) fn next_tabbed(&mut self) -> SqlResult<Option<Vec<Field>>> {
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
                Some(b'\\') => self.escaped(&mut field)?,
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

    /// The character after a backslash.
    fn escaped(&mut self, field: &mut Field) -> SqlResult<()> {
        let byte = match self.take()? {
            None => b'\\',
            Some(marker @ (b'N' | b'.')) => {
                field.bytes.extend([b'\\', marker]);
                return Ok(());
            }
            Some(b'b') => 8,
            Some(b'f') => 12,
            Some(b'n') => b'\n',
            Some(b'r') => b'\r',
            Some(b't') => b'\t',
            Some(b'v') => 11,
            Some(byte) => byte,
        };
        field.quoted = true;
        field.bytes.push(byte);
        Ok(())
    }
}
