//! The index of pages that a file may have: by it a large row group is read in slices, so that a file of one
//! row group is decoded by all workers, and a part of it needs a part of the memory. Where there is none it is
//! made of what was read.

pub(crate) mod found;

use std::ops::Range;

use bytes::Bytes;
use parquet::DecodeResult;
use parquet::errors::ParquetError;
use parquet::file::metadata::{
    PageIndexPolicy, ParquetMetaData, ParquetMetaDataPushDecoder, RowGroupMetaData,
};
use parquet::file::page_index::offset_index::{OffsetIndexMetaData, PageLocation};

use super::decode::BATCH_ROWS;
use super::footer::ParquetFile;

/// Bytes of a slice at least: what a request is worth (AnyBlob paper, section 2.4).
const SLICE_BYTES: u64 = 8 << 20;

/// Bytes of an index at most: it is in memory as long as the statement. 20 bytes a page of 100 KB and more
/// are 300 GB of columns.
const INDEX_BYTES_MAX: u64 = 64 << 20;

/// A slice reads so many times what it reads for others, too: pages over its bounds, and dictionaries.
const OWN_SHARE: u64 = 8;

/// Where the index of a file is; `None` where there is none, or no group is large enough to need one.
pub(super) fn index_range(metadata: &ParquetMetaData, length: u64) -> Option<Range<u64>> {
    let is_large = |group: &RowGroupMetaData| group.compressed_size() > 2 * SLICE_BYTES as i64;
    if !metadata.row_groups().iter().any(is_large) {
        return None;
    }
    let mut whole: Option<Range<u64>> = None;
    for column in metadata.row_groups().iter().flat_map(RowGroupMetaData::columns) {
        let start = u64::try_from(column.offset_index_offset()?).ok()?;
        let bytes = u64::try_from(column.offset_index_length()?).ok()?;
        let end = start.checked_add(bytes).filter(|end| *end <= length)?;
        whole = match whole {
            None => Some(start..end),
            Some(whole) => Some(whole.start.min(start)..whole.end.max(end)),
        };
    }
    whole.filter(|range| range.end - range.start <= INDEX_BYTES_MAX)
}

/// The metadata with the index, which was read; without it, if it contradicts the rest.
pub(super) fn with_index(
    metadata: ParquetMetaData,
    length: u64,
    (range, bytes): (Range<u64>, Bytes),
) -> Result<ParquetMetaData, ParquetError> {
    let without = metadata.clone();
    let mut decoder = ParquetMetaDataPushDecoder::try_new_with_metadata(length, metadata)?
        .with_column_index_policy(PageIndexPolicy::Skip)
        .with_offset_index_policy(PageIndexPolicy::Optional);
    decoder.push_range(range, bytes)?;
    match decoder.try_decode()? {
        DecodeResult::Data(metadata) if is_right(&metadata) => Ok(metadata),
        _ => Ok(without),
    }
}

/// Whether all pages lie in their columns one behind the other, and their rows in their groups.
fn is_right(metadata: &ParquetMetaData) -> bool {
    let Some(index) = metadata.offset_index() else { return false };
    let groups = metadata.row_groups();
    index.len() == groups.len()
        && groups.iter().zip(index).all(|(group, index)| {
            let columns = group.columns().iter().zip(index);
            index.len() == group.columns().len()
                && columns.into_iter().all(|(column, index)| {
                    let (start, bytes) = column.byte_range();
                    are_right(index.page_locations(), start..start + bytes, group.num_rows())
                })
        })
}

fn are_right(pages: &[PageLocation], bytes: Range<u64>, row_count: i64) -> bool {
    let (mut end, mut row) = (bytes.start, -1);
    let mut fits = |page: &PageLocation| {
        let (Ok(start), Ok(size)) =
            (u64::try_from(page.offset), u64::try_from(page.compressed_page_size))
        else {
            return false;
        };
        let fits = start >= end && page.first_row_index > row && start.checked_add(size).is_some();
        (end, row) = (start.saturating_add(size), page.first_row_index);
        fits
    };
    let is_first = pages.first().is_none_or(|page| page.first_row_index == 0);
    is_first && pages.iter().all(&mut fits) && end <= bytes.end && row < row_count.max(1)
}

impl ParquetFile {
    /// The rows of a group as slices of some megabytes; `None` where it has no index, or is no larger than a
    /// slice. Columns are given by their numbers in the first file.
    pub(crate) fn slices(&self, group: usize, numbers: &[usize]) -> Option<Vec<Range<usize>>> {
        let index = self.metadata.metadata().offset_index()?.get(group)?;
        let metadata = &self.groups()[group];
        let leaves = self.leaves(numbers);
        let columns: Vec<Pages<'_>> =
            leaves.iter().map(|leaf| Pages::new(metadata, *leaf, &index[*leaf])).collect();
        let slices = sliced(&columns, usize::try_from(metadata.num_rows()).ok()?);
        (slices.len() > 1).then_some(slices)
    }
}

/// The pages of a column.
pub(super) struct Pages<'a> {
    dictionary_bytes: u64,
    pages: &'a [PageLocation],
}

impl<'a> Pages<'a> {
    fn new(group: &RowGroupMetaData, leaf: usize, index: &'a OffsetIndexMetaData) -> Pages<'a> {
        let pages = index.page_locations().as_slice();
        let start = group.column(leaf).byte_range().0;
        let first = pages.first().map_or(start, |page| page.offset as u64);
        Pages { dictionary_bytes: first.saturating_sub(start), pages }
    }
}

/// Cuts rows where enough bytes have gathered, and little is read twice for the cut.
fn sliced(columns: &[Pages<'_>], row_count: usize) -> Vec<Range<usize>> {
    let bytes_of = |column: &Pages<'_>| {
        column.pages.iter().map(|page| page.compressed_page_size as u64).sum::<u64>()
    };
    let widest = columns.iter().max_by_key(|column| bytes_of(column));
    let dictionaries: u64 = columns.iter().map(|column| column.dictionary_bytes).sum();
    let mut places = vec![0; columns.len()];
    let (mut slices, mut begin, mut gathered) = (vec![], 0, 0);
    for cut in widest.iter().flat_map(|column| column.pages).map(|page| page.first_row_index) {
        let mut twice = dictionaries;
        for (column, place) in columns.iter().zip(&mut places) {
            while let Some(page) = column.pages.get(*place).filter(|p| p.first_row_index < cut) {
                gathered += page.compressed_page_size as u64;
                *place += 1;
            }
            let ends_here = column.pages.get(*place).is_none_or(|p| p.first_row_index == cut);
            let last =
                place.checked_sub(1).filter(|_| !ends_here).and_then(|at| column.pages.get(at));
            twice += last.map_or(0, |page| page.compressed_page_size as u64);
        }
        let cut = cut as usize;
        let is_enough = gathered >= SLICE_BYTES && gathered >= OWN_SHARE * twice;
        if is_enough && cut - begin >= BATCH_ROWS && row_count.saturating_sub(cut) >= BATCH_ROWS {
            slices.push(begin..cut);
            (begin, gathered) = (cut, 0);
        }
    }
    slices.push(begin..row_count);
    slices
}

#[cfg(test)]
mod tests;
