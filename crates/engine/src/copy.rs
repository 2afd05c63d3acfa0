//! `COPY`: text, CSV and binary as PostgreSQL reads and writes them, and Parquet. A bad row fails the whole
//! statement and the table stays as it was, unless such rows are to be ignored.

mod binary;
mod csv;
mod files;
mod input;
mod out;
mod parquet;
mod rejects;
mod tabbed;
mod to;

use arrow_array::RecordBatch;
use runtime::sync::Cancel;
use sql::Statement;
use sql::dml::Defaults;
use sql::parse::{Copy, CopyFormat, CopyOptions, CopySource, Header, Insert, file_insert};
use types::parse::ColumnParser;
use types::{Schema, SqlError, SqlResult, SqlState, oid};

use crate::access;
use crate::dml::{Incoming, RowSource, insert_batches, take_all};
use crate::door;
use crate::objects::{ObjectFile, ObjectPath, ObjectStream, Tally, is_object};
use crate::pipe::PipeReceiver;
use crate::result::StatementResult;
use crate::session::Session;
use crate::waiting::{give_way, unless_cancelled};
use crate::writing::Writing;

use binary::BinaryReader;

pub(crate) use rejects::Rejects;

pub(crate) use csv::{CsvReader, Field};
pub(crate) use files::{FileReader, RandomFile, cannot_open};
pub(crate) use input::{Input, Origin, Stop};
pub use out::CopyFormatter;
pub use to::nothing_returned;

/// Rows that are parsed before they are handed on.
const BATCH_ROWS: usize = 4096;

/// Rows that are parsed between looks at the clock.
const ROWS_PER_LOOK: usize = 64;

impl Session {
    /// Runs `COPY .. FROM`; `input` is what the client sends. What it ignores is left to be put away.
    pub(crate) async fn copy_from(
        &self,
        copy: &Copy,
        input: Option<PipeReceiver<Vec<u8>>>,
    ) -> SqlResult<(StatementResult, Rejects)> {
        self.copied(copy)?;
        let origin = match (&copy.source, input) {
            (CopySource::File(path), _) => {
                Origin::File(Box::new(Box::pin(self.file_reader(path)).await?))
            }
            (CopySource::Stdin, Some(input)) => Origin::Client(input),
            (CopySource::Stdin, None) => {
                let message = "COPY FROM STDIN needs data from the client";
                return Err(SqlError::new(SqlState::BAD_COPY_FILE_FORMAT, message)
                    .with_hint("Use a file name, or the shell's \\copy."));
            }
        };
        let writing = self.writing_table(&copy.table).await?;
        // Who changed the table before may have changed them.
        let ordinals = self.copied(copy)?;
        let copied = Box::pin(copy_from(&writing, copy, &ordinals, Input::new(origin)));
        let (count, rejects) = copied.await?;
        Ok((StatementResult::Command { tag: format!("COPY {count}") }, rejects))
    }

    /// A file of the server or an object, to be read.
    async fn file_reader(&self, path: &str) -> SqlResult<FileReader> {
        if !is_object(path) {
            return FileReader::open(path).await;
        }
        let (path, snapshot) = (ObjectPath::parse(path)?, self.database().snapshot());
        let object = ObjectFile::open(&snapshot, &path);
        let object = unless_cancelled(&self.lock_wait().cancel, object).await??;
        Ok(FileReader::Object(ObjectStream::new(object, None, Tally::default())))
    }

    /// Reads the input of a `COPY .. FROM` as the statement would, and keeps nothing; the number of
    /// rows. It is for trying what input does, from an ordinary thread.
    ///
    /// # Errors
    /// Those of the statement, as far as they come from its input alone.
    pub fn read_copy(&self, statement: &Statement, input: &[u8]) -> SqlResult<u64> {
        let Statement::Copy(copy) = statement else {
            return Err(SqlError::internal("no COPY FROM"));
        };
        let (ordinals, snapshot) = (self.copied(copy)?, self.database().snapshot());
        let def = snapshot.table(&copy.table)?.def.clone();
        let schema = sql::incoming_schema(&def);
        let defaults = Defaults::new(&def, &*snapshot)?;
        let (input, cancel) = (Input::of_bytes(input.to_vec()), Cancel::default());
        let mut rows = Rows::new(copy, &schema, &ordinals, input, defaults, &cancel);
        door::wait(&self.database().handle(), || {
            Box::pin(async {
                let mut count = 0;
                while let Some(batch) = rows.next().await? {
                    count += batch.num_rows() as u64;
                }
                Ok(count)
            })
        })
    }

