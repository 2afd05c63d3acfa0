//! The text format of COPY: one line a record, fields between delimiters, backslash escapes.

use crate::input::record::{Field, RecordReader, check_length};
use crate::input::stop::Stop;

impl<'a> RecordReader<'a> {
    /// A record, up to the end of its line.
    pub(crate) fn read_tabbed(
        &mut self,
        fields: &mut Vec<Field<'a>>,
        delimiter: u8,
    ) -> Result<(), Stop> {
        let is_end = |byte| matches!(byte, b'\n' | b'\r' | b'\\') || byte == delimiter;
        let (mut field, mut size) = (Field::default(), 0);
        loop {
            let plain = self.take_until(is_end);
            field.extend(plain);
            size += plain.len() + 1;
            // Before more of it is waited for: a line without an end may be all that ever comes.
            check_length(false, size)?;
            match self.take()? {
                None | Some(b'\n') => break,
                Some(byte) if byte == delimiter => fields.push(std::mem::take(&mut field)),
                Some(b'\\') => self.read_escaped(&mut field)?,
                // Of the end of a line.
                Some(_) if matches!(self.peek()?, None | Some(b'\n')) => {}
                Some(byte) => field.push(byte),
            }
        }
        fields.push(field);
        Ok(())
    }

    /// What a backslash begins; null is told from it by the bytes as they stand.
    fn read_escaped(&mut self, field: &mut Field<'a>) -> Result<(), Stop> {
        let mut raw = field.raw.take().unwrap_or_else(|| field.bytes.to_vec());
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
        field.bytes.to_mut().push(byte);
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

impl Field<'_> {
    fn push(&mut self, byte: u8) {
        self.bytes.to_mut().push(byte);
        if let Some(raw) = &mut self.raw {
            raw.push(byte);
        }
    }
}
