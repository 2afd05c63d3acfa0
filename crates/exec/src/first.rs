//! The sink of a limit: gathers the first rows, then stops what produces them.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

use arrow_array::RecordBatch;
use types::{SqlError, SqlResult};

use crate::batch;
use crate::footprint::batch_bytes;
use crate::notify::locked;
use crate::run::Run;
use crate::scope::Scope;
use crate::sink::Sink;
use crate::source::{Access, LocalFuture, Part, Source, Step};
use crate::spill::Block;
use crate::workspace::{Turns, Workspace};

/// One state for all workers, since the count is theirs together. Keeps the order of an ordered
/// input (one task pushes then).
pub(crate) struct First {
    run: Arc<Run>,
    scope: Arc<Scope>,
    space: Workspace,
    turns: Turns,
    state: Mutex<Gathered>,
}

struct Gathered {
    skip: usize,
    fetch: usize,
    rows: Rows,
    /// Bytes of `rows.batches` as they are counted in the reservation.
    bytes: usize,
}

/// Rows in order of arrival: those on disk, those on their way there, those in memory.
#[derive(Default)]
struct Rows {
    blocks: VecDeque<Block>,
    /// A limit that is satisfied stops the task that writes these; they are needed then.
    leaving: VecDeque<RecordBatch>,
    batches: VecDeque<RecordBatch>,
}

/// The rows of a limit.
pub(crate) struct Gatherings {
    rows: Mutex<Option<Rows>>,
    space: Workspace,
}

impl First {
    /// Drops `skip` rows, keeps `fetch`, then stops `scope`.
    pub(crate) fn new(
        run: &Arc<Run>,
        scope: &Arc<Scope>,
        space: Workspace,
        skip: usize,
        fetch: usize,
    ) -> First {
        let (rows, bytes) = (Rows::default(), 0);
        let state = Mutex::new(Gathered { skip, fetch, rows, bytes });
        First { run: Arc::clone(run), scope: Arc::clone(scope), space, turns: Turns::new(1), state }
    }

    /// Whether all rows wanted are there.
    pub(crate) fn is_full(&self) -> bool {
        locked(&self.state).fetch == 0
    }

    /// The rows, in order of arrival.
    pub(crate) fn finish(&self) -> Gatherings {
        let rows = std::mem::take(&mut locked(&self.state).rows);
        Gatherings { rows: Mutex::new(Some(rows)), space: self.space.clone() }
    }
}

impl Sink for First {
    fn push(&self, _worker: usize, rows: RecordBatch) -> SqlResult<Option<RecordBatch>> {
        let mut state = locked(&self.state);
        let dropped = rows.num_rows().min(state.skip);
        let kept = (rows.num_rows() - dropped).min(state.fetch);
        if kept > 0 {
            let wanted = batch::compact(rows.slice(dropped, kept));
            let bytes = batch_bytes(&wanted);
            if !self.space.memory.try_grow(bytes) {
                if !state.rows.batches.is_empty() {
                    return self.space.refuse(rows, bytes);
                }
                self.space.grow_least(bytes)?;
            }
            state.bytes += bytes;
            state.rows.batches.push_back(wanted);
        }
        state.skip -= dropped;
        state.fetch -= kept;
        let full = state.fetch == 0;
        drop(state);
        if full {
            self.run.stop(&self.scope);
        }
        Ok(None)
    }

    fn relieve<'a>(&'a self, _worker: usize) -> LocalFuture<'a, SqlResult<()>> {
        Box::pin(async move {
            let Some(_turn) = self.turns.take(0).await else { return Ok(()) };
            let (batches, bytes) = {
                let mut state = locked(&self.state);
                state.rows.leaving = std::mem::take(&mut state.rows.batches);
                (state.rows.leaving.clone(), std::mem::take(&mut state.bytes))
            };
            let rows = batches.into_iter().map(Ok);
            let blocks = self.space.spill.write_all(rows, self.space.figures()).await?;
            let mut state = locked(&self.state);
            state.rows.blocks.extend(blocks);
            state.rows.leaving.clear();
            drop(state);
            self.space.memory.shrink(bytes);
            Ok(())
        })
    }
}

/// One part, which gives a batch and what is left of itself.
impl Source for Gatherings {
    fn roots(&self) -> Vec<Part> {
        locked(&self.rows).take().into_iter().map(|rows| Part(Box::new(rows))).collect()
    }

    fn step<'a>(&'a self, part: Part, _access: Access<'a>) -> LocalFuture<'a, SqlResult<Step>> {
        Box::pin(async move {
            let rows = part.0.downcast::<Rows>();
            let mut rows = rows.map_err(|_| SqlError::internal("a part of another source"))?;
            let batch = match rows.blocks.pop_front() {
                Some(block) => Some(self.space.spill.read(block, self.space.figures()).await?),
                None => rows.leaving.pop_front().or_else(|| rows.batches.pop_front()),
            };
            let parts = if batch.is_some() { vec![Part(rows)] } else { vec![] };
            Ok(Step { rows: batch, parts })
        })
    }
}
