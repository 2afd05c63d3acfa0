//! Rows of parts by their row ids, for what an index has found: of each vector that has some of them, the
//! pages are read that these rows need (`few.rs`). What a window of vectors needs is asked for at once, in
//! two steps where heads of long texts say where the rows are; of objects a window is of many chunks.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};

use arrow_array::{RecordBatch, RecordBatchOptions, UInt32Array};
use arrow_schema::SchemaRef;
use arrow_select::take::take_record_batch;
use columnar::{Piece, VECTOR_ROWS};
use exec::{Access, Depth, Reservation};
use runtime::IoCounters;
use txn::waiting::{Beside, all};
use types::{SqlError, SqlResult};

use super::chunk::{Bytes, Chunk};
use super::few::{InVector, Known};
use super::morsel::Produced;
use super::remote::fetch::Download;
use super::table::Columns;
use crate::catalog::entry::TableEntry;
use crate::catalog::snapshot::Snapshot;
use crate::fault::{damaged_columns as damaged, internal};
use crate::objects::room::Room;
use crate::objects::stores::Bucket;

/// Vectors whose pages are asked for at once. Their columns are some hundred pages at most.
const WINDOW: usize = 16;

/// Vectors that are downloaded at once, of however many chunks: a round trip takes as long for all of them as
/// for one.
const DOWNLOAD_WINDOW: usize = 128;

/// Vectors of a chunk of which rows are wanted.
struct Wanted {
    chunk: Arc<Chunk>,
    vectors: Vec<InVector>,
}

/// Fetches rows of parts.
pub(crate) struct ChunkFetch {
    stored: Columns,
    /// Ordinals of the columns that are produced; one past the last column is the row id.
    columns: Vec<usize>,
    column_count: usize,
    schema: SchemaRef,
    /// Where chunks are downloaded from, if they are, and the memory for that.
    bucket: Option<(Bucket, Option<Arc<Room>>)>,
    opened: Opened,
}

/// Chunks that were opened, as far as there is memory to keep their headers.
struct Opened {
    memory: Option<Arc<Reservation>>,
    kept: Mutex<Kept>,
}

#[derive(Default)]
struct Kept {
    /// The chunks of each part, by its first row.
    lists: BTreeMap<i64, Arc<[Range<i64>]>>,
    /// By their first row.
    chunks: BTreeMap<i64, Arc<Chunk>>,
    bytes: usize,
}

impl ChunkFetch {
    /// Fetches these columns of rows of the table's parts; `None` for a table that has none. Without
    /// memory chunks are opened anew each time.
    ///
    /// # Errors
    /// As [`Snapshot::bucket`].
    pub(crate) fn new(
        snapshot: &Snapshot,
        entry: &TableEntry,
        columns: &[usize],
        memory: Option<Arc<Reservation>>,
        room: Option<Arc<Room>>,
    ) -> SqlResult<Option<ChunkFetch>> {
        let Some(stored) = &entry.columns else { return Ok(None) };
        Ok(Some(ChunkFetch {
            stored: stored.clone(),
            columns: columns.to_vec(),
            column_count: entry.def.schema.columns.len(),
            schema: entry.layout.schema.project(columns),
            bucket: stored.bucket(snapshot)?.map(|bucket| (bucket, room)),
            opened: Opened { memory, kept: Mutex::default() },
        }))
    }

    /// Whether chunks are objects.
    pub(crate) fn downloads(&self) -> bool {
        self.bucket.is_some()
    }

    /// Whether the row with this id is in a part.
    pub(crate) fn has(&self, row_id: i64) -> bool {
        self.stored.has(row_id)
    }

