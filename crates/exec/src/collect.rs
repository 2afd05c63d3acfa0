//! Sinks that only gather rows: the right side of a nested-loop join, and a limit.

use std::sync::{Arc, Mutex};

use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use types::SqlResult;

use crate::batch;
use crate::bell::locked;
use crate::run::Run;
use crate::scope::Scope;
use crate::sink::{Locals, Sink};

/// Gathers all rows, in no order.
pub(crate) struct Collect {
    schema: SchemaRef,
    locals: Locals<Vec<RecordBatch>>,
}

impl Collect {
    pub(crate) fn new(schema: SchemaRef, worker_count: usize) -> Collect {
        Collect { schema, locals: Locals::new(worker_count) }
    }

    /// All rows in one batch.
    pub(crate) fn finish(&self) -> SqlResult<RecordBatch> {
        batch::concat(&self.schema, &self.locals.take().concat())
    }
}

impl Sink for Collect {
    fn push(&self, worker: usize, rows: RecordBatch) -> SqlResult<()> {
        self.locals.of(worker).push(batch::compact(rows));
        Ok(())
    }
}

/// Gathers the first rows, then stops what produces them. One state for all workers, since the
/// count is theirs together. Keeps the order of an ordered input (one task pushes then).
pub(crate) struct First {
    run: Arc<Run>,
    scope: Arc<Scope>,
    state: Mutex<Gathered>,
}

struct Gathered {
    skip: usize,
    fetch: usize,
    batches: Vec<RecordBatch>,
}

impl First {
    /// Drops `skip` rows, keeps `fetch`, then stops `scope`.
    pub(crate) fn new(run: &Arc<Run>, scope: &Arc<Scope>, skip: usize, fetch: usize) -> First {
        let state = Mutex::new(Gathered { skip, fetch, batches: vec![] });
        First { run: Arc::clone(run), scope: Arc::clone(scope), state }
    }

    /// Whether all rows wanted are there.
    pub(crate) fn is_full(&self) -> bool {
        locked(&self.state).fetch == 0
    }

    /// The rows, in order of arrival.
    pub(crate) fn finish(&self) -> Vec<RecordBatch> {
        std::mem::take(&mut locked(&self.state).batches)
    }
}

impl Sink for First {
    fn push(&self, _worker: usize, rows: RecordBatch) -> SqlResult<()> {
        let mut state = locked(&self.state);
        let dropped = rows.num_rows().min(state.skip);
        state.skip -= dropped;
        let kept = (rows.num_rows() - dropped).min(state.fetch);
        state.fetch -= kept;
        if kept > 0 {
            state.batches.push(batch::compact(rows.slice(dropped, kept)));
        }
        let full = state.fetch == 0;
        drop(state);
        if full {
            self.run.stop(&self.scope);
        }
        Ok(())
    }
}
