//! A chunk in its part: the header in memory, the body where it lies until some of it is wanted.

use std::ops::Range;
use std::sync::Arc;

use arrow_array::ArrayRef;
use columnar::{ChunkHeader, Gather, Mask, Piece, VECTOR_ROWS, Vector, VectorHeader};
use runtime::IoCounters;
use storage::{LongValue, Tree};
use types::{SqlError, SqlResult};

use super::part::{Kind, key};
use super::remote::fetch::{Download, Piece as Downloaded};
use super::remote::name::ChunkName;
use crate::fault;
use crate::fault::{block as block_error, damaged_columns as damaged};
use crate::objects::stores::Bucket;

/// An open chunk.
pub(crate) struct Chunk {
    pub(crate) header: ChunkHeader,
    pub(crate) body: Body,
    pub(crate) first_row: i64,
}

/// Where a body is.
pub(crate) enum Body {
    /// In the part.
    Here(LongValue),
    /// An object.
    There(ChunkName),
}

/// Bytes of a body that were read.
#[derive(Default)]
pub(crate) struct Bytes {
    place: Range<usize>,
    held: Held,
}

enum Held {
    Read(Vec<u8>),
    Downloaded(Arc<Downloaded>),
}

impl Default for Held {
    fn default() -> Held {
        Held::Read(vec![])
    }
}

impl Bytes {
    pub(crate) fn pieces(&self) -> [Piece<'_>; 1] {
        let bytes = match &self.held {
            Held::Read(bytes) => bytes,
            Held::Downloaded(piece) => piece.slice(&self.place),
        };
        [Piece { offset: self.place.start as u64, bytes }]
    }

    /// Where they end in the body.
    pub(crate) fn end(&self) -> usize {
        self.place.end
    }
}

impl Body {
    async fn open(tree: &Tree, first_row: i64, io: &IoCounters) -> SqlResult<Body> {
        let here = tree.long_value(&key(first_row, Kind::Body), io).await;
        if let Some(body) = here.map_err(fault::storage)? {
            return Ok(Body::Here(body));
        }
        let name = tree.get(&key(first_row, Kind::Object), io, ChunkName::of).await;
        let name = name.map_err(fault::storage)?.flatten();
        name.map(Body::There).ok_or_else(|| damaged("a chunk has no body"))
    }
}

impl Chunk {
    /// Reads the header, and finds the body.
    ///
    /// # Errors
    /// XX001 when they are not there, or are not what a table of so many columns has.
    pub(crate) async fn open(
        tree: &Tree,
        rows: Range<i64>,
        column_count: usize,
        io: &IoCounters,
    ) -> SqlResult<Chunk> {
        let first_row = rows.start;
        let header = tree.get(&key(first_row, Kind::Header), io, ChunkHeader::parse).await;
        let header = header.map_err(fault::storage)?;
        let header =
            header.ok_or_else(|| damaged("a chunk has no header"))?.map_err(block_error)?;
        let body = Body::open(tree, first_row, io).await?;
        let has_length = match &body {
            Body::Here(value) => header.body_len() == value.len(),
            Body::There(_) => true,
        };
        let is_whole = has_length
            && header.columns().len() == column_count
            && i64::try_from(header.row_count()).is_ok_and(|count| count == rows.end - rows.start);
        match is_whole {
            true => Ok(Chunk { header, body, first_row }),
            false => Err(damaged("a chunk is not what its header says")),
        }
    }

    /// Starts to read what some vectors of a column need, without waiting.
    pub(crate) fn prefetch(&self, column: usize, vectors: &Range<usize>, io: &IoCounters) {
        self.prefetch_place(self.place(column, vectors), io);
    }

    /// The same for some bytes of the body; nothing where that is an object.
    pub(crate) fn prefetch_place(&self, place: Range<usize>, io: &IoCounters) {
        if let Body::Here(body) = &self.body {
            body.prefetch(place, io);
        }
    }

    /// Reads some bytes of a body that is in the part.
    ///
    /// # Errors
    /// Those of storage; XX000 for a body that is an object.
    pub(crate) async fn read_place(
        &self,
        place: Range<usize>,
        io: &IoCounters,
    ) -> SqlResult<Bytes> {
        let Body::Here(body) = &self.body else {
            return Err(SqlError::internal("a chunk was not downloaded"));
        };
        let read = body.read(place.clone(), io).await.map_err(fault::storage)?;
        Ok(Bytes { place, held: Held::Read(read) })
    }

