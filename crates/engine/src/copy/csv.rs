//! CSV as PostgreSQL's COPY reads it: records may span lines inside quotes, and a quoted empty
//! field differs from an unquoted one.

use types::{SqlError, SqlState};

use crate::input::record::{Field, RecordReader, check_length};
use crate::input::stop::Stop;

impl<'a> RecordReader<'a> {
    /// A record, up to the end of its line.
    pub(crate) fn read_csv(
        &mut self,
        fields: &mut Vec<Field<'a>>,
        delimiter: u8,
        [quote, escape]: [u8; 2],
    ) -> Result<(), Stop> {
        let is_end = |byte| matches!(byte, b'\n' | b'\r') || byte == delimiter || byte == quote;
        let (mut field, mut size) = (Field::default(), 0);
        loop {
            let plain = self.take_until(is_end);
            field.extend(plain);
            size += plain.len() + 1;
            // Before more of it is waited for: a record without an end may be all that ever comes.
            check_length(true, size)?;
            match self.take()? {
                None | Some(b'\n') => break,
                Some(byte) if byte == delimiter => fields.push(std::mem::take(&mut field)),
                Some(byte) if byte == quote => {
                    field.quoted = true;
                    self.read_quoted(&mut field, quote, escape)?;
                }
                // Of the end of a line.
                Some(_) if matches!(self.peek()?, None | Some(b'\n')) => {}
                Some(byte) => field.bytes.to_mut().push(byte),
            }
        }
        fields.push(field);
        Ok(())
    }

    /// The rest of a quoted section.
    fn read_quoted(&mut self, field: &mut Field<'a>, quote: u8, escape: u8) -> Result<(), Stop> {
        loop {
            let plain = self.take_until(|byte| byte == quote || byte == escape);
            self.count_lines(plain);
            field.extend(plain);
            check_length(true, field.bytes.len())?;
            let Some(byte) = self.take()? else {
                let message = "unterminated CSV quoted field";
                return Err(SqlError::new(SqlState::BAD_COPY_FILE_FORMAT, message).into());
            };
            let next = self.peek()?;
            if byte == escape && (next == Some(quote) || next == Some(escape)) {
                field.bytes.to_mut().extend(self.take()?);
            } else if byte == quote {
                return Ok(());
            } else {
                field.bytes.to_mut().push(byte);
            }
        }
    }
}

#[cfg(test)]
mod tests;
