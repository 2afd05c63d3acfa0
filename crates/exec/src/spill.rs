//! Rows in a temporary file: what operators write when their memory is used up.
//!
//! A query has one file, made at the first write and without a name from then on, so that nothing
//! is left of it however the query, or the process, ends. Rows stand in it in blocks, each a batch
//! in the vector library's stream format; who wrote a block keeps its place.

pub(crate) mod codec;

use std::collections::VecDeque;
use std::path::PathBuf;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use arrow_array::RecordBatch;
use runtime::IoBuf;
use runtime::fs::{self, File, OpenOptions};
use runtime::sync::Semaphore;
use types::{SqlError, SqlResult, SqlState};

use crate::footprint::batch_bytes;
use crate::in_flight::InFlight;
use crate::notify::locked;
use crate::preempt::breathe;
use crate::progress::NodeFigures;
use crate::source::Depth;

/// Blocks start at multiples of this, so that writes do not share pages of the file.
const ALIGN_BYTES: u64 = 4096;

/// Writes of an operator in flight at once: a device is busy with a few of a hundred kilobytes.
const WRITES_MAX: usize = 4;

/// Reads of an operator in flight at once, where it may have many.
const READS_MAX: usize = 8;

/// The temporary file of a query.
pub(crate) struct Spill {
    path: Option<PathBuf>,
    file: Mutex<Option<File>>,
    opening: Semaphore,
    end: AtomicU64,
}

/// A batch in the file.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Block {
    offset: u64,
    len: usize,
    /// Its rows.
    pub(crate) row_count: usize,
    /// Bytes of its rows in memory.
    pub(crate) bytes: usize,
}

/// Blocks that are being read.
pub(crate) struct Reads<'a> {
    spill: &'a Spill,
    blocks: VecDeque<Block>,
    figures: &'a NodeFigures,
    works: InFlight<'a, RecordBatch>,
}

impl Reads<'_> {
    /// The rows of the next block.
    pub(crate) async fn next(&mut self) -> SqlResult<Option<RecordBatch>> {
        let (spill, figures) = (self.spill, self.figures);
        while self.works.has_room()
            && let Some(block) = self.blocks.pop_front()
        {
            self.works.add(Box::pin(spill.read(block, figures)));
        }
        self.works.next().await
    }
}

impl Spill {
    /// A file at `path` (which must not exist), not made yet. Without a path nothing can be spilled.
    pub(crate) fn new(path: Option<PathBuf>) -> Spill {
        Spill { path, file: Mutex::default(), opening: Semaphore::new(1), end: AtomicU64::new(0) }
    }

    /// Whether there is a place to write to.
    pub(crate) fn is_possible(&self) -> bool {
        self.path.is_some()
    }

    /// Writes a batch of at least one row.
    ///
    /// # Errors
    /// 53100 when the disk is full, 58030 when it fails.
    pub(crate) async fn write(
        &self,
        rows: &RecordBatch,
        figures: &NodeFigures,
    ) -> SqlResult<Block> {
        let file = self.file().await?;
        let bytes = codec::encode(rows)?;
        let len = bytes.len();
        let offset = self.end.fetch_add((len as u64).next_multiple_of(ALIGN_BYTES), Relaxed);
        let buffer = IoBuf::copy_of(&bytes);
        drop(bytes);
        let (result, _) = file.write_all_at(buffer, offset).await;
        result.map_err(failed)?;
        figures.spilled.fetch_add(len as u64, Relaxed);
        Ok(Block { offset, len, row_count: rows.num_rows(), bytes: batch_bytes(rows) })
    }

    /// Writes batches, several at once; the blocks are in their order.
    pub(crate) async fn write_all(
        &self,
        batches: impl Iterator<Item = SqlResult<RecordBatch>>,
        figures: &NodeFigures,
    ) -> SqlResult<Vec<Block>> {
        let (mut writes, mut blocks) = (InFlight::new(WRITES_MAX), Vec::new());
        for batch in batches {
            breathe().await;
            let batch = batch?;
            if batch.num_rows() > 0 {
                let write = Box::pin(async move { self.write(&batch, figures).await });
                if !writes.has_room() {
                    blocks.extend(writes.next().await?);
                }
                writes.add(write);
            }
        }
        while let Some(block) = writes.next().await? {
            blocks.push(block);
        }
        Ok(blocks)
    }

    /// Reads blocks in their order: several at once, where many reads may be in flight.
    pub(crate) fn reads<'a>(
        &'a self,
        blocks: VecDeque<Block>,
        depth: Depth,
        figures: &'a NodeFigures,
    ) -> Reads<'a> {
        let limit = if depth == Depth::One { 1 } else { READS_MAX };
        Reads { spill: self, blocks, figures, works: InFlight::new(limit) }
    }

    /// Reads a block.
    pub(crate) async fn read(&self, block: Block, figures: &NodeFigures) -> SqlResult<RecordBatch> {
        let file = self.file().await?;
        let (result, buffer) = file.read_exact_at(IoBuf::alloc(block.len), block.offset).await;
        result.map_err(failed)?;
        figures.io.reads.fetch_add(1, Relaxed);
        figures.io.read_bytes.fetch_add(block.len as u64, Relaxed);
        codec::decode(buffer.as_slice())
    }

    async fn file(&self) -> SqlResult<File> {
        if let Some(file) = &*locked(&self.file) {
            return Ok(file.clone());
        }
        let _first = self.opening.acquire().await;
        if let Some(file) = &*locked(&self.file) {
            return Ok(file.clone());
        }
        let path = self.path.clone().ok_or_else(|| SqlError::internal("nowhere to spill to"))?;
        // A task of its own: whoever drops the query cannot come between a name and its removal.
        let made = runtime::spawn(nameless(path)).await;
        let file = made.map_err(|_| SqlError::internal("a file was not made"))?.map_err(failed)?;
        *locked(&self.file) = Some(file.clone());
        Ok(file)
    }
}

/// Creates a file and removes its name.
async fn nameless(path: PathBuf) -> std::io::Result<File> {
    let options = OpenOptions { read: true, write: true, create_new: true, ..Default::default() };
    let file = File::open(&path, options).await?;
    fs::remove(&path).await?;
    Ok(file)
}

fn failed(error: std::io::Error) -> SqlError {
    use std::io::ErrorKind::{FileTooLarge, QuotaExceeded, StorageFull};
    let message = format!("a temporary file could not be used: {error}");
    match error.kind() {
        StorageFull | QuotaExceeded | FileTooLarge => SqlError::new(SqlState::DISK_FULL, message)
            .with_hint("Free space where the database lies, or raise work_mem or --memory."),
        _ => SqlError::new(SqlState::IO_ERROR, message),
    }
}
