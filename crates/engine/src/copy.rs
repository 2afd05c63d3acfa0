//! `COPY table FROM`: CSV and text as PostgreSQL reads them. A bad row fails the whole statement and the
//! table stays as it was.

mod csv;
mod tabbed;

use std::collections::HashSet;
use std::io::Read;
use std::path::Path;
use std::sync::Arc;

use arrow_array::RecordBatch;
use runtime::fs::{File, OpenOptions};
use runtime::{Handle, IoBuf};
use sql::catalog::TableId;
use sql::dml::Defaults;
use sql::parse::{CopyFormat, CopyOptions};
use types::parse::ColumnParser;
use types::{Schema, SqlError, SqlResult, SqlState};

use crate::catalog::TableEntry;
use crate::database::Database;
use crate::dml::{Writing, check_all, checked, in_place_bytes_max, insert_batches};
use crate::load::TableLoader;
use crate::session::Session;

use csv::{CsvReader, Field};

/// Rows that are parsed before they are handed on.
const BATCH_ROWS: usize = 4096;

/// Copies rows of `input` into the columns at `ordinals`, the others take their defaults; the number
/// of rows.
pub(crate) fn copy_from(
    session: &Session,
    table: &str,
    ordinals: &[usize],
    format: &CopyOptions,
    input: &mut dyn Read,
) -> SqlResult<u64> {
    let writing = session.writing()?;
    let (db, entry) = (writing.db, writing.entry(table)?);
    let schema = sql::incoming_schema(&entry.def);
    let defaults = Defaults::new(&entry.def, &writing.catalog)?;
    let mut rows = Rows::new(table, &schema, ordinals, format, input, defaults);
    let (mut kept, mut kept_bytes) = (vec![], 0);
    while let Some(batch) = rows.next_batch()? {
        kept_bytes += batch.get_array_memory_size();
        kept.push(batch);
        if kept_bytes > in_place_bytes_max(db) && !refers_to_itself(&entry) {
            return load(&writing, &entry, kept, rows);
        }
    }
    insert_batches(&writing, &entry, &kept, rows.defaults.counted())?;
    Ok(kept.iter().map(|b| b.num_rows() as u64).sum())
}

/// Whether rows may refer to others of the same input.
fn refers_to_itself(entry: &TableEntry) -> bool {
    entry.def.constraints.foreign_keys.iter().any(|k| k.table == entry.def.id.0)
}

/// Many rows: the table's trees are written anew.
fn load(
    writing: &Writing<'_>,
    entry: &Arc<TableEntry>,
    kept: Vec<RecordBatch>,
    mut rows: Rows<'_>,
) -> SqlResult<u64> {
    let mut loader = TableLoader::without(writing.db, entry.clone(), &HashSet::new())?;
    let job = writing.db.start_job("copying", 0);
    let mut count = 0;
    let mut push = |loader: &mut TableLoader<'_>, batch: &RecordBatch| {
        count += batch.num_rows() as u64;
        job.done.store(count, std::sync::atomic::Ordering::Relaxed);
        let batch = checked(&entry.def, &writing.catalog, batch.clone())?;
        check_referring(writing, entry, &batch)?;
        loader.push(&batch)
    };
    for batch in kept {
        push(&mut loader, &batch)?;
    }
    while let Some(batch) = rows.next_batch()? {
        push(&mut loader, &batch)?;
    }
    loader.finish_with(rows.defaults.counted())?;
    Ok(count)
}

/// Parses records into batches.
struct Rows<'a> {
    table: &'a str,
    schema: &'a Schema,
    ordinals: &'a [usize],
    format: &'a CopyOptions,
    csv: CsvReader<'a>,
    defaults: Defaults,
    header_pending: bool,
}

