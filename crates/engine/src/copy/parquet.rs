//! Parquet, written: rows are gathered into row groups, and what of the file is ready is handed on.

use std::mem::take;
use std::sync::Arc;

use arrow_array::{ArrayRef, RecordBatch};
use arrow_schema::extension::Uuid;
use arrow_schema::{DataType, Field, Schema, SchemaRef};
use parquet::arrow::ArrowWriter;
use parquet::arrow::arrow_writer::ArrowWriterOptions;
use parquet::basic::{self, ZstdLevel};
use parquet::errors::ParquetError;
use parquet::file::properties::WriterProperties;
use sql::parse::{Compression, CopySource, ParquetOptions};
use types::{SqlError, SqlResult, SqlState};

/// Values of a column that are written at once: what a task does before it gives way.
const WRITE_ROWS: usize = 8192;

/// Bytes of a row group at most, about: it is kept in memory until it is written.
const ROW_GROUP_BYTES_MAX: usize = 128 << 20;

/// Writes rows as a file.
pub(crate) struct ParquetWriter {
    writer: ArrowWriter<Vec<u8>>,
    schema: SchemaRef,
    row_group_rows: usize,
}

/// 0A000 for Parquet that comes from a client, or goes to one.
pub(crate) fn refuse_client() -> SqlError {
    SqlError::unsupported("COPY of Parquet from or to a client")
        .with_hint("Name a file of the server, or use another format.")
}

/// 0A000 unless a file is named.
pub(crate) fn check_source(source: &CopySource) -> SqlResult<()> {
    match source {
        CopySource::File(_) => Ok(()),
        CopySource::Stdin => Err(refuse_client()),
    }
}

impl ParquetWriter {
    /// A writer of rows of these columns.
    ///
    /// # Errors
    /// 0A000 for columns of a type that is not written, 42701 for two of the same name.
    pub(crate) fn new(schema: &Schema, options: ParquetOptions) -> SqlResult<ParquetWriter> {
        let fields = schema.fields().iter().map(|field| written(field));
        let fields = fields.collect::<SqlResult<Vec<Field>>>()?;
        let is_twice = |at: usize| fields[..at].iter().any(|f| f.name() == fields[at].name());
        if let Some(at) = (0..fields.len()).find(|at| is_twice(*at)) {
            let message = format!("column \"{}\" specified more than once", fields[at].name());
            return Err(SqlError::new(SqlState::DUPLICATE_COLUMN, message)
                .with_hint("Give the columns of the query different names."));
        }
        let schema = Arc::new(Schema::new(fields));
        let properties = WriterProperties::builder()
            .set_compression(compression(options.compression))
            .set_created_by(concat!("dovetail ", env!("CARGO_PKG_VERSION")).to_owned())
            .set_max_row_group_row_count(Some(options.row_group_rows))
            .set_max_row_group_bytes(Some(ROW_GROUP_BYTES_MAX))
            .build();
        let writer_options =
            ArrowWriterOptions::new().with_properties(properties).with_skip_arrow_metadata(true);
        let writer = ArrowWriter::try_new_with_options(vec![], schema.clone(), writer_options);
        let (writer, row_group_rows) = (writer.map_err(failed)?, options.row_group_rows);
        Ok(ParquetWriter { writer, schema, row_group_rows })
    }

    /// Adds rows; what of the file is ready is put behind `out`.
    ///
    /// # Errors
    /// XX000
    pub(crate) async fn write(&mut self, batch: &RecordBatch, out: &mut Vec<u8>) -> SqlResult<()> {
        let mut at = 0;
        while at < batch.num_rows() {
            // Never over the end of a row group: the writer would call itself for each that there is.
            let room = self.row_group_rows - self.writer.in_progress_rows();
            let count = WRITE_ROWS.min(room).min(batch.num_rows() - at);
            let arrays: Vec<ArrayRef> =
                batch.columns().iter().map(|array| array.slice(at, count)).collect();
            let rows = RecordBatch::try_new(self.schema.clone(), arrays);
            let rows = rows.map_err(crate::fault::internal)?;
            self.writer.write(&rows).map_err(failed)?;
            at += count;
            out.append(self.writer.inner_mut());
            if runtime::need_preempt() {
                runtime::yield_now().await;
            }
        }
        Ok(())
    }

    /// The end of the file.
    ///
    /// # Errors
    /// XX000
    pub(crate) fn finish(mut self) -> SqlResult<Vec<u8>> {
        self.writer.finish().map_err(failed)?;
        Ok(take(self.writer.inner_mut()))
    }
}

/// A column as it is written.
fn written(field: &Field) -> SqlResult<Field> {
    let (name, ty) = (field.name(), field.data_type());
    let plain = Field::new(name, ty.clone(), true);
    match ty {
        DataType::List(_) | DataType::Interval(_) => {
            let kind = if matches!(ty, DataType::List(_)) { "array" } else { "interval" };
            let what = format!("COPY of column \"{name}\" of type {kind} to Parquet");
            Err(SqlError::unsupported(what)
                .with_hint("Copy a query that casts the column to text."))
        }
        DataType::FixedSizeBinary(16) => Ok(plain.with_extension_type(Uuid)),
        _ => Ok(plain),
    }
}

fn compression(compression: Compression) -> basic::Compression {
    match compression {
        Compression::None => basic::Compression::UNCOMPRESSED,
        Compression::Snappy => basic::Compression::SNAPPY,
        Compression::Zstd => basic::Compression::ZSTD(ZstdLevel::default()),
    }
}

fn failed(error: ParquetError) -> SqlError {
    SqlError::internal(format!("could not write Parquet: {error}"))
}
