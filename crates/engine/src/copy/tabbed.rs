//! The text format of COPY: one line a record, fields between delimiters, backslash escapes.

use super::csv::{CsvReader, Field, RECORD_BYTES_MAX, too_long};
use super::input::Stop;

impl CsvReader {
    /// The next record in text format; `None` at the end.
    pub(super) fn next_tabbed(&mut self) -> Result<Option<Vec<Field>>, Stop> {
        self.record(CsvReader::read_tabbed)
    }

    fn read_tabbed(&mut self) -> Result<Option<Vec<Field>>, Stop> {
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
                Some(byte) => field.push(byte),
            }
            size += 1;
            if size > RECORD_BYTES_MAX {
                return Err(too_long().into());
            }
        }
        fields.push(field);
        Ok(Some(fields))
    }

    /// What a backslash begins; null is told from it by the bytes as they stand.
    fn escaped(&mut self, field: &mut Field) -> Result<(), Stop> {
        let mut raw = field.raw.take().unwrap_or_else(|| field.bytes.clone());
        raw.push(b'\\');
        let byte = match self.take()? {
            None => b'\\',
            Some(byte) => {
                raw.push(byte);
                match byte {
                    b'b' => 8,
                    b'f' => 12,
                    b'n' => b'\n',
                    b'r' => b'\r',
                    b't' => b'\t',
                    b'v' => 11,
                    b'0'..=b'7' => self.digits(byte - b'0', 8, 2, &mut raw)?,
                    b'x' if self.peek()?.is_some_and(|b| b.is_ascii_hexdigit()) => {
                        self.digits(0, 16, 2, &mut raw)?
                    }
                    other => other,
                }
            }
        };
        field.bytes.push(byte);
        field.raw = Some(raw);
        Ok(())
    }

    /// A byte by its number: the digits that follow, at most so many.
    fn digits(
        &mut self,
        first: u8,
        radix: u32,
        most: usize,
        raw: &mut Vec<u8>,
    ) -> Result<u8, Stop> {
        let mut value = u32::from(first);
        for _ in 0..most {
            let Some(byte) = self.peek()? else { break };
            let Some(digit) = char::from(byte).to_digit(radix) else { break };
            value = value * radix + digit;
            raw.extend(self.take()?);
        }
        // Of a larger number the last eight bits.
        Ok(value as u8)
    }
}

impl Field {
    fn push(&mut self, byte: u8) {
        self.bytes.push(byte);
        if let Some(raw) = &mut self.raw {
            raw.push(byte);
        }
    }
}
