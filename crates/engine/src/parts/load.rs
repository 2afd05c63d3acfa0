//! Rows on their way into a new part: collected to chunks, encoded by tasks on all workers, and written
//! in their order.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, RecordBatch};
use arrow_schema::DataType;
use columnar::{Chunk, ChunkEncoder, ChunkHeader, VECTOR_ROWS};
use runtime::RemoteHandle;
use runtime::sync::Cancel;
use storage::Store;
use txn::waiting::{give_way, unless_cancelled};
use types::{LogicalType, SqlError, SqlResult};

use crate::catalog::trees::drop_trees;
use crate::columns::part::{COUNTS, Kind, key};
use crate::columns::remote::put::Uploads;
use crate::columns::stored::StoredPart;
use crate::database::{Database, Job};
use crate::fault;
use crate::fault::{block as block_error, internal};
use crate::objects::stores::Bucket;
use crate::pipe::{PipeReceiver, PipeSender, pipe};

/// Bytes of a body that a load aims at: some segments of each column of a wide table, and some chunks
/// for each worker of a table of 100 MB.
pub(crate) const BODY_BYTES: usize = 4 << 20;

/// Rows of a chunk at most.
pub(crate) const CHUNK_ROWS_MAX: usize = 1 << 18;

/// Rows of the first chunk, while nobody knows how many bytes they take.
pub(crate) const FIRST_CHUNK_ROWS: usize = 1 << 16;

/// Bytes of the rows of a chunk at most, as they are in memory: its body is one value of the store, and
/// encoded they may take a little more.
pub(crate) const CHUNK_BYTES_MAX: usize = storage::VALUE_LEN_MAX / 2;

/// Arrays are stored as text, which takes so many times what they take in memory at most, and some bytes
/// for each element.
pub(crate) const TEXT_FACTOR: usize = 3;

pub(crate) const TEXT_BYTES: usize = 4;

/// Memory of rows that are collected or encoded, at least: a chunk of few rows costs more than it
/// saves.
pub(crate) const WAITING_BYTES_MIN: usize = 1 << 20;

/// Chunks that wait to be written: the next one while one is written.
pub(crate) const CHUNKS_WAITING: usize = 1;

/// Where a load writes, who watches it, and what it may hold.
pub(crate) struct Loading {
    pub(crate) store: Store,
    /// Counts the rows that are written.
    pub(crate) job: Arc<Job>,
    /// Memory of rows that are collected or encoded.
    pub(crate) memory_bytes: usize,
}

impl Loading {
    /// A load of a statement: those who watch the database see it.
    pub(crate) fn of(db: &Database) -> Loading {
        let (store, job) = (db.store().clone(), db.start_job("writing", 0));
        Loading { store, job, memory_bytes: db.shares().sort() }
    }
}

/// A load of a column table.
pub(crate) struct ColumnLoad {
    types: Vec<LogicalType>,
    cancel: Cancel,
    waiting: Vec<RecordBatch>,
    waiting_rows: usize,
    waiting_bytes: usize,
    /// Rows that the next chunk takes, as far as those before tell.
    rows_wanted: usize,
    bytes_max: usize,
    encoding: VecDeque<Encoding>,
    /// The worker that encodes the next one: each in turn.
    encoder: usize,
    chunks: PipeSender<Chunk>,
    writer: RemoteHandle<SqlResult<Option<StoredPart>>>,
}

/// A chunk that is being encoded.
pub(crate) struct Encoding {
    rows: usize,
    chunk: RemoteHandle<SqlResult<Chunk>>,
}

impl ColumnLoad {
    /// Begins a part of columns of these types whose first row has this id; call it in a task.
    pub(crate) fn begin(
        loading: Loading,
        types: Vec<LogicalType>,
        first_row: i64,
        bucket: Option<Bucket>,
        cancel: Cancel,
    ) -> ColumnLoad {
        let (chunks, written) = pipe(CHUNKS_WAITING);
        let writing = Writing {
            store: loading.store,
            job: loading.job,
            cancel: cancel.clone(),
            first_row,
            bucket,
            column_count: types.len(),
        };
        let writer = runtime::spawn_on(runtime::worker(), move || writing.run(written));
        // One chunk is collected, so many are encoded, each there twice for a moment.
        let share = loading.memory_bytes / (2 * runtime::worker_count() + 1);
        let bytes_max = share.clamp(WAITING_BYTES_MIN, CHUNK_BYTES_MAX);
        ColumnLoad {
            types,
            cancel,
            waiting: vec![],
            waiting_rows: 0,
            waiting_bytes: 0,
            rows_wanted: FIRST_CHUNK_ROWS,
            bytes_max,
            encoding: VecDeque::new(),
            encoder: 0,
            chunks,
            writer,
        }
    }

