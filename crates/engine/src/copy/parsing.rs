//! Records as columns: a portion of the data becomes vectors of the columns that are copied. It knows nothing of
//! what stands before it, so any worker can do it.

use std::sync::Arc;

use arrow_array::ArrayRef;
use runtime::sync::Cancel;
use sql::parse::Header;
use txn::waiting::give_way;
use types::parse::ColumnParser;
use types::{SqlError, SqlResult, zone};

use super::form::{Form, shown};
use super::rejected::Reject;
use crate::input::cutter::Portion;
use crate::input::record::{Field, RecordReader};

/// Rows that are parsed between looks at the clock.
const ROWS_PER_LOOK: usize = 64;

/// What became of the data behind the rows.
pub(crate) enum End {
    /// More follows, or nothing.
    Open,
    /// The end marker, on this line: what follows is nothing.
    Marker(u64),
    /// What is wrong with the record behind them.
    Wrong(SqlError),
}

/// Rows that were parsed.
pub(crate) struct Parsed {
    /// The columns that are copied.
    pub(crate) arrays: Vec<ArrayRef>,
    /// Of each row, its line and whether it is to be kept.
    pub(crate) rows: Vec<ParsedRow>,
    /// What is left out, in order.
    pub(crate) rejects: Vec<Reject>,
    /// What they were read from, where it is wanted.
    records: Vec<u8>,
    pub(crate) end: End,
}

/// A row.
#[derive(Clone, Copy)]
pub(crate) struct ParsedRow {
    pub(crate) line: u64,
    /// Where its record begins.
    begin: usize,
    pub(crate) is_kept: bool,
}

impl Parsed {
    /// A row that could be read, left out because of another error.
    ///
    /// # Errors
    /// That one with the row's line, where such rows are not to be ignored.
    pub(crate) fn reject(&self, form: &Form, row: usize, error: SqlError) -> SqlResult<Reject> {
        let ParsedRow { line, begin, .. } = self.rows[row];
        let mut fields = vec![];
        if form.keeps_records() {
            RecordReader::new(form.format(), &self.records[begin..], line).next(&mut fields)?;
        }
        form.reject(error, line, &fields)
    }
}

/// Parses records, one after the other.
pub(crate) struct Parser {
    form: Arc<Form>,
    /// Bytes of the portions that it was given.
    bytes: usize,
    columns: Vec<ColumnParser>,
    rows: Vec<ParsedRow>,
    rejects: Vec<Reject>,
    records: Vec<u8>,
    end: End,
}

impl Parser {
    pub(crate) fn new(form: Arc<Form>) -> Parser {
        let columns = form.parsers();
        let (rows, rejects, records) = (vec![], vec![], vec![]);
        Parser { form, bytes: 0, columns, rows, rejects, records, end: End::Open }
    }

    /// Rows that were read.
    pub(crate) fn row_count(&self) -> usize {
        self.rows.len()
    }

    /// Bytes that they were read from.
    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }

    /// Whether nothing can follow.
    pub(crate) fn is_at_end(&self) -> bool {
        !matches!(self.end, End::Open)
    }

    /// Reads records up to the first one that ends it all.
    ///
    /// # Errors
    /// 57014 alone; what is wrong with the records is in what was parsed.
    pub(crate) async fn read(&mut self, portion: &Portion, cancel: &Cancel) -> SqlResult<()> {
        let form = self.form.clone();
        self.bytes += portion.bytes.len();
        let mut reader = RecordReader::new(form.format(), &portion.bytes, portion.first_line);
        let mut fields = vec![];
        if portion.is_first && form.header() != Header::No {
            let read = self.read_header(&mut reader, &mut fields);
            if let Err(error) = read {
                self.end = End::Wrong(form.at_line(error, reader.line()));
                return Ok(());
            }
        }
        let before = self.records.len();
        if form.keeps_records() {
            self.records.extend_from_slice(&portion.bytes);
        }
        loop {
            give_way(cancel).await?;
            if !self.read_some(&form, &mut reader, &mut fields, before) {
                return Ok(());
            }
        }
    }

    fn read_header<'a>(
        &self,
        reader: &mut RecordReader<'a>,
        fields: &mut Vec<Field<'a>>,
    ) -> SqlResult<()> {
        match reader.next(fields)? && self.form.header() == Header::Match {
            true => self.form.check_header(fields),
            false => Ok(()),
        }
    }

    /// Reads some records; false when there are no more.
    fn read_some<'a>(
        &mut self,
        form: &Form,
        reader: &mut RecordReader<'a>,
        fields: &mut Vec<Field<'a>>,
        before: usize,
    ) -> bool {
        let _entered = zone::enter(form.context());
        for _ in 0..ROWS_PER_LOOK {
            let begin = before + reader.position();
            match reader.next(fields) {
                Ok(true) => {}
                Ok(false) => return false,
                Err(error) => {
                    self.end = End::Wrong(form.at_line(error, reader.line()));
                    return false;
                }
            }
            let line = reader.line();
            if matches!(&fields[..], [only] if only.is_end_marker()) {
                self.end = End::Marker(line);
                return false;
            }
            if let Err(error) = self.push(form, ParsedRow { line, begin, is_kept: true }, fields) {
                self.end = End::Wrong(error);
                return false;
            }
        }
        true
    }

    /// Adds a record, or notes that it is left out.
    fn push(&mut self, form: &Form, row: ParsedRow, fields: &[Field<'_>]) -> SqlResult<()> {
        let Err(error) = self.push_fields(form, fields) else {
            self.rows.push(row);
            return Ok(());
        };
        self.rejects.push(form.reject(error, row.line, fields)?);
        self.rows.push(ParsedRow { is_kept: false, ..row });
        self.columns.iter_mut().for_each(|column| column.fill(self.rows.len()));
        Ok(())
    }

    fn push_fields(&mut self, form: &Form, fields: &[Field<'_>]) -> SqlResult<()> {
        let fields = form.checked(fields)?;
        for (nth, (field, column)) in fields.iter().zip(&mut self.columns).enumerate() {
            let value = form.value(nth, field)?;
            column.push(value).map_err(|error| {
                let (name, text) = (form.name(nth), String::from_utf8_lossy(&field.bytes));
                error.with_context(format!(", column {name}: \"{}\"", shown(&text)))
            })?;
        }
        Ok(())
    }

    /// Adds a row of which every value is known, the nth of the data.
    ///
    /// # Errors
    /// That of a value.
    pub(crate) fn push_values(&mut self, values: &[Option<String>], nth: u64) -> SqlResult<()> {
        for (value, column) in values.iter().zip(&mut self.columns) {
            column.push(value.as_deref())?;
        }
        self.rows.push(ParsedRow { line: nth, begin: 0, is_kept: true });
        Ok(())
    }

    /// What was read.
    pub(crate) fn finish(self) -> Parsed {
        let Parser { form, mut columns, rows, rejects, records, end, .. } = self;
        // A row that is wrong is in the first columns.
        if matches!(end, End::Wrong(_)) {
            columns = form.parsers();
        }
        let arrays = columns.iter_mut().map(ColumnParser::finish).collect();
        Parsed { arrays, rows, rejects, records, end }
    }
}
