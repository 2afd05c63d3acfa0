//! Rows of a row group as batches: their bytes are read when the decoder asks for them.

use std::ops::Range;
use std::sync::Arc;

use arrow_array::{ArrayRef, RecordBatch};
use bytes::Bytes;
use exec::Access;
use parquet::DecodeResult;
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::{RowSelection, RowSelector};
use parquet::arrow::push_decoder::{ParquetPushDecoder, ParquetPushDecoderBuilder};
use types::{LogicalType, SqlResult};

use super::super::convert;
use super::footer::{ParquetFile, guarded};
use crate::files::damage::damaged;
use crate::input::files::RandomFile;
use crate::objects::room::Taken;
use crate::objects::tally::Tally;

/// Rows that are decoded at once: the work of a millisecond or so.
pub(super) const BATCH_ROWS: usize = 8192;

/// Rows of a row group that are being decoded.
pub(crate) struct Decoding {
    parquet: Arc<ParquetFile>,
    file: Arc<RandomFile>,
    group: usize,
    /// The columns that are wanted, by their numbers in the first file.
    wanted: Vec<(usize, LogicalType)>,
    decoder: ParquetPushDecoder,
    /// For each of them, where it stands in what the decoder gives, and its type.
    columns: Vec<(usize, LogicalType)>,
    /// The number of the next row in the file.
    next_row: u64,
    /// How many rows are to come, where a part of the group is decoded.
    rows_left: Option<usize>,
    /// The memory of what was downloaded. Rows that refer to some of it are counted by who keeps them.
    taken: Option<Arc<Taken>>,
}

/// What was read of a file: ranges, each in one piece.
type Pieces = Vec<(Range<u64>, Bytes)>;

/// What comes next.
pub(crate) enum Next {
    Rows(Decoded),
    /// These bytes are needed.
    Wants(Vec<Range<u64>>),
    End,
}

/// Rows as they are decoded.
pub(crate) struct Decoded {
    /// The number of the first one in the file.
    pub(crate) first_row: u64,
    pub(crate) arrays: Vec<ArrayRef>,
    pub(crate) row_count: usize,
}

impl Decoding {
    /// Begins with a row group, or some rows of one that has an index of pages: columns by their numbers in
    /// the first file, with their types.
    ///
    /// # Errors
    /// 22P04, and those of opening the file.
    pub(crate) async fn begin(
        parquet: &Arc<ParquetFile>,
        group: usize,
        rows: Option<Range<usize>>,
        columns: &[(usize, LogicalType)],
    ) -> SqlResult<Decoding> {
        let file = parquet.found.open().await?;
        if file.length() != parquet.length {
            let path = &parquet.found.path;
            return Err(damaged("Parquet", path, "It has changed since it was opened."));
        }
        Decoding::of(parquet.clone(), Arc::new(file), group, rows, columns)
    }

    fn of(
        parquet: Arc<ParquetFile>,
        file: Arc<RandomFile>,
        group: usize,
        rows: Option<Range<usize>>,
        wanted: &[(usize, LogicalType)],
    ) -> SqlResult<Decoding> {
        let places: Vec<usize> = wanted.iter().map(|(c, _)| parquet.places[*c]).collect();
        let mut roots = places.clone();
        roots.sort_unstable();
        roots.dedup();
        let mask = ProjectionMask::roots(parquet.schema(), roots.iter().copied());
        let decoder = guarded(&parquet.found.path, || {
            let builder = ParquetPushDecoderBuilder::new_with_metadata(parquet.metadata.clone())
                .with_batch_size(BATCH_ROWS)
                .with_row_groups(vec![group])
                .with_projection(mask);
            match &rows {
                None => builder,
                Some(rows) => builder.with_row_selection(selection(rows)),
            }
            .build()
        })?;
        let place = |root: &usize| roots.binary_search(root).expect("all roots are in the list");
        let types = wanted.iter().map(|(_, ty)| *ty);
        let columns = places.iter().map(place).zip(types).collect();
        let skipped = rows.as_ref().map_or(0, |rows| rows.start as u64);
        let next_row = parquet.first_row(group).saturating_add(skipped);
        Ok(Decoding {
            parquet,
            file,
            group,
            wanted: wanted.to_vec(),
            decoder,
            columns,
            next_row,
            rows_left: rows.map(|rows| rows.len()),
            taken: None,
        })
    }