    /// The columns of `COPY .. FROM`, when it may run.
    fn copied(&self, copy: &Copy) -> SqlResult<Vec<usize>> {
        if copy.options.format == CopyFormat::Parquet {
            parquet::check_source(&copy.source)?;
        }
        let snapshot = self.database().snapshot();
        let ordinals = to::ordinals(&snapshot, &copy.table, &copy.columns)?;
        let entry = snapshot.table(&copy.table)?;
        let name = |ordinal: &usize| entry.def.schema.columns[*ordinal].name.clone();
        let names: Vec<String> = ordinals.iter().map(name).collect();
        let options = &copy.options;
        to::check_forced("FORCE_NOT_NULL", &options.force_not_null, &names, Some(entry))?;
        to::check_forced("FORCE_NULL", &options.force_null, &names, Some(entry))?;
        rejects::check_table(options.ignored.as_ref(), &snapshot)?;
        Ok(ordinals)
    }

    /// `COPY .. FROM` of a Parquet file as an `INSERT`, if the file has as many columns as are copied.
    ///
    /// # Errors
    /// 22P04, and those of opening the file.
    pub(crate) async fn copied_insert(&self, copy: &Copy) -> SqlResult<Insert> {
        let CopySource::File(path) = &copy.source else { return Err(parquet::refuse_client()) };
        let (ordinals, snapshot) = (self.copied(copy)?, self.database().snapshot());
        let schema = &snapshot.table(&copy.table)?.def.schema;
        let name = |ordinal: &usize| schema.columns[*ordinal].name.as_str();
        let names: Vec<&str> = ordinals.iter().map(name).collect();
        let (insert, query) = file_insert(&copy.table, &names, path)?;
        let found = self.plan(&query, &self.lock_wait().cancel).await?.1.root.schema.fields().len();
        if found == names.len() {
            return Ok(insert);
        }
        let (table, expected) = (&copy.table, names.len());
        let message = format!("file \"{path}\" has {found} columns, expected {expected}");
        Err(SqlError::new(SqlState::BAD_COPY_FILE_FORMAT, message)
            .with_hint("Name the columns of the table that the file has, in the order of the file.")
            .with_context(format!("COPY {table}")))
    }

    /// How many columns `COPY .. FROM STDIN` takes. A client is asked for data only when it may run.
    ///
    /// # Errors
    /// What is wrong with the statement itself.
    pub fn start_copy_in(&self, statement: &Statement) -> SqlResult<usize> {
        let Statement::Copy(copy) = statement else {
            return Err(SqlError::internal("no COPY FROM"));
        };
        let db = self.database();
        access::check(&db.snapshot(), &**db.system(), self.role(), statement)?;
        self.copied(copy).map(|ordinals| ordinals.len())
    }
}

/// Copies rows of `input` into the columns at `ordinals`, the others take their defaults; the number
/// of rows, and those that were ignored.
async fn copy_from(
    writing: &Writing<'_>,
    copy: &Copy,
    ordinals: &[usize],
    input: Input,
) -> SqlResult<(u64, Rejects)> {
    let entry = writing.entry(&copy.table)?;
    let schema = sql::incoming_schema(&entry.def);
    let defaults = Defaults::new(&entry.def, &writing.catalog)?;
    let mut rows = Rows::new(copy, &schema, ordinals, input, defaults, &writing.cancel);
    match take_all(writing, &entry, "copying", &mut rows).await? {
        Incoming::Few(batches) => {
            let count = batches.iter().map(|b| b.num_rows() as u64).sum();
            let inserted = insert_batches(writing, &entry, &batches).await;
            inserted.map_err(|error| rows.at_row(error, count))?;
            Ok((count, rows.rejects))
        }
        Incoming::Many(loader, count) => {
            writing.note_numbers();
            loader.finish(writing.db, None).await?;
            Ok((count, rows.rejects))
        }
    }
}

/// Parses records into batches.
struct Rows<'a> {
    table: &'a str,
    schema: &'a Schema,
    ordinals: &'a [usize],
    format: &'a CopyOptions,
    records: Records,
    defaults: Defaults,
    header: Header,
    /// The end marker has come: what follows it is nothing.
    is_over: bool,
    cancel: &'a Cancel,
    rejects: Rejects,
    /// Of each row of the batch that is read, whether it is to be kept.
    kept: Vec<bool>,
}