    /// Adds rows: all columns of the table in order.
    ///
    /// # Errors
    /// What is wrong with these or earlier ones.
    pub(crate) async fn push(&mut self, batch: &RecordBatch) -> SqlResult<()> {
        let mut at = 0;
        while at < batch.num_rows() {
            let most = (self.rows_wanted - self.waiting_rows).min(batch.num_rows() - at);
            let (rows, bytes) = fitting(batch.slice(at, most), self.bytes_max - self.waiting_bytes);
            // A row that is too wide for what is left waits for the next chunk.
            if self.waiting_bytes + bytes > self.bytes_max && self.waiting_rows > 0 {
                self.encode_waiting().await?;
                continue;
            }
            self.waiting_bytes += bytes;
            (self.waiting_rows, at) = (self.waiting_rows + rows.num_rows(), at + rows.num_rows());
            self.waiting.push(rows);
            if self.waiting_rows >= self.rows_wanted || self.waiting_bytes >= self.bytes_max {
                self.encode_waiting().await?;
            }
            give_way(&self.cancel).await?;
        }
        Ok(())
    }

    /// Begins to encode the rows that wait.
    async fn encode_waiting(&mut self) -> SqlResult<()> {
        while self.encoding.len() >= runtime::worker_count() {
            self.write_first().await?;
        }
        let (batches, types) = (std::mem::take(&mut self.waiting), self.types.clone());
        let rows = std::mem::take(&mut self.waiting_rows);
        self.waiting_bytes = 0;
        let cancel = self.cancel.clone();
        let work = move || async move { encoded(&types, &batches, &cancel).await };
        self.encoder = (self.encoder + 1) % runtime::worker_count();
        let chunk = runtime::spawn_on(self.encoder, work);
        self.encoding.push_back(Encoding { rows, chunk });
        Ok(())
    }

    /// Hands the chunk that was begun first to the writer.
    async fn write_first(&mut self) -> SqlResult<()> {
        let Some(Encoding { rows, chunk }) = self.encoding.pop_front() else { return Ok(()) };
        let chunk = unless_cancelled(&self.cancel, chunk).await?;
        let aborted = |_| SqlError::internal("the encoding of a chunk was aborted");
        let chunk = chunk.map_err(aborted)??;
        let fitting = BODY_BYTES as u128 * rows as u128 / chunk.body.len().max(1) as u128;
        let fitting = usize::try_from(fitting).unwrap_or(CHUNK_ROWS_MAX);
        // At least what waits already: whole vectors, except in the last chunk of a part.
        let fitting = fitting.max(self.waiting_rows + 1).min(CHUNK_ROWS_MAX);
        self.rows_wanted = fitting.next_multiple_of(VECTOR_ROWS);
        // Who does not take it says why at the end.
        self.chunks.send(chunk).await.ok();
        Ok(())
    }

    /// Writes what is left; the part, unless there are no rows.
    ///
    /// # Errors
    /// What was wrong with rows, and those of storage; there is no part then.
    pub(crate) async fn finish(mut self) -> SqlResult<Option<StoredPart>> {
        if self.waiting_rows > 0 {
            self.encode_waiting().await?;
        }
        while !self.encoding.is_empty() {
            self.write_first().await?;
        }
        self.chunks.finish();
        let aborted = |_| Err(SqlError::internal("the writing of chunks was aborted"));
        self.writer.await.unwrap_or_else(aborted)
    }
}

/// As many of the first rows as take at most `room` bytes, about, and one at least; and what they take.
pub(crate) fn fitting(mut rows: RecordBatch, room: usize) -> (RecordBatch, usize) {
    let mut bytes = bytes_of(&rows);
    while bytes > room && rows.num_rows() > 1 {
        rows = rows.slice(0, rows.num_rows() / 2);
        bytes = bytes_of(&rows);
    }
    (rows, bytes)
}

/// What rows take, about, in memory or as the text that they are stored as: slices share their buffers.
pub(crate) fn bytes_of(rows: &RecordBatch) -> usize {
    rows.columns().iter().map(column_bytes).sum()
}

pub(crate) fn column_bytes(column: &ArrayRef) -> usize {
    let of_view = |view: &u128| 16 + *view as u32 as usize;
    let of_views = |views: &[u128]| views.iter().map(of_view).sum::<usize>();
    match column.data_type() {
        DataType::Utf8View => of_views(column.as_string_view().views()),
        DataType::BinaryView => of_views(column.as_binary_view().views()),
        DataType::List(_) => {
            let lists = column.as_list::<i32>();
            let (first, last) = (lists.offsets()[0], lists.offsets()[lists.len()]);
            let values = lists.values().slice(first as usize, (last - first) as usize);
            TEXT_FACTOR * column_bytes(&values) + TEXT_BYTES * values.len() + 16 * lists.len()
        }
        DataType::Boolean => column.len(),
        other => other.primitive_width().unwrap_or(16) * column.len(),
    }
}