    /// The rows with these ids, and for each of them the position of its id. A row whose id is there twice
    /// comes twice.
    ///
    /// # Errors
    /// Those of storage and of the store; XX001 for damage.
    pub(crate) async fn rows(
        &self,
        row_ids: &[i64],
        access: Access<'_>,
    ) -> SqlResult<(RecordBatch, Vec<usize>)> {
        let mut order: Vec<usize> = (0..row_ids.len()).collect();
        order.sort_by_key(|position| row_ids[*position]);
        let mut distinct: Vec<i64> = order.iter().map(|position| row_ids[*position]).collect();
        distinct.dedup();
        let rows = self.sorted(&distinct, access).await?;
        if distinct.len() == row_ids.len() {
            return Ok((rows, order));
        }
        let place = |position: &usize| distinct.partition_point(|id| *id < row_ids[*position]);
        let places = UInt32Array::from_iter_values(order.iter().map(|at| place(at) as u32));
        Ok((take_record_batch(&rows, &places).map_err(internal)?, order))
    }

    /// The rows with these ids, which ascend.
    async fn sorted(&self, row_ids: &[i64], access: Access<'_>) -> SqlResult<RecordBatch> {
        let mut made = None;
        let mut left = row_ids;
        while !left.is_empty() {
            let wanted = self.next_wanted(&mut left, access).await?;
            let made = match &mut made {
                Some(made) => made,
                None => made.insert(self.room(&wanted[0].chunk, row_ids.len())?),
            };
            self.take(&wanted, access, made).await?;
        }
        let Some(made) = made else { return Ok(RecordBatch::new_empty(self.schema.clone())) };
        let columns = made.into_iter().map(Produced::finish).collect::<SqlResult<Vec<_>>>()?;
        let options = RecordBatchOptions::new().with_row_count(Some(row_ids.len()));
        RecordBatch::try_new_with_options(self.schema.clone(), columns, &options).map_err(internal)
    }

    /// What is wanted next, at least of one chunk: all of one that is here, of objects as much as is downloaded
    /// at once.
    async fn next_wanted(&self, left: &mut &[i64], access: Access<'_>) -> SqlResult<Vec<Wanted>> {
        let is_download = self.bucket.is_some();
        let chunks_max = if is_download && access.depth == Depth::Many { usize::MAX } else { 1 };
        let mut room = if is_download { DOWNLOAD_WINDOW } else { usize::MAX };
        let mut wanted: Vec<Wanted> = vec![];
        while let Some(first) = left.first()
            && wanted.len() < chunks_max
            && room > 0
        {
            let chunk = self.opened.chunk(&self.stored, *first, self.column_count, access.io);
            let chunk = chunk.await?;
            let end = chunk.first_row + chunk.header.row_count() as i64;
            let mut vectors = by_vector(&chunk, &left[..left.partition_point(|id| *id < end)]);
            vectors.truncate(room);
            room -= vectors.len();
            *left = &left[vectors.iter().map(|rows| rows.positions.len()).sum()..];
            wanted.push(Wanted { chunk, vectors });
        }
        Ok(wanted)
    }

    fn room(&self, chunk: &Chunk, rows: usize) -> SqlResult<Vec<Produced>> {
        self.columns.iter().map(|column| Produced::new(chunk, *column, rows, false)).collect()
    }

    /// Ordinals of the produced columns that chunks have.
    fn stored_columns(&self) -> impl Iterator<Item = usize> {
        self.columns.iter().copied().filter(|column| *column < self.column_count)
    }

    /// Adds rows of chunks. Those that are objects are downloaded at once, as far as there is memory.
    async fn take(
        &self,
        wanted: &[Wanted],
        access: Access<'_>,
        made: &mut [Produced],
    ) -> SqlResult<()> {
        let mut left = wanted;
        while !left.is_empty() {
            let downloads = self.reserved(left).await?;
            let (now, later) = left.split_at(downloads.len());
            let downloads = self.downloaded(downloads, now, access).await?;
            for (wanted, download) in now.iter().zip(&downloads) {
                self.take_chunk(wanted, download.as_ref(), access, made).await?;
            }
            left = later;
        }
        Ok(())
    }

