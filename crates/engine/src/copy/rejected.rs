//! A row of `COPY .. FROM` that cannot be read: whether the statement may go on without it, and what is kept of it.

use sql::parse::{CopyFormat, CopyOptions};
use types::{SqlError, SqlResult, SqlState};

use crate::input::record::Field;

/// A row that could not be read.
#[derive(Debug)]
pub(crate) struct Reject {
    /// Its first line.
    pub(crate) line: u64,
    pub(crate) reason: String,
    /// Its fields, as they were read.
    pub(crate) data: String,
}

/// Which rows may be left out.
#[derive(Clone, Debug)]
pub(crate) struct Leniency {
    /// Whether any.
    ignores: bool,
    /// Whether a table takes them.
    keeps: bool,
    delimiter: char,
    /// The quote and what stands before one, of CSV.
    quotes: Option<(char, char)>,
}

impl Leniency {
    pub(crate) fn of(options: &CopyOptions) -> Leniency {
        let CopyOptions { format, delimiter, quote, escape, ignored, .. } = options;
        let quotes = (char::from(*quote), char::from(*escape));
        Leniency {
            ignores: ignored.is_some(),
            keeps: ignored.as_ref().is_some_and(|ignored| ignored.table.is_some()),
            delimiter: char::from(*delimiter),
            quotes: (*format == CopyFormat::Csv).then_some(quotes),
        }
    }

    /// Whether the fields of rows that are left out are wanted.
    pub(crate) fn keeps(&self) -> bool {
        self.keeps
    }

    /// A row that failed, as it is left out.
    ///
    /// # Errors
    /// Its own, where such rows are not to be ignored.
    pub(crate) fn reject(
        &self,
        error: SqlError,
        line: u64,
        fields: &[Field<'_>],
    ) -> SqlResult<Reject> {
        // As in PostgreSQL, only values that are none of their types are ignored where nothing keeps the row.
        if !self.ignores || !(is_of_value(&error) || self.keeps && is_of_row(&error)) {
            return Err(error);
        }
        if !self.keeps {
            return Ok(Reject { line, reason: String::new(), data: String::new() });
        }
        let column = error.context().filter(|_| is_of_value(&error));
        let reason = format!("{}{}", error.message, column.unwrap_or_default());
        Ok(Reject { line, reason, data: self.shown(fields) })
    }

    /// The fields of a row with what stands between them.
    fn shown(&self, fields: &[Field<'_>]) -> String {
        let mut shown = String::new();
        for (nth, field) in fields.iter().enumerate() {
            if nth > 0 {
                shown.push(self.delimiter);
            }
            let text = String::from_utf8_lossy(&field.bytes);
            match self.quotes.filter(|_| field.quoted) {
                Some((quote, escape)) => {
                    let inner = text.replace(quote, &format!("{escape}{quote}"));
                    shown.extend([quote.to_string(), inner, quote.to_string()]);
                }
                None => shown.push_str(&text),
            }
        }
        shown
    }
}

/// Whether a value is none of its type.
fn is_of_value(error: &SqlError) -> bool {
    error.state.0.starts_with("22") && error.state != SqlState::BAD_COPY_FILE_FORMAT
}

/// Whether a row has other fields than are wanted, or a null where none may be.
fn is_of_row(error: &SqlError) -> bool {
    error.state == SqlState::BAD_COPY_FILE_FORMAT || error.state == SqlState::NOT_NULL_VIOLATION
}