/// Encodes rows, those of all batches together. The task gives way between vectors.
pub(crate) async fn encoded(
    types: &[LogicalType],
    batches: &[RecordBatch],
    cancel: &Cancel,
) -> SqlResult<Chunk> {
    let rows = batches.iter().map(RecordBatch::num_rows).sum();
    let mut chunk = ChunkEncoder::new(rows).map_err(block_error)?;
    for (ordinal, ty) in types.iter().enumerate() {
        give_way(cancel).await?;
        let arrays: Vec<&dyn Array> = batches.iter().map(|b| b.column(ordinal).as_ref()).collect();
        let whole = arrow_select::concat::concat(&arrays).map_err(internal)?;
        let mut column = chunk.column(*ty, &whole).map_err(block_error)?;
        while column.step().map_err(block_error)? {
            give_way(cancel).await?;
        }
        column.finish();
    }
    chunk.finish().map_err(block_error)
}

/// The task that writes chunks into a tree, their bodies into objects where the table has a location.
pub(crate) struct Writing {
    store: Store,
    job: Arc<Job>,
    cancel: Cancel,
    first_row: i64,
    bucket: Option<Bucket>,
    column_count: usize,
}

impl Writing {
    /// The part, unless no chunk came. On an error there is none.
    async fn run(self, chunks: PipeReceiver<Chunk>) -> SqlResult<Option<StoredPart>> {
        let Some(first) = next(&chunks).await? else { return Ok(None) };
        let tree_id = self.store.create_tree().await.map_err(fault::storage)?;
        let mut part = StoredPart {
            tree: tree_id.0,
            first_row: self.first_row,
            rows: 0,
            column_bytes: vec![0; self.column_count],
        };
        let filled = self.fill(&mut part, first, &chunks).await;
        if let Err(error) = filled {
            chunks.close("a chunk could not be written");
            // The error that led here is the one to report.
            drop_trees(&self.store, &[tree_id]).await.ok();
            return Err(error);
        }
        Ok(Some(part))
    }

    async fn fill(
        &self,
        part: &mut StoredPart,
        first: Chunk,
        chunks: &PipeReceiver<Chunk>,
    ) -> SqlResult<()> {
        let tree = self.store.tree(storage::TreeId(part.tree)).map_err(fault::storage)?;
        let mut loader = tree.bulk_loader().await.map_err(fault::storage)?;
        let (mut counts, mut chunk) = (vec![], Some(first));
        let mut uploads = self.bucket.clone().map(Uploads::new);
        while let Some(Chunk { header, body }) = chunk {
            give_way(&self.cancel).await?;
            let at = part.end();
            let rows = count(part, &header)?;
            counts.extend(rows.to_le_bytes());
            loader.push(&key(at, Kind::Header), &header).await.map_err(fault::storage)?;
            let (kind, value) = match &mut uploads {
                None => (Kind::Body, body),
                Some(uploads) => {
                    let name = unless_cancelled(&self.cancel, uploads.put(body)).await??;
                    (Kind::Object, name.bytes().to_vec())
                }
            };
            loader.push(&key(at, kind), &value).await.map_err(fault::storage)?;
            self.job.done.fetch_add(rows.into(), Relaxed);
            chunk = next(chunks).await?;
        }
        if let Some(uploads) = uploads {
            unless_cancelled(&self.cancel, uploads.finish()).await??;
        }
        loader.push(&COUNTS, &counts).await.map_err(fault::storage)?;
        loader.finish().await.map_err(fault::storage)
    }
}

/// The next chunk; none comes when the load is wanted no longer.
pub(crate) async fn next(chunks: &PipeReceiver<Chunk>) -> SqlResult<Option<Chunk>> {
    chunks.next().await.map_err(|_| SqlError::cancelled())
}

/// Adds a chunk to the counts of its part; the number of its rows.
pub(crate) fn count(part: &mut StoredPart, header: &[u8]) -> SqlResult<u32> {
    let header = ChunkHeader::parse(header).map_err(block_error)?;
    for (total, column) in part.column_bytes.iter_mut().zip(header.columns()) {
        let segments = column.segments().iter();
        *total += segments.map(|segment| segment.bytes.end - segment.bytes.start).sum::<u64>();
    }
    part.rows += header.row_count() as u64;
    u32::try_from(header.row_count()).map_err(|_| block_error(columnar::Error::TooLarge))
}