/// What the records are read from.
enum Records {
    Text(CsvReader),
    Binary(BinaryReader),
}

impl Records {
    fn input(&mut self) -> &mut Input {
        match self {
            Records::Text(reader) => &mut reader.input,
            Records::Binary(reader) => &mut reader.input,
        }
    }
}

impl RowSource for Rows<'_> {
    async fn next(&mut self) -> SqlResult<Option<RecordBatch>> {
        let mut parsers: Vec<_> = self.schema.columns.iter().map(ColumnParser::new).collect();
        self.kept.clear();
        while self.kept.len() < BATCH_ROWS {
            match self.next_row(&mut parsers) {
                Ok(true) => {}
                // All that were read may have been ignored; others come after them.
                Ok(false) => break,
                Err(Stop::Wrong(error)) => return Err(self.at_line(error)),
                Err(Stop::NeedsMore) => {
                    let filled = self.records.input().fill(self.cancel).await;
                    filled.map_err(|error| self.at_line(error))?;
                }
            }
            if self.kept.len().is_multiple_of(ROWS_PER_LOOK) {
                give_way(self.cancel).await?;
            }
        }
        if self.kept.is_empty() {
            return Ok(None);
        }
        let arrays = parsers.iter_mut().map(ColumnParser::finish).collect();
        let arrays = rejects::without(arrays, &self.kept)?;
        let count = self.kept.iter().filter(|kept| **kept).count();
        crate::dml::batch_of(&self.schema.arrow(), arrays, count).map(Some)
    }
}