    /// Whether its bytes come from a store.
    pub(crate) fn is_of_object(&self) -> bool {
        self.file.is_object()
    }

    /// The next rows, or what is missing for them.
    ///
    /// # Errors
    /// 22P04
    pub(crate) fn next(&mut self) -> SqlResult<Next> {
        match guarded(&self.parquet.found.path, || self.decoder.try_decode())? {
            DecodeResult::NeedsData(ranges) => Ok(Next::Wants(ranges)),
            DecodeResult::Finished if self.rows_left.is_none_or(|left| left == 0) => Ok(Next::End),
            DecodeResult::Data(batch) => {
                let left = self.rows_left.map(|left| left.checked_sub(batch.num_rows()));
                self.rows_left = match left {
                    Some(None) => return Err(self.has_other_rows()),
                    left => left.flatten(),
                };
                let decoded = self.converted(&batch)?;
                self.next_row = self.next_row.saturating_add(decoded.row_count as u64);
                Ok(Next::Rows(decoded))
            }
            DecodeResult::Finished => Err(self.has_other_rows()),
        }
    }

    fn has_other_rows(&self) -> types::SqlError {
        damaged("Parquet", self.path(), "Its pages have other rows than its index of them says.")
    }

    /// Reads the bytes that are missing; those of an object are counted in `taken`. A large group is cut into
    /// slices by the pages that are found in it: they are decoded in its place.
    ///
    /// # Errors
    /// 22P04, and those of reading.
    pub(crate) async fn supply(
        &mut self,
        ranges: &[Range<u64>],
        taken: Option<Taken>,
        access: Access<'_>,
    ) -> SqlResult<Vec<Decoding>> {
        let tally = Tally::default();
        let read = self.file.read_all(ranges, &tally).await;
        tally.tell(access.skips);
        let read = read?;
        if !self.is_of_object() {
            read.iter().for_each(|(range, _)| access.io.add_read(range.end - range.start));
        }
        taken.iter().for_each(Taken::came);
        let taken = taken.map(Arc::new);
        let slices = self.cut(&read, taken.as_ref())?;
        if slices.is_empty() {
            self.push(read, taken)?;
        }
        Ok(slices)
    }

    fn cut(&self, read: &Pieces, taken: Option<&Arc<Taken>>) -> SqlResult<Vec<Decoding>> {
        if self.rows_left.is_some() {
            return Ok(vec![]);
        }
        let numbers: Vec<usize> = self.wanted.iter().map(|(number, _)| *number).collect();
        let indexed =
            guarded(self.path(), || Ok(self.parquet.indexed(self.group, &numbers, read)))?;
        let Some(indexed) = indexed.map(Arc::new) else { return Ok(vec![]) };
        let slices = indexed.slices(self.group, &numbers).unwrap_or_default();
        let slice = |rows| {
            let (file, rows) = (self.file.clone(), Some(rows));
            let mut slice = Decoding::of(indexed.clone(), file, self.group, rows, &self.wanted)?;
            slice.push(read.clone(), taken.cloned())?;
            Ok(slice)
        };
        slices.into_iter().map(slice).collect()
    }

    fn push(&mut self, read: Pieces, taken: Option<Arc<Taken>>) -> SqlResult<()> {
        self.taken = taken;
        let (ranges, data) = read.into_iter().unzip();
        let decoder = &mut self.decoder;
        guarded(&self.parquet.found.path, || decoder.push_ranges(ranges, data))
    }

    fn path(&self) -> &str {
        &self.parquet.found.path
    }

    fn converted(&self, batch: &RecordBatch) -> SqlResult<Decoded> {
        let arrays = guarded(self.path(), || {
            let converted = |(place, ty): &(usize, LogicalType)| {
                convert::converted(batch.column(*place), *ty).map_err(Into::into)
            };
            self.columns.iter().map(converted).collect()
        })?;
        Ok(Decoded { first_row: self.next_row, arrays, row_count: batch.num_rows() })
    }
}

fn selection(rows: &Range<usize>) -> RowSelection {
    RowSelection::from(vec![RowSelector::skip(rows.start), RowSelector::select(rows.len())])
}
