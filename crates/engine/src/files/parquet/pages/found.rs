//! An index of pages where a file has none: the headers of pages say how long they are, so they are found in what
//! was read of a row group.

use std::io::Cursor;
use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;
use parquet::arrow::arrow_reader::{ArrowReaderMetadata, ArrowReaderOptions};
use parquet::column::page::PageReader;
use parquet::errors::ParquetError;
use parquet::file::metadata::{
    ColumnChunkMetaData, OffsetIndexBuilder, ParquetMetaData, RowGroupMetaData,
};
use parquet::file::page_index::offset_index::OffsetIndexMetaData;
use parquet::file::reader::{ChunkReader, Length};
use parquet::file::serialized_reader::SerializedPageReader;

use super::super::footer::ParquetFile;
use super::{SLICE_BYTES, are_right};

impl ParquetFile {
    /// The file with an index of the pages of these columns of a group, by what was read of it; `None` where that
    /// is no larger than a slice, or cannot be cut. Columns are given by their numbers in the first file.
    pub(crate) fn indexed(
        &self,
        group: usize,
        numbers: &[usize],
        read: &[(Range<u64>, Bytes)],
    ) -> Option<ParquetFile> {
        let bytes: u64 = read.iter().map(|(range, _)| range.end - range.start).sum();
        let metadata = self.metadata.metadata();
        if bytes <= 2 * SLICE_BYTES || metadata.offset_index().is_some() {
            return None;
        }
        let leaves = self.leaves(numbers);
        let index = |leaf: usize| match leaves.contains(&leaf) {
            true => found(&self.groups()[group], leaf, read),
            false => Some(OffsetIndexBuilder::new().build()),
        };
        let own = (0..self.schema().num_columns()).map(index).collect::<Option<Vec<_>>>()?;
        let none = |group: &RowGroupMetaData| {
            group.columns().iter().map(|_| OffsetIndexBuilder::new().build()).collect()
        };
        let mut all: Vec<Vec<OffsetIndexMetaData>> = self.groups().iter().map(none).collect();
        all[group] = own;
        let metadata = ParquetMetaData::clone(metadata).into_builder();
        let metadata = Arc::new(metadata.set_offset_index(Some(all)).build());
        let options = ArrowReaderOptions::new().with_schema(self.metadata.schema().clone());
        let metadata = ArrowReaderMetadata::try_new(metadata, options).ok()?;
        let (found, places) = (self.found.clone(), self.places.clone());
        Some(ParquetFile { found, length: self.length, metadata, places })
    }
}

/// The pages of a column, if all of them are there and it is known which rows they have.
fn found(
    group: &RowGroupMetaData,
    leaf: usize,
    read: &[(Range<u64>, Bytes)],
) -> Option<OffsetIndexMetaData> {
    let column = group.column(leaf);
    // A page of lists may begin within a row.
    if column.column_descr().max_rep_level() > 0 {
        return None;
    }
    let (start, bytes) = column.byte_range();
    let end = start.checked_add(bytes)?;
    let (range, data) = read.iter().find(|(r, _)| r.start <= start && end <= r.end)?;
    let chunk = Arc::new(Chunk { start: range.start, bytes: data.clone(), at: Mutex::new(0) });
    let pages = walked(&chunk, column, group.num_rows()).ok()?;
    let mut index = OffsetIndexBuilder::new();
    for (at, (offset, row_count)) in pages.iter().enumerate() {
        let next = pages.get(at + 1).map_or(end, |(next, _)| *next);
        let size = i32::try_from(next.checked_sub(*offset)?).ok()?;
        index.append_offset_and_size(i64::try_from(*offset).ok()?, size);
        index.append_row_count(*row_count);
    }
    let rows: i64 = pages.iter().map(|(_, rows)| rows).sum();
    let index = index.build();
    let is_right = are_right(index.page_locations(), start..end, group.num_rows());
    (is_right && rows == group.num_rows()).then_some(index)
}

/// Where the pages of data begin, and how many rows each has.
fn walked(
    chunk: &Arc<Chunk>,
    column: &ColumnChunkMetaData,
    row_count: i64,
) -> Result<Vec<(u64, i64)>, ParquetError> {
    let rows = usize::try_from(row_count)?;
    let mut reader = SerializedPageReader::new(chunk.clone(), column, rows, None)?;
    let mut pages = vec![];
    while let Some(page) = reader.peek_next_page()? {
        if !page.is_dict {
            let rows = page.num_rows.or(page.num_levels);
            let rows =
                rows.ok_or_else(|| ParquetError::General("a page of unknown rows".into()))?;
            pages.push((chunk.at(), i64::try_from(rows)?));
        }
        reader.skip_next_page()?;
    }
    Ok(pages)
}

/// Bytes of a file that notes where it was read last.
struct Chunk {
    start: u64,
    bytes: Bytes,
    at: Mutex<u64>,
}

impl Chunk {
    fn at(&self) -> u64 {
        *self.at.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn from(&self, start: u64) -> Result<Bytes, ParquetError> {
        let at = start.checked_sub(self.start).and_then(|at| usize::try_from(at).ok());
        let at = at.filter(|at| *at <= self.bytes.len());
        at.map(|at| self.bytes.slice(at..)).ok_or_else(|| ParquetError::EOF("a page".into()))
    }
}

impl Length for Chunk {
    fn len(&self) -> u64 {
        self.start + self.bytes.len() as u64
    }
}

impl ChunkReader for Chunk {
    type T = Cursor<Bytes>;

    fn get_read(&self, start: u64) -> Result<Cursor<Bytes>, ParquetError> {
        *self.at.lock().unwrap_or_else(PoisonError::into_inner) = start;
        self.from(start).map(Cursor::new)
    }

    fn get_bytes(&self, start: u64, length: usize) -> Result<Bytes, ParquetError> {
        let bytes = self.from(start)?;
        match length <= bytes.len() {
            true => Ok(bytes.slice(..length)),
            false => Err(ParquetError::EOF("a page".into())),
        }
    }
}
