//! Rows that are put away before anything reads them, in memory or, where they do not fit, in the
//! temporary file, and are read as often as they are asked for.

use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use types::{SqlError, SqlResult};

use crate::batch;
use crate::footprint::batch_bytes;
use crate::locals::Locals;
use crate::sink::Sink;
use crate::source::{Access, LocalFuture, Part, Source, Step};
use crate::spill::Block;
use crate::workspace::{Turns, Workspace};

/// Rows that were put away: those on disk before those in memory, worker by worker.
pub(crate) struct PutAway {
    lots: Vec<Lot>,
    space: Workspace,
}

/// What one worker gathered. Where the order of the rows is to be kept, one worker gathers all.
#[derive(Default)]
struct Lot {
    blocks: Vec<Block>,
    batches: Vec<RecordBatch>,
    /// Bytes of `batches` as they are counted in the reservation.
    bytes: usize,
}

/// Gathers the rows of a query.
pub(crate) struct Gather {
    space: Workspace,
    lots: Locals<Lot>,
    turns: Turns,
}

impl Gather {
    pub(crate) fn new(space: Workspace) -> Gather {
        let (lots, turns) = (Locals::new(space.worker_count), Turns::new(space.worker_count));
        Gather { space, lots, turns }
    }

    pub(crate) fn finish(&self) -> PutAway {
        PutAway { lots: self.lots.take(), space: self.space.clone() }
    }
}

impl Sink for Gather {
    fn push(&self, worker: usize, rows: RecordBatch) -> SqlResult<Option<RecordBatch>> {
        let mut lot = self.lots.of(worker);
        let rows = batch::compact(rows);
        let bytes = batch_bytes(&rows);
        if !self.space.memory.try_grow(bytes) {
            if !lot.batches.is_empty() {
                return self.space.refuse(rows, bytes);
            }
            self.space.grow_least(bytes)?;
        }
        lot.bytes += bytes;
        lot.batches.push(rows);
        Ok(None)
    }

    fn relieve<'a>(&'a self, worker: usize) -> LocalFuture<'a, SqlResult<()>> {
        Box::pin(async move {
            let Some(_turn) = self.turns.take(worker).await else { return Ok(()) };
            let (batches, bytes) = {
                let mut lot = self.lots.of(worker);
                (std::mem::take(&mut lot.batches), std::mem::take(&mut lot.bytes))
            };
            let rows = batches.into_iter().map(Ok);
            let blocks = self.space.spill.write_all(rows, self.space.figures()).await?;
            self.lots.of(worker).blocks.extend(blocks);
            self.space.memory.shrink(bytes);
            Ok(())
        })
    }
}

/// One scan of the rows.
pub(crate) struct Reader {
    pub(crate) rows: Arc<PutAway>,
    pub(crate) columns: Vec<usize>,
    pub(crate) schema: SchemaRef,
}

/// A batch, where it lies.
enum Place {
    Disk(Block),
    Memory(RecordBatch),
}

impl Source for Reader {
    fn roots(&self) -> Vec<Part> {
        let places = self.rows.lots.iter().flat_map(|lot| {
            let disk = lot.blocks.iter().map(|block| Place::Disk(*block));
            disk.chain(lot.batches.iter().cloned().map(Place::Memory))
        });
        places.map(|place| Part(Box::new(place))).collect()
    }

    fn step<'a>(&'a self, part: Part, _access: Access<'a>) -> LocalFuture<'a, SqlResult<Step>> {
        Box::pin(async move {
            let place = part.0.downcast::<Place>();
            let rows = match *place.map_err(|_| SqlError::internal("a part of another source"))? {
                Place::Memory(rows) => rows,
                Place::Disk(block) => {
                    let space = &self.rows.space;
                    space.spill.read(block, space.figures()).await?
                }
            };
            let rows = batch::project(&rows, &self.columns, &self.schema)?;
            Ok(Step { rows: Some(rows), parts: vec![] })
        })
    }
}