    async fn take_chunk(
        &self,
        Wanted { chunk, vectors }: &Wanted,
        download: Option<&Download<'_>>,
        access: Access<'_>,
        made: &mut [Produced],
    ) -> SqlResult<()> {
        for vectors in vectors.chunks(WINDOW) {
            let known = self.known(chunk, vectors, access).await?;
            for (rows, known) in vectors.iter().zip(known) {
                self.take_vector(chunk, rows, known, download, access.io, made).await?;
            }
        }
        Ok(())
    }

    /// For each column of some vectors what the heads of long texts say. What rows need is asked for at once, if so
    /// much may be in flight: heads first, which say where the rest is.
    async fn known(
        &self,
        chunk: &Chunk,
        vectors: &[InVector],
        access: Access<'_>,
    ) -> SqlResult<Vec<Vec<Option<Known>>>> {
        let is_ahead = access.depth == Depth::Many;
        for rows in vectors.iter().filter(|_| is_ahead) {
            self.stored_columns().for_each(|column| chunk.prefetch_first(column, rows, access.io));
        }
        let mut all = Vec::with_capacity(vectors.len());
        for rows in vectors {
            let mut of_columns = Vec::with_capacity(self.columns.len());
            for column in self.stored_columns() {
                let known = chunk.known(column, rows, access.io).await?;
                let ahead = known.iter().filter(|_| is_ahead);
                ahead.for_each(|known| chunk.prefetch_rest(known, access.io));
                of_columns.push(known);
            }
            all.push(of_columns);
            if runtime::need_preempt() {
                runtime::yield_now().await;
            }
        }
        Ok(all)
    }

    async fn take_vector(
        &self,
        chunk: &Chunk,
        rows: &InVector,
        known: Vec<Option<Known>>,
        download: Option<&Download<'_>>,
        io: &IoCounters,
        made: &mut [Produced],
    ) -> SqlResult<()> {
        let InVector { vector, positions } = rows;
        let mut known = known.into_iter();
        for (column, made) in self.columns.iter().zip(made) {
            match made {
                Produced::Stored(gather) => {
                    let known = known.next().flatten();
                    let bytes = chunk.read_rows(*column, rows, known, download, io).await?;
                    let pieces: Vec<Piece<'_>> = bytes.iter().flat_map(Bytes::pieces).collect();
                    chunk.gather(*column, *vector, positions, &pieces, gather)?;
                }
                Produced::RowIds(ids) => {
                    let first = chunk.row_of(*vector);
                    ids.extend(positions.iter().map(|row| first + i64::from(*row)));
                }
            }
        }
        if runtime::need_preempt() {
            runtime::yield_now().await;
        }
        Ok(())
    }

    /// Downloads of the first of these chunks, with memory for them: the first one waits for that, so the others
    /// must not, while it is held. Nothing for chunks that are here.
    async fn reserved<'a>(&'a self, wanted: &'a [Wanted]) -> SqlResult<Vec<Option<Download<'a>>>> {
        let (bucket, room) = match &self.bucket {
            Some((bucket, room)) => (Some(bucket), room.as_ref()),
            None => (None, None),
        };
        let mut downloads = vec![];
        for wanted in wanted {
            let mut download = wanted.chunk.download(bucket)?;
            if let (Some(download), Some(room)) = (&mut download, room) {
                let places = self.places(wanted);
                if downloads.is_empty() {
                    let Ok(()) = download.reserve(room, &places, || None::<Infallible>).await;
                } else if !download.try_reserve(room, &places) {
                    break;
                }
            }
            downloads.push(download);
        }
        Ok(downloads)
    }

