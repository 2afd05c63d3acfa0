//! What the records of a `COPY .. FROM` are read by, whoever reads them.

use sql::parse::{CopyOptions, Header};
use types::parse::ColumnParser;
use types::zone::Context;
use types::{Column, Schema, SqlError, SqlResult, SqlState};

use super::rejected::{Leniency, Reject};
use crate::input::record::{Field, RecordFormat};

/// What all records are read by.
pub(crate) struct Form {
    table: String,
    format: RecordFormat,
    /// In the order of the fields.
    columns: Vec<FormColumn>,
    null: Vec<u8>,
    header: Header,
    leniency: Leniency,
    /// Whether columns that are not copied may make a row fail, whose fields are wanted then.
    keeps_records: bool,
    context: Context,
}

/// A column that is copied.
struct FormColumn {
    column: Column,
    /// The text of null is a value, but in quotes.
    is_never_null: bool,
    /// The text of null in quotes is null too.
    is_null_in_quotes: bool,
}

impl Form {
    /// What a statement says, whose columns stand at `ordinals`.
    pub(crate) fn new(
        table: &str,
        schema: &Schema,
        ordinals: &[usize],
        options: &CopyOptions,
        context: Context,
    ) -> Form {
        let column = |ordinal: &usize| {
            let column = schema.columns[*ordinal].clone();
            FormColumn {
                is_never_null: options.force_not_null.contains(&column.name),
                is_null_in_quotes: options.force_null.contains(&column.name),
                column,
            }
        };
        let leniency = Leniency::of(options);
        Form {
            table: table.to_owned(),
            format: RecordFormat::of(options),
            columns: ordinals.iter().map(column).collect(),
            null: options.null.clone().into_bytes(),
            header: options.header,
            keeps_records: leniency.keeps() && ordinals.len() < schema.columns.len(),
            leniency,
            context,
        }
    }

    pub(crate) fn format(&self) -> RecordFormat {
        self.format
    }

    pub(crate) fn header(&self) -> Header {
        self.header
    }

    /// What values are read in.
    pub(crate) fn context(&self) -> Context {
        self.context
    }

    /// Whether the records are wanted of rows that could be read.
    pub(crate) fn keeps_records(&self) -> bool {
        self.keeps_records
    }

    /// The name of the nth column that is copied.
    pub(crate) fn name(&self, nth: usize) -> &str {
        &self.columns[nth].column.name
    }

    /// What builds the columns that are copied.
    pub(crate) fn parsers(&self) -> Vec<ColumnParser> {
        self.columns.iter().map(|column| ColumnParser::new(&column.column)).collect()
    }

    /// Adds where in the input an error is.
    pub(crate) fn at_line(&self, error: SqlError, line: u64) -> SqlError {
        let place = format!("COPY {}, line {line}", self.table);
        let context = match error.context() {
            Some(context) => format!("{place}{context}"),
            None => place,
        };
        error.with_context(context)
    }

    /// A row that failed, as it is left out.
    ///
    /// # Errors
    /// Its own with its line, where such rows are not to be ignored.
    pub(crate) fn reject(
        &self,
        error: SqlError,
        line: u64,
        fields: &[Field<'_>],
    ) -> SqlResult<Reject> {
        self.leniency.reject(error, line, fields).map_err(|error| self.at_line(error, line))
    }

    /// 22P04 unless the first line has the names of the columns.
    pub(crate) fn check_header(&self, fields: &[Field<'_>]) -> SqlResult<()> {
        let bad = |message: String| SqlError::new(SqlState::BAD_COPY_FILE_FORMAT, message);
        let (given, expected) = (fields.len(), self.columns.len());
        if given != expected {
            return Err(bad(format!(
                "wrong number of fields in header line: got {given}, expected {expected}"
            )));
        }
        for (index, (field, FormColumn { column, .. })) in
            fields.iter().zip(&self.columns).enumerate()
        {
            let (text, name) = (field.text()?, &column.name);
            if text != name {
                let number = index + 1;
                return Err(bad(format!(
                    "column name mismatch in header line field {number}: got \"{text}\", expected \"{name}\""
                )));
            }
        }
        Ok(())
    }

    /// A record as an error shows it.
    fn whole(&self, fields: &[Field<'_>]) -> String {
        let (RecordFormat::Csv { delimiter, .. } | RecordFormat::Text { delimiter }) = self.format;
        let texts: Vec<_> = fields.iter().map(|f| String::from_utf8_lossy(&f.bytes)).collect();
        format!(": \"{}\"", shown(&texts.join(&char::from(delimiter).to_string())))
    }

    /// The fields of a record, if it has one for each column.
    ///
    /// # Errors
    /// 22P04.
    pub(crate) fn checked<'f, 'a>(&self, fields: &'f [Field<'a>]) -> SqlResult<&'f [Field<'a>]> {
        // A line has one field at least, of a table without columns an empty one.
        let fields = match fields {
            [only] if self.columns.is_empty() && !only.quoted && only.is(b"") => &[],
            fields => fields,
        };
        let message = match self.columns.get(fields.len()) {
            Some(missing) => format!("missing data for column \"{}\"", missing.column.name),
            None if fields.len() > self.columns.len() => {
                "extra data after last expected column".to_owned()
            }
            None => return Ok(fields),
        };
        let error = SqlError::new(SqlState::BAD_COPY_FILE_FORMAT, message);
        Err(error.with_context(self.whole(fields)))
    }

    /// A field as a value; `None` is null.
    pub(crate) fn value<'f>(&self, nth: usize, field: &'f Field<'_>) -> SqlResult<Option<&'f str>> {
        let FormColumn { is_never_null, is_null_in_quotes, .. } = self.columns[nth];
        let text = field.text()?;
        let is_null = match field.quoted {
            true => is_null_in_quotes,
            false => !is_never_null,
        };
        Ok((!(is_null && field.is(&self.null))).then_some(text))
    }
}

/// Letters of the data that an error shows.
const SHOWN_LETTERS_MAX: usize = 100;

/// The begin of a text.
pub(crate) fn shown(text: &str) -> String {
    match text.char_indices().nth(SHOWN_LETTERS_MAX) {
        Some((end, _)) => format!("{}...", &text[..end]),
        None => text.to_owned(),
    }
}
