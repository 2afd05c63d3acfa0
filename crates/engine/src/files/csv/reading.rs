//! A CSV file in portions of whole records: one task after the other reads and cuts it, and whoever has time makes
//! vectors of a portion.

use std::sync::Arc;

use arrow_array::ArrayRef;
use exec::Access;
use runtime::sync::Cancel;
use sql::parse::{CopyOptions, Header};
use txn::waiting::give_way;
use types::parse::ColumnParser;
use types::{Column, LogicalType, SqlError, SqlResult, SqlState};

use super::file::CsvFile;
use crate::files::found::Found;
use crate::input::cutter::{Cutter, Portion};
use crate::input::pieces::Input;
use crate::input::record::{Field, RecordFormat, RecordReader};
use crate::objects::room::Room;
use crate::objects::tally::Tally;

/// Rows that are parsed between looks at the clock.
const ROWS_PER_LOOK: usize = 64;

/// Bytes that some programs write before a text in UTF-8.
const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// The portions of a file.
pub(super) struct Portions {
    path: Arc<str>,
    input: Input,
    cutter: Cutter,
    /// The first bytes, until it is known that they are no mark.
    begin: Option<Vec<u8>>,
    /// A scan is dropped when it is not wanted any more; nobody else cancels it.
    cancel: Cancel,
    bytes_read: u64,
}

impl Portions {
    /// # Errors
    /// Those of opening the file.
    pub(super) async fn open(
        found: &Found,
        format: RecordFormat,
        room: Option<Arc<Room>>,
        tally: Tally,
    ) -> SqlResult<Portions> {
        let input = Input::File(Box::new(found.read(room, tally).await?));
        let (path, cutter) = (found.path.as_str().into(), Cutter::new(format));
        let (begin, cancel) = (Some(vec![]), Cancel::default());
        Ok(Portions { path, input, cutter, begin, cancel, bytes_read: 0 })
    }

    /// The next records; `None` at the end.
    ///
    /// # Errors
    /// Those of reading, 54000 for a record that is too long.
    pub(super) async fn next(&mut self) -> SqlResult<Option<Portion>> {
        loop {
            give_way(&self.cancel).await?;
            if let Some(portion) = self.cutter.full() {
                return Ok(Some(portion));
            }
            if self.cutter.has_ended() {
                return Ok(self.cutter.rest());
            }
            let checked = self.cutter.check_length();
            checked.map_err(|error| placed(error, &self.path, self.cutter.line(), ""))?;
            match self.input.next(&self.cancel).await? {
                Some(bytes) => {
                    self.bytes_read += bytes.len() as u64;
                    self.push(bytes);
                }
                None => {
                    self.begin.take().into_iter().for_each(|bytes| self.cutter.push(bytes));
                    self.cutter.end();
                }
            }
        }
    }

    /// Adds bytes, without the mark of UTF-8 that a file may begin with.
    fn push(&mut self, bytes: Vec<u8>) {
        let Some(mut begin) = self.begin.take() else {
            self.cutter.push(bytes);
            return;
        };
        begin.extend(bytes);
        if begin.len() < BYTE_ORDER_MARK.len() {
            self.begin = Some(begin);
            return;
        }
        if begin.starts_with(BYTE_ORDER_MARK) {
            begin.drain(..BYTE_ORDER_MARK.len());
        }
        self.cutter.push(begin);
    }
}

/// The records of a portion that are not empty lines.
pub(super) struct Records<'a> {
    path: &'a str,
    reader: RecordReader<'a>,
}

impl<'a> Records<'a> {
    pub(super) fn of(path: &'a str, format: RecordFormat, portion: &'a Portion) -> Records<'a> {
        let reader = RecordReader::new(format, &portion.bytes, portion.first_line);
        Records { path, reader }
    }

    /// Reads the next one into `record`; false at the end.
    ///
    /// # Errors
    /// 22P04 for a quote that is not closed.
    pub(super) fn next(&mut self, record: &mut Vec<Field<'a>>) -> SqlResult<bool> {
        loop {
            match self.reader.next(record) {
                Ok(true) if is_empty(record) => {}
                Ok(is_there) => return Ok(is_there),
                Err(error) => return Err(self.placed(error, "")),
            }
        }
    }

    /// An error with where in the file it is.
    fn placed(&self, error: SqlError, column: &str) -> SqlError {
        placed(error, self.path, self.reader.line(), column)
    }
}

fn placed(error: SqlError, path: &str, line: u64, column: &str) -> SqlError {
    error.with_context(format!("file \"{path}\", line {line}{column}"))
}

