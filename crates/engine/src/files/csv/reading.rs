//! The records of a CSV file as batches.

use std::sync::Arc;

use arrow_array::ArrayRef;
use exec::Access;
use runtime::sync::Cancel;
use sql::parse::{CopyOptions, Header};
use types::parse::ColumnParser;
use types::{Column, LogicalType, SqlError, SqlResult, SqlState};

use super::CsvFile;
use crate::copy::{CsvReader, Field, Input, Origin, Stop};
use crate::files::found::Found;
use crate::objects::{Room, Tally};

/// Rows of a batch.
const BATCH_ROWS: usize = 4096;

/// The records of a file.
pub(super) struct Records {
    path: String,
    reader: CsvReader,
    /// A scan is dropped when it is not wanted any more; nobody else cancels it.
    cancel: Cancel,
}

impl Records {
    /// # Errors
    /// Those of opening the file.
    pub(super) async fn open(
        found: &Found,
        format: &CopyOptions,
        room: Option<Arc<Room>>,
        tally: Tally,
    ) -> SqlResult<Records> {
        let input = Input::new(Origin::File(Box::new(found.read(room, tally).await?)));
        let (path, reader) = (found.path.clone(), CsvReader::new(input, format));
        Ok(Records { path, reader, cancel: Cancel::default() })
    }

    /// The next record; `None` at the end. Empty lines are none.
    ///
    /// # Errors
    /// Those of reading, 22P04 for a quote that is not closed.
    pub(super) async fn next(&mut self) -> SqlResult<Option<Vec<Field>>> {
        loop {
            match self.reader.next_record() {
                Ok(Some(record)) if is_empty(&record) => {}
                Ok(record) => return Ok(record),
                Err(Stop::Wrong(error)) => return Err(self.placed(error, "")),
                Err(Stop::NeedsMore) => self.reader.fill(&self.cancel).await?,
            }
        }
    }

    /// An error with where in the file it is.
    fn placed(&self, error: SqlError, column: &str) -> SqlError {
        let (path, line) = (&self.path, self.reader.line());
        error.with_context(format!("file \"{path}\", line {line}{column}"))
    }
}

fn is_empty(record: &[Field]) -> bool {
    matches!(record, [field] if field.bytes.is_empty() && !field.quoted)
}

/// A file that is being read.
pub(in crate::files) struct Reading {
    records: Records,
    /// Whether what is read comes from a device.
    is_local: bool,
    /// What was asked of a store.
    tally: Tally,
    format: CopyOptions,
    names: Vec<String>,
    columns: Vec<(usize, LogicalType)>,
    has_begun: bool,
}

impl Reading {
    pub(super) async fn begin(
        file: &CsvFile,
        columns: &[(usize, LogicalType)],
        room: Option<Arc<Room>>,
    ) -> SqlResult<Reading> {
        let tally = Tally::default();
        let records = Records::open(&file.found, &file.format, room, tally.clone()).await?;
        Ok(Reading {
            records,
            is_local: !file.found.is_object(),
            tally,
            format: file.format.clone(),
            names: file.names.clone(),
            columns: columns.to_vec(),
            has_begun: false,
        })
    }

    /// The next rows and their number; `None` at the end.
    ///
    /// # Errors
    /// 22P04 for a record of another length, and what is wrong with values; those of reading.
    pub(in crate::files) async fn next(
        &mut self,
        access: Access<'_>,
    ) -> SqlResult<Option<(Vec<ArrayRef>, usize)>> {
        let mut parsers = self.parsers();
        let mut row_count = 0;
        while row_count < BATCH_ROWS {
            let before = self.records.reader.bytes_read();
            let record = self.records.next().await?;
            let read = self.records.reader.bytes_read() - before;
            if read > 0 && self.is_local {
                access.io.add_read(read);
            }
            let Some(record) = record else { break };
            if !std::mem::replace(&mut self.has_begun, true) && self.format.header == Header::Yes {
                continue;
            }
            self.push(&mut parsers, &record)?;
            row_count += 1;
        }
        self.tally.tell(access.skips);
        let arrays = parsers.iter_mut().map(ColumnParser::finish).collect();
        Ok((row_count > 0).then_some((arrays, row_count)))
    }

    fn parsers(&self) -> Vec<ColumnParser> {
        let parser = |(number, ty): &(usize, LogicalType)| {
            let column = Column { name: self.names[*number].clone(), ty: *ty, nullable: true };
            ColumnParser::new(&column)
        };
        self.columns.iter().map(parser).collect()
    }

    fn push(&self, parsers: &mut [ColumnParser], record: &[Field]) -> SqlResult<()> {
        let bad = |message: String| {
            self.records.placed(SqlError::new(SqlState::BAD_COPY_FILE_FORMAT, message), "")
        };
        if let Some(missing) = self.names.get(record.len()) {
            return Err(bad(format!("missing data for column \"{missing}\"")));
        }
        if record.len() > self.names.len() {
            return Err(bad("extra data after last expected column".to_owned()));
        }
        for ((number, ty), parser) in self.columns.iter().zip(parsers) {
            let field = &record[*number];
            let column = || format!(", column {}", self.names[*number]);
            let text = field.text().map_err(|e| self.records.placed(e, &column()))?;
            let is_null = !field.quoted && field.is(self.format.null.as_bytes());
            parser.push((!is_null).then_some(text)).map_err(|error| {
                let guessed = format!("The type {ty} was guessed from the first records.");
                let hint = "Give a larger sample_size, or all_varchar => true to read texts.";
                self.records.placed(error.with_detail(guessed).with_hint(hint), &column())
            })?;
        }
        Ok(())
    }
}