impl<'a> Rows<'a> {
    fn new(
        table: &'a str,
        schema: &'a Schema,
        ordinals: &'a [usize],
        format: &'a CopyOptions,
        input: &'a mut dyn Read,
        defaults: Defaults,
    ) -> Rows<'a> {
        let csv = CsvReader::new(input, format);
        Rows { table, schema, ordinals, format, csv, defaults, header_pending: format.header }
    }

    fn next_batch(&mut self) -> SqlResult<Option<RecordBatch>> {
        let mut parsers: Vec<_> = self.schema.columns.iter().map(ColumnParser::new).collect();
        let mut row_count = 0;
        while row_count < BATCH_ROWS {
            let record = match self.format.format {
                CopyFormat::Csv => self.csv.next_record(),
                CopyFormat::Text => self.csv.next_tabbed(),
            };
            let Some(fields) = record.map_err(|e| self.at_line(e))? else { break };
            if std::mem::take(&mut self.header_pending) {
                continue;
            }
            if fields.len() == 1 && fields[0].is_end_marker() {
                break;
            }
            self.push_record(&mut parsers, &fields).map_err(|e| self.at_line(e))?;
            row_count += 1;
        }
        if row_count == 0 {
            return Ok(None);
        }
        let arrays = parsers.iter_mut().map(ColumnParser::finish).collect();
        let batch = RecordBatch::try_new(self.schema.arrow(), arrays);
        batch.map(Some).map_err(|e| SqlError::internal(e.to_string()))
    }

    /// Adds where in the input the error is.
    fn at_line(&self, error: SqlError) -> SqlError {
        let line = self.csv.line();
        let place = format!("COPY {}, line {line}", self.table);
        let detail = match &error.detail {
            Some(detail) => format!("{place}: {detail}"),
            None => place,
        };
        error.with_detail(detail)
    }

    fn push_record(&mut self, parsers: &mut [ColumnParser], fields: &[Field]) -> SqlResult<()> {
        let bad = |message: String| SqlError::new(SqlState::BAD_COPY_FILE_FORMAT, message);
        let ordinals = self.ordinals;
        if fields.len() < ordinals.len() {
            let name = &self.schema.columns[ordinals[fields.len()]].name;
            return Err(bad(format!("missing data for column \"{name}\"")));
        }
        if fields.len() > ordinals.len() {
            return Err(bad("extra data after last expected column".to_owned()));
        }
        let null = self.format.null.as_bytes();
        for (ordinal, parser) in parsers.iter_mut().enumerate() {
            let Some(at) = ordinals.iter().position(|&o| o == ordinal) else {
                parser.push(self.defaults.next(ordinal)?.as_deref())?;
                continue;
            };
            let (field, text) = (&fields[at], fields[at].text()?);
            let value = (field.quoted || field.bytes != null).then_some(text);
            parser.push(value).map_err(|e| {
                let name = &self.schema.columns[ordinal].name;
                e.with_detail(format!("column {name}: \"{text}\""))
            })?;
        }
        Ok(())
    }
}

/// Refuses rows that refer to rows which are not there.
fn check_referring(writing: &Writing<'_>, entry: &TableEntry, rows: &RecordBatch) -> SqlResult<()> {
    for key in &entry.def.constraints.foreign_keys {
        let parent = writing.catalog.snapshot().table_by_id(TableId(key.table));
        let parent =
            parent.ok_or_else(|| SqlError::internal("a foreign key refers to no table"))?;
        check_all(writing.db, entry, key, parent, rows)?;
    }
    Ok(())
}

/// A file of the server, read by the runtime.
pub(crate) struct FileReader {
    handle: Handle,
    file: File,
    offset: u64,
}

impl FileReader {
    pub(crate) fn open(db: &Database, path: &str) -> SqlResult<FileReader> {
        let handle = db.handle();
        let name = path.to_owned();
        let opened = handle.block_on(move || async move {
            let options = OpenOptions { read: true, ..OpenOptions::default() };
            File::open(Path::new(&name), options).await
        });
        let file = opened.map_err(|e| {
            let state = match e.kind() {
                std::io::ErrorKind::NotFound => SqlState::UNDEFINED_FILE,
                _ => SqlState::IO_ERROR,
            };
            SqlError::new(state, format!("could not open file \"{path}\" for reading: {e}"))
        })?;
        Ok(FileReader { handle, file, offset: 0 })
    }
}

/// Bytes of one read of an input file.
const BLOCK_BYTES: usize = 1 << 20;

impl Read for FileReader {
    fn read(&mut self, out: &mut [u8]) -> std::io::Result<usize> {
        let (file, offset) = (self.file.clone(), self.offset);
        let wanted = out.len().min(BLOCK_BYTES);
        let (result, buffer) = self
            .handle
            .block_on(move || async move { file.read_at(IoBuf::alloc(wanted), offset).await });
        let count = result?;
        out[..count].copy_from_slice(&buffer.as_slice()[..count]);
        self.offset += count as u64;
        Ok(count)
    }
}