    /// The same with what is wanted.
    async fn downloaded<'a>(
        &self,
        downloads: Vec<Option<Download<'a>>>,
        wanted: &[Wanted],
        access: Access<'_>,
    ) -> SqlResult<Vec<Option<Download<'a>>>> {
        let get = |(download, wanted)| -> Beside<'_, Option<Download<'a>>> {
            Box::pin(async move {
                let Some(mut download): Option<Download<'a>> = download else { return Ok(None) };
                download.get(self.places(wanted), Some(access)).await?;
                download.finish();
                Ok(Some(download))
            })
        };
        let downloads = all(downloads.into_iter().zip(wanted).map(get).collect()).await?;
        let room = self.bucket.iter().filter_map(|(_, room)| room.as_ref());
        room.for_each(|room| room.tell(access.skips));
        Ok(downloads)
    }

    /// Where what is wanted of a chunk lies in its body.
    fn places(&self, Wanted { chunk, vectors }: &Wanted) -> Vec<Range<usize>> {
        let place = |rows: &InVector, column| chunk.place(column, &(rows.vector..rows.vector + 1));
        let of_vector =
            |rows| self.stored_columns().map(move |column| place(rows, column)).collect::<Vec<_>>();
        vectors.iter().flat_map(of_vector).collect()
    }
}

/// Rows of a chunk, whose ids ascend, by the vectors that they are in.
fn by_vector(chunk: &Chunk, row_ids: &[i64]) -> Vec<InVector> {
    let place = |id: &i64| (id - chunk.first_row) as usize;
    let same = |a: &i64, b: &i64| place(a) / VECTOR_ROWS == place(b) / VECTOR_ROWS;
    let in_vector = |ids: &[i64]| InVector {
        vector: place(&ids[0]) / VECTOR_ROWS,
        positions: ids.iter().map(|id| (place(id) % VECTOR_ROWS) as u16).collect(),
    };
    row_ids.chunk_by(same).map(in_vector).collect()
}

impl Opened {
    /// The chunk that has this row.
    async fn chunk(
        &self,
        columns: &Columns,
        row_id: i64,
        column_count: usize,
        io: &IoCounters,
    ) -> SqlResult<Arc<Chunk>> {
        if let Some(chunk) = self.kept(row_id) {
            return Ok(chunk);
        }
        let behind = columns.parts.partition_point(|part| part.first_row <= row_id);
        let no_part = || SqlError::internal("a row that is fetched from chunks is in none");
        let part = columns.parts[..behind].last().ok_or_else(no_part)?;
        let known = self.lock().lists.get(&part.first_row).cloned();
        let list = match known {
            Some(list) => list,
            None => {
                let list: Arc<[Range<i64>]> = part.chunks(io).await?.into();
                self.lock().lists.insert(part.first_row, list.clone());
                list
            }
        };
        let at = list.partition_point(|rows| rows.end <= row_id);
        let rows = list.get(at).filter(|rows| rows.contains(&row_id)).cloned();
        let rows = rows.ok_or_else(|| damaged("an index entry points behind all chunks"))?;
        let chunk = Arc::new(Chunk::open(&part.tree, rows, column_count, io).await?);
        self.keep(&chunk);
        Ok(chunk)
    }

    fn kept(&self, row_id: i64) -> Option<Arc<Chunk>> {
        let kept = self.lock();
        let (first, chunk) = kept.chunks.range(..=row_id).next_back()?;
        let has = row_id - first < chunk.header.row_count() as i64;
        has.then(|| chunk.clone())
    }

    /// Keeps an open chunk. Where there is no memory for it, those that were kept go.
    fn keep(&self, chunk: &Arc<Chunk>) {
        let Some(memory) = &self.memory else { return };
        let (mut kept, bytes) = (self.lock(), chunk.header_bytes());
        if !memory.try_grow(bytes) {
            memory.shrink(std::mem::take(&mut kept.bytes));
            kept.chunks.clear();
            if !memory.try_grow(bytes) {
                return;
            }
        }
        match kept.chunks.insert(chunk.first_row, chunk.clone()) {
            Some(_) => memory.shrink(bytes),
            None => kept.bytes += bytes,
        }
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Kept> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