fn is_empty(record: &[Field<'_>]) -> bool {
    matches!(record, [field] if field.bytes.is_empty() && !field.quoted)
}

/// What the records of a file are read by.
struct Form {
    path: Arc<str>,
    format: RecordFormat,
    null: String,
    names: Vec<String>,
    columns: Vec<(usize, LogicalType)>,
}

/// A file that is being read.
pub(crate) struct Reading {
    portions: Portions,
    form: Arc<Form>,
    /// Whether what is read comes from a device.
    is_local: bool,
    /// What was asked of a store.
    tally: Tally,
    /// The header comes, of what has one.
    has_header: bool,
}

/// Records of a file, not parsed yet.
pub(crate) struct CsvRows {
    form: Arc<Form>,
    portion: Portion,
    /// The first one is none of the rows.
    has_header: bool,
}

impl Reading {
    pub(super) async fn begin(
        file: &CsvFile,
        columns: &[(usize, LogicalType)],
        room: Option<Arc<Room>>,
    ) -> SqlResult<Reading> {
        let CopyOptions { null, header, .. } = &file.format;
        let (tally, format) = (Tally::default(), RecordFormat::of(&file.format));
        let portions = Portions::open(&file.found, format, room, tally.clone()).await?;
        let form = Form {
            path: portions.path.clone(),
            format,
            null: null.clone(),
            names: file.names.clone(),
            columns: columns.to_vec(),
        };
        Ok(Reading {
            portions,
            form: Arc::new(form),
            is_local: !file.found.is_object(),
            tally,
            has_header: *header == Header::Yes,
        })
    }

    /// The next records; `None` at the end.
    ///
    /// # Errors
    /// Those of reading, 22P04 for a header that does not end.
    pub(crate) async fn next(&mut self, access: Access<'_>) -> SqlResult<Option<CsvRows>> {
        loop {
            let before = self.portions.bytes_read;
            let portion = self.portions.next().await;
            let read = self.portions.bytes_read - before;
            if read > 0 && self.is_local {
                access.io.add_read(read);
            }
            self.tally.tell(access.skips);
            let Some(portion) = portion? else { return Ok(None) };
            let has_header = self.has_header;
            if has_header {
                // Empty lines may come before it.
                let Form { path, format, .. } = &*self.form;
                if !Records::of(path, *format, &portion).next(&mut vec![])? {
                    continue;
                }
                self.has_header = false;
            }
            return Ok(Some(CsvRows { form: self.form.clone(), portion, has_header }));
        }
    }
}

impl CsvRows {
    /// The columns and the number of rows.
    ///
    /// # Errors
    /// 22P04 for a record of another length, and what is wrong with values.
    pub(crate) async fn parse(&self) -> SqlResult<(Vec<ArrayRef>, usize)> {
        let Form { path, format, .. } = &*self.form;
        let (mut parsers, mut row_count) = (self.form.parsers(), 0);
        let (mut records, mut record) = (Records::of(path, *format, &self.portion), vec![]);
        let mut is_header = self.has_header;
        while records.next(&mut record)? {
            if std::mem::take(&mut is_header) {
                continue;
            }
            self.form.push(&mut parsers, &record, &records)?;
            row_count += 1;
            if row_count % ROWS_PER_LOOK == 0 && runtime::need_preempt() {
                runtime::yield_now().await;
            }
        }
        Ok((parsers.iter_mut().map(ColumnParser::finish).collect(), row_count))
    }
}

impl Form {
    fn parsers(&self) -> Vec<ColumnParser> {
        let parser = |(number, ty): &(usize, LogicalType)| {
            let column = Column { name: self.names[*number].clone(), ty: *ty, nullable: true };
            ColumnParser::new(&column)
        };
        self.columns.iter().map(parser).collect()
    }

    fn push(
        &self,
        parsers: &mut [ColumnParser],
        record: &[Field<'_>],
        records: &Records<'_>,
    ) -> SqlResult<()> {
        let bad = |message: String| {
            records.placed(SqlError::new(SqlState::BAD_COPY_FILE_FORMAT, message), "")
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
            let text = field.text().map_err(|e| records.placed(e, &column()))?;
            let is_null = !field.quoted && field.is(self.null.as_bytes());
            parser.push((!is_null).then_some(text)).map_err(|error| {
                let guessed = format!("The type {ty} was guessed from the first records.");
                let hint = "Give a larger sample_size, or all_varchar => true to read texts.";
                records.placed(error.with_detail(guessed).with_hint(hint), &column())
            })?;
        }
        Ok(())
    }
}
