//! `COPY table FROM`: CSV and text as PostgreSQL reads them. A bad row fails the whole statement and the
//! table stays as it was.

mod csv;
mod tabbed;

use std::io::Read;
use std::path::Path;

use arrow_array::RecordBatch;
use runtime::fs::{File, OpenOptions};
use runtime::{Handle, IoBuf};
use sql::parse::{CopyFormat, CopyOptions};
use types::parse::ColumnParser;
use types::{Schema, SqlError, SqlResult, SqlState};

use crate::database::Database;
use crate::insert::{in_place_bytes_max, insert};
use crate::load::TableLoader;

use csv::{CsvReader, Field};

/// Rows that are parsed before they are handed on.
const BATCH_ROWS: usize = 4096;

/// Copies rows of `input` into the columns at `ordinals`; the number of rows.
pub(crate) fn copy_from(
    db: &Database,
    table: &str,
    ordinals: &[usize],
    format: &CopyOptions,
    input: &mut dyn Read,
) -> SqlResult<u64> {
    let schema = db.snapshot().table(table)?.def.schema.clone();
    let mut rows = Rows::new(table, &schema, ordinals, format, input);
    let (mut kept, mut kept_bytes) = (vec![], 0);
    while let Some(batch) = rows.next_batch()? {
        kept_bytes += batch.get_array_memory_size();
        kept.push(batch);
        if kept_bytes > in_place_bytes_max(db) {
            return load(db, table, kept, rows);
        }
    }
    let batch = arrow_select::concat::concat_batches(&schema.arrow(), &kept)
        .map_err(|e| SqlError::internal(e.to_string()))?;
    if batch.num_rows() > 0 {
        insert(db, table, &batch)?;
    }
    Ok(batch.num_rows() as u64)
}

fn load(db: &Database, table: &str, kept: Vec<RecordBatch>, mut rows: Rows<'_>) -> SqlResult<u64> {
    let mut loader = TableLoader::new(db, table)?;
    let job = db.start_job("copying", 0);
    let mut count = 0;
    let mut push = |loader: &mut TableLoader<'_>, batch: &RecordBatch| {
        count += batch.num_rows() as u64;
        job.done.store(count, std::sync::atomic::Ordering::Relaxed);
        loader.push(batch)
    };
    for batch in kept {
        push(&mut loader, &batch)?;
    }
    while let Some(batch) = rows.next_batch()? {
        push(&mut loader, &batch)?;
    }
    loader.finish()?;
    Ok(count)
}

/// Parses records into batches.
struct Rows<'a> {
    table: &'a str,
    schema: &'a Schema,
    ordinals: &'a [usize],
    format: &'a CopyOptions,
    csv: CsvReader<'a>,
    header_pending: bool,
}

impl<'a> Rows<'a> {
    fn new(
        table: &'a str,
        schema: &'a Schema,
        ordinals: &'a [usize],
        format: &'a CopyOptions,
        input: &'a mut dyn Read,
    ) -> Rows<'a> {
        let csv = CsvReader::new(input, format);
        Rows { table, schema, ordinals, format, csv, header_pending: format.header }
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
            push_record(&mut parsers, self.schema, self.ordinals, &self.format.null, &fields)
                .map_err(|e| self.at_line(e))?;
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
}

fn push_record(
    parsers: &mut [ColumnParser],
    schema: &Schema,
    ordinals: &[usize],
    null: &str,
    fields: &[Field],
) -> SqlResult<()> {
    let bad = |message: String| SqlError::new(SqlState::BAD_COPY_FILE_FORMAT, message);
    if fields.len() < ordinals.len() {
        let name = &schema.columns[ordinals[fields.len()]].name;
        return Err(bad(format!("missing data for column \"{name}\"")));
    }
    if fields.len() > ordinals.len() {
        return Err(bad("extra data after last expected column".to_owned()));
    }
    for (ordinal, parser) in parsers.iter_mut().enumerate() {
        let field = ordinals.iter().position(|&o| o == ordinal).map(|i| &fields[i]);
        let text = field.map(Field::text).transpose()?;
        let is_null = field.is_none_or(|f| !f.quoted && f.bytes == null.as_bytes());
        let value = if is_null { None } else { text };
        parser.push(value).map_err(|e| {
            let name = &schema.columns[ordinal].name;
            e.with_detail(format!("column {name}: \"{}\"", text.unwrap_or_default()))
        })?;
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