    /// Reads what some vectors of a column need, or takes it from what was downloaded.
    pub(crate) async fn read(
        &self,
        column: usize,
        vectors: &Range<usize>,
        download: Option<&Download<'_>>,
        io: &IoCounters,
    ) -> SqlResult<Bytes> {
        let place = self.place(column, vectors);
        let held = match &self.body {
            Body::Here(_) => return self.read_place(place, io).await,
            Body::There(_) if place.is_empty() => Held::default(),
            Body::There(_) => {
                let piece = download.and_then(|download| download.piece(&place));
                let missing = || SqlError::internal("a chunk was not downloaded");
                Held::Downloaded(piece.ok_or_else(missing)?.clone())
            }
        };
        Ok(Bytes { place, held })
    }

    /// What is to be downloaded of the body, if it is an object.
    ///
    /// # Errors
    /// XX001 for an object of a table that has no location.
    pub(crate) fn download<'a>(
        &'a self,
        bucket: Option<&'a Bucket>,
    ) -> SqlResult<Option<Download<'a>>> {
        let Body::There(name) = &self.body else { return Ok(None) };
        let bucket = bucket.ok_or_else(|| damaged("a chunk is an object of no location"))?;
        Ok(Some(Download::new(bucket, *name, &self.header)))
    }

    /// Compares the body with its checksums, and decodes all of it.
    ///
    /// # Errors
    /// XX001 for damage.
    pub(crate) async fn verify(&self, bucket: Option<&Bucket>, io: &IoCounters) -> SqlResult<()> {
        for (ordinal, column) in self.header.columns().iter().enumerate() {
            let mut download = self.download(bucket)?;
            if let Some(download) = &mut download {
                let all = 0..column.vectors().len();
                download.get(vec![self.place(ordinal, &all)], None).await?;
            }
            for segment in column.segments() {
                let bytes = match &self.body {
                    // What is downloaded is compared with its checksums.
                    Body::There(_) => {
                        self.read(ordinal, &segment.vectors, download.as_ref(), io).await?
                    }
                    Body::Here(_) => {
                        let place = segment.bytes.start as usize..segment.bytes.end as usize;
                        let read = self.read_place(place, io).await?;
                        let [piece] = read.pieces();
                        self.header.verify(piece.offset, piece.bytes).map_err(block_error)?;
                        read
                    }
                };
                for vector in segment.vectors.clone() {
                    let all = Mask::first(self.header.rows_of(vector));
                    self.take(ordinal, vector, &all, &bytes)?;
                    if runtime::need_preempt() {
                        runtime::yield_now().await;
                    }
                }
            }
        }
        Ok(())
    }

    /// Where some vectors of a column lie in the body: they adjoin but for padding.
    pub(crate) fn place(&self, column: usize, vectors: &Range<usize>) -> Range<usize> {
        let vectors = &self.header.columns()[column].vectors()[vectors.clone()];
        let with_bytes = || vectors.iter().map(|v| &v.bytes).filter(|bytes| !bytes.is_empty());
        let start = with_bytes().map(|bytes| bytes.start).min().unwrap_or(0);
        let end = with_bytes().map(|bytes| bytes.end).max().unwrap_or(0);
        start as usize..end as usize
    }

    /// A vector of which these bytes were read.
    pub(crate) fn vector<'a>(
        &'a self,
        column: usize,
        vector: usize,
        pieces: &'a [Piece<'a>],
    ) -> SqlResult<Vector<'a>> {
        Vector::new(&self.header, column, vector, pieces).map_err(block_error)
    }

    /// The selected rows of a vector.
    pub(crate) fn take(
        &self,
        column: usize,
        vector: usize,
        selected: &Mask,
        bytes: &Bytes,
    ) -> SqlResult<ArrayRef> {
        let pieces = bytes.pieces();
        let values = self.vector(column, vector, &pieces)?;
        let taken = match selected.count() == values.rows() {
            true => values.decode(),
            false => values.take(&selected.positions()),
        };
        taken.map_err(block_error)
    }

    /// Adds the rows of a vector at some positions to those of others.
    pub(crate) fn gather(
        &self,
        column: usize,
        vector: usize,
        positions: &[u16],
        pieces: &[Piece<'_>],
        to: &mut Gather,
    ) -> SqlResult<()> {
        let values = self.vector(column, vector, pieces)?;
        let positions = Some(positions).filter(|some| some.len() < values.rows());
        to.add(&values, positions).map_err(block_error)
    }

    /// Bytes that the header takes in memory, about.
    pub(crate) fn header_bytes(&self) -> usize {
        let vectors = self.header.columns().len() * self.header.vector_count();
        size_of::<Chunk>() + vectors * size_of::<VectorHeader>()
    }

    /// The id of the first row of a vector.
    pub(crate) fn row_of(&self, vector: usize) -> i64 {
        self.first_row + (vector * VECTOR_ROWS) as i64
    }
}