impl<'a> Rows<'a> {
    fn new(
        copy: &'a Copy,
        schema: &'a Schema,
        ordinals: &'a [usize],
        input: Input,
        defaults: Defaults,
        cancel: &'a Cancel,
    ) -> Rows<'a> {
        let (table, format) = (&copy.table, &copy.options);
        let number = |ordinal: &usize| oid::of(&schema.columns[*ordinal].ty.arrow()).oid;
        let records = match format.format {
            CopyFormat::Binary => {
                let oids = ordinals.iter().map(number).collect();
                Records::Binary(BinaryReader::new(input, oids))
            }
            _ => Records::Text(CsvReader::new(input, format)),
        };
        let header = format.header;
        let (rejects, kept) = (Rejects::new(format), vec![]);
        let is_over = false;
        Rows {
            table,
            schema,
            ordinals,
            format,
            records,
            defaults,
            header,
            is_over,
            cancel,
            rejects,
            kept,
        }
    }

    /// Reads a row; false at the end.
    fn next_row(&mut self, parsers: &mut [ColumnParser]) -> Result<bool, Stop> {
        let csv = match &mut self.records {
            Records::Binary(reader) => {
                let Some(values) = reader.next_record()? else { return Ok(false) };
                self.push_values(parsers, &values)?;
                self.kept.push(true);
                return Ok(true);
            }
            Records::Text(csv) => csv,
        };
        while !self.is_over {
            let record = match self.format.format {
                CopyFormat::Csv => csv.next_record()?,
                _ => csv.next_tabbed()?,
            };
            let Some(fields) = record else { return Ok(false) };
            match std::mem::replace(&mut self.header, Header::No) {
                Header::Yes => continue,
                Header::Match => {
                    check_header(self.schema, self.ordinals, &fields)?;
                    continue;
                }
                Header::No => {}
            }
            self.is_over = fields.len() == 1 && fields[0].is_end_marker();
            if self.is_over {
                break;
            }
            let line = csv.line();
            let pushed = self.push_record(parsers, &fields);
            self.kept.push(pushed.is_ok());
            if let Err(error) = pushed {
                self.rejects.take(error, line, &fields)?;
                parsers.iter_mut().for_each(|parser| parser.fill(self.kept.len()));
            }
            return Ok(true);
        }
        csv.input.skip_rest()?;
        Ok(false)
    }

    /// A row of which every value is known.
    fn push_values(
        &mut self,
        parsers: &mut [ColumnParser],
        values: &[Option<String>],
    ) -> SqlResult<()> {
        for (ordinal, parser) in parsers.iter_mut().enumerate() {
            match self.ordinals.iter().position(|&o| o == ordinal) {
                None => parser.push(self.defaults.next(ordinal)?.as_deref())?,
                Some(at) => parser.push(values[at].as_deref())?,
            }
        }
        Ok(())
    }

    /// Adds where in the input the error is.
    fn at_line(&self, error: SqlError) -> SqlError {
        let line = match &self.records {
            Records::Text(csv) => csv.line(),
            Records::Binary(reader) => reader.row(),
        };
        let place = format!("COPY {}, line {line}", self.table);
        let context = match error.context() {
            Some(context) => format!("{place}{context}"),
            None => place,
        };
        error.with_context(context)
    }

    /// Adds the line of the row that the error is about, of `count` rows that were read, where rows and
    /// lines are the same.
    fn at_row(&self, error: SqlError, count: u64) -> SqlError {
        let row = error.subject.as_ref().and_then(|subject| subject.row);
        let Some(row) = row.filter(|_| self.rejects.is_empty()) else { return error };
        let before = u64::from(self.format.header != Header::No);
        let line = match &self.records {
            // A record of the text format is one line.
            Records::Text(csv)
                if self.format.format != CopyFormat::Csv || csv.has_read_lines(count + before) =>
            {
                row as u64 + before + 1
            }
            Records::Text(_) => return error,
            Records::Binary(_) => row as u64 + 1,
        };
        error.with_context(format!("COPY {}, line {line}", self.table))
    }

    /// A record as an error shows it.
    fn whole(&self, fields: &[Field]) -> String {
        let delimiter = char::from(self.format.delimiter).to_string();
        let texts: Vec<_> = fields.iter().map(|f| String::from_utf8_lossy(&f.bytes)).collect();
        format!(": \"{}\"", shown(&texts.join(&delimiter)))
    }

    fn push_record(&mut self, parsers: &mut [ColumnParser], fields: &[Field]) -> SqlResult<()> {
        let bad = |message: String| SqlError::new(SqlState::BAD_COPY_FILE_FORMAT, message);
        let ordinals = self.ordinals;
        // A line has one field at least, of a table without columns an empty one.
        let fields = match fields {
            [only] if ordinals.is_empty() && !only.quoted && only.is(b"") => &[],
            fields => fields,
        };
        if fields.len() < ordinals.len() {
            let name = &self.schema.columns[ordinals[fields.len()]].name;
            let error = bad(format!("missing data for column \"{name}\""));
            return Err(error.with_context(self.whole(fields)));
        }
        if fields.len() > ordinals.len() {
            let error = bad("extra data after last expected column".to_owned());
            return Err(error.with_context(self.whole(fields)));
        }
        let null = self.format.null.as_bytes();
        for (ordinal, parser) in parsers.iter_mut().enumerate() {
            let Some(at) = ordinals.iter().position(|&o| o == ordinal) else {
                parser.push(self.defaults.next(ordinal)?.as_deref())?;
                continue;
            };
            let (field, text) = (&fields[at], fields[at].text()?);
            let is_named = |names: &[String]| names.contains(&self.schema.columns[ordinal].name);
            let is_null = field.is(null)
                && !is_named(&self.format.force_not_null)
                && (!field.quoted || is_named(&self.format.force_null));
            let value = (!is_null).then_some(text);
            parser.push(value).map_err(|e| {
                let name = &self.schema.columns[ordinal].name;
                e.with_context(format!(", column {name}: \"{}\"", shown(text)))
            })?;
        }
        Ok(())
    }
}

/// Letters of the data that an error shows.
const SHOWN_LETTERS_MAX: usize = 100;

fn shown(text: &str) -> String {
    match text.char_indices().nth(SHOWN_LETTERS_MAX) {
        Some((end, _)) => format!("{}...", &text[..end]),
        None => text.to_owned(),
    }
}

/// 22P04 unless the first line has the names of the columns.
fn check_header(schema: &Schema, ordinals: &[usize], fields: &[Field]) -> SqlResult<()> {
    let bad = |message: String| SqlError::new(SqlState::BAD_COPY_FILE_FORMAT, message);
    let (given, expected) = (fields.len(), ordinals.len());
    if given != expected {
        return Err(bad(format!(
            "wrong number of fields in header line: got {given}, expected {expected}"
        )));
    }
    for (index, (field, ordinal)) in fields.iter().zip(ordinals).enumerate() {
        let (text, name) = (field.text()?, &schema.columns[*ordinal].name);
        if text != name {
            let number = index + 1;
            return Err(bad(format!(
                "column name mismatch in header line field {number}: got \"{text}\", expected \"{name}\""
            )));
        }
    }
    Ok(())
}
