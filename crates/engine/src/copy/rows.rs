//! The rows of a `COPY .. FROM` in their order: what was parsed, with the defaults of the columns that are not
//! copied, and without the rows that are left out.

use std::sync::Arc;

use arrow_array::{ArrayRef, RecordBatch};
use runtime::sync::Cancel;
use sql::dml::Defaults;
use sql::parse::{Copy, CopyFormat, CopyOptions, Header};
use txn::waiting::give_way;
use types::parse::ColumnParser;
use types::zone::Context;
use types::{Schema, SqlError, SqlResult, oid};

use super::binary::BinaryReader;
use super::form::Form;
use super::parsing::{End, Parsed, Parser};
use super::portions::Portions;
use super::received::Received;
use super::rejects::{self, Rejects};
use crate::dml::incoming::RowSource;
use crate::input::cutter::PortionSize;
use crate::input::pieces::Input;
use crate::input::stop::Stop;

/// Rows of the binary format that are handed on at once.
const BATCH_ROWS: usize = 4096;

/// Rows that get their defaults between looks at the clock.
const ROWS_PER_LOOK: usize = 64;

/// Of the memory for sorts, this part is for data that is parsed: the rows made of it take some times as much.
const SORT_FRACTION: usize = 8;

/// The rows.
pub(crate) struct Rows<'a> {
    form: Arc<Form>,
    options: &'a CopyOptions,
    schema: &'a Schema,
    /// The columns that are copied.
    ordinals: &'a [usize],
    source: Source,
    defaults: Defaults,
    cancel: &'a Cancel,
    pub(crate) rejects: Rejects,
}

/// What parses.
enum Source {
    Text(Box<Portions>),
    Binary(BinaryReader, Input),
}

impl RowSource for Rows<'_> {
    async fn next(&mut self) -> SqlResult<Option<RecordBatch>> {
        while let Some(mut parsed) = self.parsed().await? {
            let defaults = self.complete(&mut parsed).await?;
            if let End::Wrong(error) = parsed.end {
                return Err(error);
            }
            // All that were read may have been left out; others come after them.
            if !parsed.rows.is_empty() {
                return self.batch(&parsed, defaults).map(Some);
            }
        }
        Ok(None)
    }
}

impl<'a> Rows<'a> {
    /// Rows of `input`, of which so much memory may be taken as sorts have; call it in a task.
    pub(crate) fn new(
        copy: &'a Copy,
        (schema, ordinals): (&'a Schema, &'a [usize]),
        input: Input,
        defaults: Defaults,
        context: Context,
        (sort_bytes, cancel): (usize, &'a Cancel),
    ) -> Rows<'a> {
        let options = &copy.options;
        let form = Arc::new(Form::new(&copy.table, schema, ordinals, options, context));
        let number = |ordinal: &usize| oid::of(&schema.columns[*ordinal].ty.arrow()).oid;
        let source = match options.format {
            CopyFormat::Binary => {
                Source::Binary(BinaryReader::new(ordinals.iter().map(number).collect()), input)
            }
            _ => {
                let (size, form) = (PortionSize::default(), form.clone());
                let (bytes_max, cancel) = (sort_bytes / SORT_FRACTION, cancel.clone());
                Source::Text(Box::new(Portions::new(form, input, size, bytes_max, cancel)))
            }
        };
        let rejects = Rejects::new(options);
        Rows { form, options, schema, ordinals, source, defaults, cancel, rejects }
    }

    async fn parsed(&mut self) -> SqlResult<Option<Parsed>> {
        match &mut self.source {
            Source::Text(portions) => portions.next().await,
            Source::Binary(reader, input) => {
                parsed_binary(&self.form, reader, input, self.cancel).await
            }
        }
    }

