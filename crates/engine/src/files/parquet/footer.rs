//! The end of a Parquet file: where everything lies, and what of it can be believed.

use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use arrow_schema::{DataType, Field, Fields, Schema, TimeUnit};
use bytes::Bytes;
use parquet::arrow::arrow_reader::{ArrowReaderMetadata, ArrowReaderOptions};
use parquet::basic::{Compression, Type as PhysicalType};
use parquet::errors::ParquetError;
use parquet::file::metadata::{ParquetMetaData, ParquetMetaDataReader, RowGroupMetaData};
use parquet::schema::types::SchemaDescriptor;
use runtime::sync::Cancel;
use txn::waiting::unless_cancelled;
use types::{SqlError, SqlResult};

use super::super::convert::decoded;
use super::super::found::Found;
use super::pages;
use crate::files::damage::damaged;
use crate::input::files::RandomFile;
use crate::objects::tally::Tally;

/// The length of the metadata, and the magic number.
const TAIL_BYTES: u64 = 8;

/// Bytes that the end of an object is asked for with: the metadata of some hundred row groups, and no more than
/// a request takes in any case (30 ms at 50 MiB/s are 1.5 MiB).
const END_BYTES: u64 = 256 << 10;

/// A magic number stands at the begin, too.
const HEAD_BYTES: u64 = 4;

/// A Parquet file of which the end is known.
pub(crate) struct ParquetFile {
    pub(crate) found: Found,
    pub(super) length: u64,
    pub(super) metadata: ArrowReaderMetadata,
    /// Where in the file the columns of the first file stand.
    pub(super) places: Vec<usize>,
}

impl std::fmt::Debug for ParquetFile {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ParquetFile").field("path", &self.found.path).finish_non_exhaustive()
    }
}

/// Reads the end of a file: of an object as much as most ends take, by one request.
///
/// # Errors
/// 22P04 when it is none of such a file; those of reading.
pub(crate) async fn open(found: &Found, tally: &Tally, cancel: &Cancel) -> SqlResult<ParquetFile> {
    let path = found.path.as_str();
    let file = unless_cancelled(cancel, found.open()).await??;
    let length = file.length();
    let wrong = |why: &str| damaged("Parquet", path, why);
    let Some(tail_at) = length.checked_sub(TAIL_BYTES).filter(|at| *at >= HEAD_BYTES) else {
        return Err(wrong("It is too short."));
    };
    let end_bytes = if found.is_object() { END_BYTES } else { TAIL_BYTES };
    let end = End::read(&file, end_bytes, tally, cancel).await?;
    let tail = end.get(tail_at..length).await?;
    let (size, magic) = tail.split_at(4);
    match magic {
        b"PAR1" => {}
        b"PARE" => return Err(SqlError::unsupported("an encrypted Parquet file")),
        _ => return Err(wrong("It does not end as one.")),
    }
    let size = u32::from_le_bytes(size.try_into().expect("four bytes"));
    let begin = tail_at.checked_sub(u64::from(size)).filter(|at| *at >= HEAD_BYTES);
    let begin = begin.ok_or_else(|| wrong("Its metadata would be longer than the file."))?;
    let bytes = end.get(begin..tail_at).await?;
    let mut metadata = guarded(path, || {
        let metadata = ParquetMetaDataReader::decode_metadata(&bytes)?;
        check(&metadata, length)?;
        Ok(metadata)
    })?;
    if let Some(index) = pages::index_range(&metadata, length) {
        let bytes = end.get(index.clone()).await?;
        metadata = guarded(path, || pages::with_index(metadata, length, (index, bytes)))?;
    }
    let metadata = guarded(path, || readable(Arc::new(metadata)))?;
    let places = (0..metadata.schema().fields().len()).collect();
    Ok(ParquetFile { found: found.clone(), length, metadata, places })
}

/// What was read of the end of a file.
struct End<'a> {
    file: &'a RandomFile,
    tally: &'a Tally,
    cancel: &'a Cancel,
    from: u64,
    bytes: Bytes,
}

impl<'a> End<'a> {
    async fn read(
        file: &'a RandomFile,
        count: u64,
        tally: &'a Tally,
        cancel: &'a Cancel,
    ) -> SqlResult<End<'a>> {
        let from = file.length().saturating_sub(count);
        let mut end = End { file, tally, cancel, from: file.length(), bytes: Bytes::new() };
        (end.bytes, end.from) = (end.get(from..file.length()).await?, from);
        Ok(end)
    }

    /// A range of the file, read if it is not in what was.
    async fn get(&self, range: Range<u64>) -> SqlResult<Bytes> {
        if let Some(at) = range.start.checked_sub(self.from).filter(|_| !self.bytes.is_empty()) {
            return Ok(self.bytes.slice(at as usize..(range.end - self.from) as usize));
        }
        let ranges = std::slice::from_ref(&range);
        let read = unless_cancelled(self.cancel, self.file.read_all(ranges, self.tally)).await??;
        Ok(read.into_iter().next().map(|(_, bytes)| bytes).unwrap_or_default())
    }
}

