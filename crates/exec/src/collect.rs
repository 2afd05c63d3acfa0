//! The sink that only gathers rows: the right side of a nested-loop join, a round of a recursion.

use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use types::SqlResult;

use crate::batch;
use crate::footprint::batch_bytes;
use crate::locals::Locals;
use crate::memory::Reservation;
use crate::sink::{Sink, cannot_spill};
use crate::source::LocalFuture;

/// Gathers all rows, in no order.
pub(crate) struct Collect {
    schema: SchemaRef,
    memory: Arc<Reservation>,
    locals: Locals<Vec<RecordBatch>>,
}

impl Collect {
    pub(crate) fn new(schema: SchemaRef, memory: Arc<Reservation>, worker_count: usize) -> Collect {
        Collect { schema, memory, locals: Locals::new(worker_count) }
    }

    /// All rows in one batch.
    pub(crate) fn finish(&self) -> SqlResult<RecordBatch> {
        batch::concat_owned(&self.schema, self.locals.take().concat())
    }
}

impl Sink for Collect {
    fn push(&self, worker: usize, rows: RecordBatch) -> SqlResult<Option<RecordBatch>> {
        let rows = batch::compact(rows);
        self.memory.grow(batch_bytes(&rows))?;
        self.locals.of(worker).push(rows);
        Ok(None)
    }

    fn relieve<'a>(&'a self, _worker: usize) -> LocalFuture<'a, SqlResult<()>> {
        cannot_spill()
    }
}