    /// The defaults of the rows, and takes those that are left out, each in its turn.
    async fn complete(&mut self, parsed: &mut Parsed) -> SqlResult<Vec<ColumnParser>> {
        let is_copied = |ordinal: &usize| self.ordinals.contains(ordinal);
        let others = (0..self.schema.columns.len()).filter(|ordinal| !is_copied(ordinal));
        let others: Vec<usize> = others.collect();
        let parser = |ordinal: &usize| ColumnParser::new(&self.schema.columns[*ordinal]);
        let mut columns: Vec<ColumnParser> = others.iter().map(parser).collect();
        let mut rejects = std::mem::take(&mut parsed.rejects).into_iter();
        for row in 0..parsed.rows.len() {
            if row.is_multiple_of(ROWS_PER_LOOK) {
                give_way(self.cancel).await?;
            }
            let reject = match parsed.rows[row].is_kept {
                true => match self.push_defaults(&others, &mut columns) {
                    Ok(()) => None,
                    Err(error) => {
                        parsed.rows[row].is_kept = false;
                        Some(parsed.reject(&self.form, row, error)?)
                    }
                },
                false => rejects.next(),
            };
            if let Some(reject) = reject {
                let line = reject.line;
                let taken = self.rejects.take(reject);
                taken.map_err(|error| self.form.at_line(error, line))?;
                columns.iter_mut().for_each(|column| column.fill(row + 1));
            }
        }
        Ok(columns)
    }

    fn push_defaults(&mut self, ordinals: &[usize], columns: &mut [ColumnParser]) -> SqlResult<()> {
        for (ordinal, column) in ordinals.iter().zip(columns) {
            column.push(self.defaults.next(*ordinal)?.as_deref())?;
        }
        Ok(())
    }

    /// The rows that are kept, with all columns.
    fn batch(&self, parsed: &Parsed, mut defaults: Vec<ColumnParser>) -> SqlResult<RecordBatch> {
        let mut defaults = defaults.iter_mut();
        let mut array = |ordinal: usize| -> Option<ArrayRef> {
            match self.ordinals.iter().position(|copied| *copied == ordinal) {
                Some(nth) => parsed.arrays.get(nth).cloned(),
                None => defaults.next().map(ColumnParser::finish),
            }
        };
        let arrays = (0..self.schema.columns.len()).filter_map(&mut array).collect();
        let kept: Vec<bool> = parsed.rows.iter().map(|row| row.is_kept).collect();
        let count = kept.iter().filter(|kept| **kept).count();
        crate::dml::rows::batch(&self.schema.arrow(), rejects::without(arrays, &kept)?, count)
    }

    /// Adds the line of the row that the error is about, of `count` rows that were read, where rows and
    /// lines are the same.
    pub(crate) fn at_row(&self, error: SqlError, count: u64) -> SqlError {
        let row = error.subject.as_ref().and_then(|subject| subject.row);
        let Some(row) = row.filter(|_| self.rejects.is_empty()) else { return error };
        let before = u64::from(self.options.header != Header::No);
        let line = match &self.source {
            // A record of the text format is one line.
            Source::Text(portions)
                if self.options.format != CopyFormat::Csv
                    || has_read_lines(portions.next_line(), count + before) =>
            {
                row as u64 + before + 1
            }
            Source::Text(_) => return error,
            Source::Binary(..) => row as u64 + 1,
        };
        self.form.at_line(error, line)
    }
}

/// Whether each of so many records was one line.
fn has_read_lines(next_line: u64, count: u64) -> bool {
    next_line == count || next_line == count + 1
}

/// Rows of the binary format; `None` at the end.
async fn parsed_binary(
    form: &Arc<Form>,
    reader: &mut BinaryReader,
    input: &mut Input,
    cancel: &Cancel,
) -> SqlResult<Option<Parsed>> {
    let mut parser = Parser::new(form.clone());
    while parser.row_count() < BATCH_ROWS {
        match reader.next_record() {
            Ok(None) => break,
            Ok(Some(values)) => {
                let row = reader.row();
                let pushed = parser.push_values(&values, row);
                pushed.map_err(|error| form.at_line(error, row))?;
            }
            Err(Stop::Wrong(error)) => return Err(form.at_line(error, reader.row())),
            Err(Stop::NeedsMore) => {
                let filled = fill(reader.received(), input, cancel).await;
                filled.map_err(|error| form.at_line(error, reader.row()))?;
            }
        }
        if parser.row_count().is_multiple_of(ROWS_PER_LOOK) {
            give_way(cancel).await?;
        }
    }
    Ok((parser.row_count() > 0).then(|| parser.finish()))
}

/// Waits for more: at least as much as there is of the record, so that a long one is not begun anew
/// too often.
async fn fill(received: &mut Received, input: &mut Input, cancel: &Cancel) -> SqlResult<()> {
    let enough = 2 * received.len();
    while !received.has_ended() && received.len() <= enough {
        match input.next(cancel).await? {
            Some(bytes) => received.push(&bytes),
            None => received.end(),
        }
    }
    Ok(())
}