/// What the decoder makes of bytes that may be anything: it takes some of them for granted.
///
/// # Errors
/// 22P04
pub(super) fn guarded<T>(
    path: &str,
    decode: impl FnOnce() -> Result<T, ParquetError>,
) -> SqlResult<T> {
    match catch_unwind(AssertUnwindSafe(decode)) {
        Ok(Ok(decoded)) => Ok(decoded),
        Ok(Err(ParquetError::NYI(what))) => {
            Err(SqlError::unsupported(what).with_context(format!("file \"{path}\"")))
        }
        Ok(Err(error)) => Err(damaged("Parquet", path, error.to_string())),
        Err(_) => Err(damaged("Parquet", path, "Its parts contradict each other.")),
    }
}

fn wrong(what: &str) -> ParquetError {
    ParquetError::General(what.to_owned())
}

/// Parts must lie in the file and not on each other, so that no more is read than there is; and columns
/// must have as many values as there are rows.
fn check(metadata: &ParquetMetaData, length: u64) -> Result<(), ParquetError> {
    let mut left = length;
    for group in metadata.row_groups() {
        let rows = group.num_rows();
        if rows < 0 {
            return Err(wrong("a row group has a negative number of rows"));
        }
        for column in group.columns() {
            if let Compression::BROTLI(_) | Compression::LZO = column.compression() {
                let codec = column.compression().to_string().to_lowercase();
                let codec = codec.split('(').next().unwrap_or_default();
                return Err(ParquetError::NYI(format!("Parquet compressed with {codec}")));
            }
            let begin = column.dictionary_page_offset().unwrap_or(column.data_page_offset());
            let size = column.compressed_size();
            let (Ok(begin), Ok(size)) = (u64::try_from(begin), u64::try_from(size)) else {
                return Err(wrong("a column has a negative place"));
            };
            if begin.checked_add(size).is_none_or(|end| end > length) || size > left {
                return Err(wrong("a column lies beyond the end of the file"));
            }
            left -= size;
            if column.column_descr().max_rep_level() == 0 && column.num_values() != rows {
                return Err(wrong("a column has another number of values than there are rows"));
            }
        }
    }
    Ok(())
}

/// The metadata with the types in which columns are decoded. What writers say of types in words of their
/// own is not believed.
fn readable(metadata: Arc<ParquetMetaData>) -> Result<ArrowReaderMetadata, ParquetError> {
    let plain = ArrowReaderOptions::new().with_skip_arrow_metadata(true);
    let plain = ArrowReaderMetadata::try_new(metadata.clone(), plain)?;
    let stored = metadata.file_metadata().schema_descr().root_schema().get_fields();
    let field = |(field, stored): (&Arc<Field>, &Arc<parquet::schema::types::Type>)| {
        let is_int96 = stored.is_primitive() && stored.get_physical_type() == PhysicalType::INT96;
        let ty = match field.data_type() {
            // Nanoseconds would end in 2262.
            DataType::Timestamp(_, zone) if is_int96 => {
                DataType::Timestamp(TimeUnit::Microsecond, zone.clone())
            }
            other => decoded(other),
        };
        field.as_ref().clone().with_data_type(ty)
    };
    let fields = plain.schema().fields().iter().zip(stored).map(field);
    let schema = Arc::new(Schema::new(fields.collect::<Vec<_>>()));
    ArrowReaderMetadata::try_new(metadata, ArrowReaderOptions::new().with_schema(schema))
}

impl ParquetFile {
    pub(super) fn fields(&self) -> &Fields {
        self.metadata.schema().fields()
    }

    pub(super) fn schema(&self) -> &SchemaDescriptor {
        self.metadata.parquet_schema()
    }

    pub(super) fn groups(&self) -> &[RowGroupMetaData] {
        self.metadata.metadata().row_groups()
    }

    /// How many row groups it has.
    pub(crate) fn group_count(&self) -> usize {
        self.groups().len()
    }

    /// The number of the first row of a group in the file.
    pub(super) fn first_row(&self, group: usize) -> u64 {
        let before = &self.groups()[..group];
        before.iter().map(|group| group.num_rows() as u64).fold(0, u64::saturating_add)
    }

    pub(super) fn row_count(&self) -> u64 {
        self.groups().iter().map(|group| group.num_rows() as u64).fold(0, u64::saturating_add)
    }

    /// Stored bytes of a column, by its number in the first file.
    pub(super) fn bytes_of(&self, number: usize) -> u64 {
        let leaves = self.leaves(&[number]);
        let columns = self.groups().iter().flat_map(|g| leaves.iter().map(|leaf| g.column(*leaf)));
        columns.map(|column| column.compressed_size() as u64).sum()
    }

    /// The stored columns that some columns have, which are given by their numbers in the first file.
    pub(super) fn leaves(&self, numbers: &[usize]) -> Vec<usize> {
        let places: Vec<usize> = numbers.iter().map(|number| self.places[*number]).collect();
        let schema = self.schema();
        let is_of = |leaf: &usize| places.contains(&schema.get_column_root_idx(*leaf));
        (0..schema.num_columns()).filter(is_of).collect()
    }
}
