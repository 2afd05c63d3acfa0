//! `COPY .. TO`: rows as text, CSV or binary, byte for byte as PostgreSQL writes them.

use arrow_array::{Array, ArrayRef, RecordBatch};
use arrow_schema::Schema;
use sql::parse::{CopyFormat, CopyOptions, ForcedColumns, Header};
use types::zone::{self, Context};
use types::{SqlError, SqlResult, SqlState, binary};

use super::binary::SIGNATURE;
use super::parquet::refuse_client;

/// Writes rows.
#[derive(Debug)]
pub struct CopyFormatter {
    options: CopyOptions,
    columns: Vec<String>,
    /// For each column, whether it is always in quotes.
    quoted: Vec<bool>,
    /// What the session shows values in.
    context: Context,
}

impl CopyFormatter {
    /// A formatter for rows of these columns.
    ///
    /// # Errors
    /// 42703 and 42P10 for columns of an option that are not copied, 0A000 for Parquet, which is no text.
    pub(crate) fn new(options: &CopyOptions, schema: &Schema) -> SqlResult<CopyFormatter> {
        if options.format == CopyFormat::Parquet {
            return Err(refuse_client());
        }
        let columns: Vec<String> = schema.fields().iter().map(|f| f.name().clone()).collect();
        let mut quoted = vec![options.force_quote == ForcedColumns::All; columns.len()];
        if let ForcedColumns::Named(names) = &options.force_quote {
            for name in names {
                let at = columns.iter().position(|column| column == name);
                let at = at.ok_or_else(|| {
                    let message = format!("column \"{name}\" does not exist");
                    SqlError::new(SqlState::UNDEFINED_COLUMN, message)
                })?;
                quoted[at] = true;
            }
        }
        let (options, context) = (options.clone(), zone::current());
        Ok(CopyFormatter { options, columns, quoted, context })
    }

    /// Whether it writes binary.
    pub fn is_binary(&self) -> bool {
        self.options.format == CopyFormat::Binary
    }

    /// Number of columns.
    pub fn column_count(&self) -> usize {
        self.columns.len()
    }

    /// What stands before the first row.
    pub fn begin(&self, out: &mut Vec<u8>) {
        if self.is_binary() {
            out.extend_from_slice(SIGNATURE);
            // Neither flags nor an extension.
            out.extend_from_slice(&[0; 8]);
            return;
        }
        if self.options.header == Header::No {
            return;
        }
        for (index, name) in self.columns.iter().enumerate() {
            self.delimit(index, out);
            match self.options.format {
                CopyFormat::Csv => self.csv_field(name, false, out),
                _ => self.text_field(name, out),
            }
        }
        out.push(b'\n');
    }

    /// One row.
    ///
    /// # Errors
    /// 0A000 for a type without binary form.
    pub fn row(&self, batch: &RecordBatch, row: usize, out: &mut Vec<u8>) -> SqlResult<()> {
        let _entered = zone::enter(self.context);
        if self.is_binary() {
            out.extend_from_slice(&(batch.num_columns() as i16).to_be_bytes());
            return batch.columns().iter().try_for_each(|c| binary::encode(out, c, row));
        }
        for (index, column) in batch.columns().iter().enumerate() {
            self.delimit(index, out);
            self.field(index, column, row, out);
        }
        out.push(b'\n');
        Ok(())
    }

    /// What stands behind the last row.
    pub fn end(&self, out: &mut Vec<u8>) {
        if self.is_binary() {
            out.extend_from_slice(&(-1i16).to_be_bytes());
        }
    }

    fn delimit(&self, index: usize, out: &mut Vec<u8>) {
        if index > 0 {
            out.push(self.options.delimiter);
        }
    }

    fn field(&self, index: usize, column: &ArrayRef, row: usize, out: &mut Vec<u8>) {
        let value = match column.is_null(row) {
            true => None,
            false => types::text::format_value(column, row),
        };
        match (value, self.options.format) {
            (None, _) => out.extend_from_slice(self.options.null.as_bytes()),
            (Some(value), CopyFormat::Csv) => self.csv_field(&value, self.quoted[index], out),
            (Some(value), _) => self.text_field(&value, out),
        }
    }

    fn text_field(&self, value: &str, out: &mut Vec<u8>) {
        for byte in value.bytes() {
            let letter = match byte {
                8 => b'b',
                12 => b'f',
                b'\n' => b'n',
                b'\r' => b'r',
                b'\t' => b't',
                11 => b'v',
                b'\\' => b'\\',
                byte if byte == self.options.delimiter => byte,
                byte => {
                    out.push(byte);
                    continue;
                }
            };
            out.extend_from_slice(&[b'\\', letter]);
        }
    }

    fn csv_field(&self, value: &str, quoted: bool, out: &mut Vec<u8>) {
        if !quoted && !self.needs_quotes(value) {
            return out.extend_from_slice(value.as_bytes());
        }
        let CopyOptions { quote, escape, .. } = self.options;
        out.push(quote);
        for byte in value.bytes() {
            if byte == quote || byte == escape {
                out.push(escape);
            }
            out.push(byte);
        }
        out.push(quote);
    }

    /// Whether it would be read as something else: as null, as several fields, as the end of the data.
    fn needs_quotes(&self, value: &str) -> bool {
        let CopyOptions { delimiter, quote, .. } = self.options;
        let special =
            |byte: u8| byte == delimiter || byte == quote || matches!(byte, b'\n' | b'\r');
        value == self.options.null
            || (self.columns.len() == 1 && value == "\\.")
            || value.bytes().any(special)
    }
}
