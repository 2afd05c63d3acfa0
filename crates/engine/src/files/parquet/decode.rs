//! A row group as batches: its bytes are read when the decoder asks for them.

use std::ops::Range;
use std::sync::Arc;

use arrow_array::{ArrayRef, RecordBatch};
use parquet::DecodeResult;
use parquet::arrow::ProjectionMask;
use parquet::arrow::push_decoder::{ParquetPushDecoder, ParquetPushDecoderBuilder};
use runtime::IoCounters;
use types::{LogicalType, SqlResult};

use super::super::{convert, damaged};
use super::footer::{ParquetFile, guarded};
use crate::copy::{RandomFile, read_error};

/// Rows that are decoded at once: the work of a millisecond or so.
const BATCH_ROWS: usize = 8192;

/// A row group that is being decoded.
pub(in crate::files) struct Decoding {
    path: String,
    file: RandomFile,
    decoder: ParquetPushDecoder,
    /// For each column that is wanted, where it stands in what the decoder gives, and its type.
    columns: Vec<(usize, LogicalType)>,
}

/// Rows as they are decoded.
pub(in crate::files) struct Decoded {
    pub(in crate::files) arrays: Vec<ArrayRef>,
    pub(in crate::files) row_count: usize,
}

impl Decoding {
    /// Begins with a row group: columns by their numbers in the first file, with their types.
    ///
    /// # Errors
    /// 22P04, and those of opening the file.
    pub(in crate::files) async fn begin(
        parquet: &Arc<ParquetFile>,
        group: usize,
        columns: &[(usize, LogicalType)],
    ) -> SqlResult<Decoding> {
        let file = RandomFile::open(&parquet.path).await?;
        if file.length() != parquet.length {
            return Err(damaged("Parquet", &parquet.path, "It has changed since it was opened."));
        }
        let mut roots: Vec<usize> = columns.iter().map(|(c, _)| parquet.places[*c]).collect();
        let wanted = roots.clone();
        roots.sort_unstable();
        roots.dedup();
        let mask = ProjectionMask::roots(parquet.schema(), roots.iter().copied());
        let decoder = guarded(&parquet.path, || {
            ParquetPushDecoderBuilder::new_with_metadata(parquet.metadata.clone())
                .with_batch_size(BATCH_ROWS)
                .with_row_groups(vec![group])
                .with_projection(mask)
                .build()
        })?;
        let place = |root: &usize| roots.binary_search(root).expect("all roots are in the list");
        let types = columns.iter().map(|(_, ty)| *ty);
        let columns = wanted.iter().map(place).zip(types).collect();
        Ok(Decoding { path: parquet.path.clone(), file, decoder, columns })
    }

    /// The next rows; `None` at the end.
    ///
    /// # Errors
    /// 22P04, and those of reading.
    pub(in crate::files) async fn next(&mut self, io: &IoCounters) -> SqlResult<Option<Decoded>> {
        loop {
            match guarded(&self.path, || self.decoder.try_decode())? {
                DecodeResult::Finished => return Ok(None),
                DecodeResult::Data(batch) => return self.converted(&batch).map(Some),
                DecodeResult::NeedsData(ranges) => self.supply(ranges, io).await?,
            }
        }
    }

    async fn supply(&mut self, ranges: Vec<Range<u64>>, io: &IoCounters) -> SqlResult<()> {
        let mut data = Vec::with_capacity(ranges.len());
        for range in &ranges {
            let read = self.file.read(range.clone()).await;
            data.push(read.map_err(|error| read_error(&self.path, &error))?);
            io.add_read(range.end - range.start);
        }
        guarded(&self.path, || self.decoder.push_ranges(ranges, data))
    }

    fn converted(&self, batch: &RecordBatch) -> SqlResult<Decoded> {
        let arrays = guarded(&self.path, || {
            let converted = |(place, ty): &(usize, LogicalType)| {
                convert::converted(batch.column(*place), *ty).map_err(Into::into)
            };
            self.columns.iter().map(converted).collect()
        })?;
        Ok(Decoded { arrays, row_count: batch.num_rows() })
    }
}
