//! Expressions that may be heavy, computed a piece of a batch at a time: as many rows as fit a
//! first try; what is too much of one row, beside the workers.

use std::sync::Arc;
use std::time::Duration;

use arrow_array::RecordBatch;
use plan::codegen;
use types::{SqlError, SqlResult};

use crate::footprint::batch_bytes;
use crate::limits::{TRY_BYTES, Try, Whole};
use crate::map::{Applied, Map};
use crate::memory::Reservation;
use crate::memory::values::FREE_BYTES;
use crate::run::Run;
use crate::scope::Scope;
use crate::timing::timed;

/// Time of a piece that is computed beside the workers: so long it holds a place there.
const BESIDE_TIME: Duration = Duration::from_millis(100);

/// Parts that a batch is cut into when a first try has shown that it takes long.
const LONG_PARTS: usize = 16;

/// Rows that are computed first where no try may fail.
const FIRST_ROWS: usize = 16;

/// How many rows a task computes an operator for at once.
#[derive(Clone)]
pub(crate) struct Pace {
    rows: usize,
    /// True if they take long.
    is_long: bool,
}

/// The run and the scope of the task that computes.
#[derive(Clone, Copy)]
pub(crate) struct Within<'a> {
    pub(crate) run: &'a Arc<Run>,
    pub(crate) scope: &'a Arc<Scope>,
}

/// The result of a piece.
pub(crate) struct Piece {
    pub(crate) applied: Applied,
    /// The rows of the batch behind the piece.
    pub(crate) rest: Option<RecordBatch>,
    /// The memory of what was made, where that is much.
    pub(crate) held: Option<Arc<Reservation>>,
}

impl Default for Pace {
    fn default() -> Pace {
        Pace { rows: usize::MAX, is_long: false }
    }
}

impl Pace {
    /// Computes the first rows of a batch.
    ///
    /// # Errors
    /// Those of the operator.
    pub(crate) async fn first_piece(
        &mut self,
        within: Within<'_>,
        map: &Arc<dyn Map>,
        batch: RecordBatch,
    ) -> SqlResult<Piece> {
        let figures = within.run.query.progress.node(map.node());
        // Effects happen once: a try that fails has had them.
        if !map.is_repeatable() {
            return self.only_piece(within, map, batch);
        }
        loop {
            let (rows, rest) = self.cut(&batch);
            let count = rows.num_rows();
            if self.is_long {
                let (applied, held) = self.beside(within, map, rows).await?;
                return Ok(Piece { applied, rest, held });
            }
            let limits = Arc::new(Try::new(within.run, within.scope));
            let work = || plan::limits::with_limits(limits.clone(), || map.apply(rows));
            match timed(&figures.busy_ns, work) {
                Ok(applied) => {
                    self.rows = count.max(self.rows.saturating_mul(2));
                    return Ok(Piece { applied, rest, held: None });
                }
                Err(_) if limits.is_long() => {
                    self.is_long = true;
                    self.rows = (count / LONG_PARTS).max(1);
                }
                Err(_) if limits.is_large() => {
                    // One row that is too large for a try has no other way either.
                    self.is_long = count == 1;
                    self.rows = (count / 2).max(1);
                }
                Err(error) => return Err(error),
            }
        }
    }

    /// The first rows of a batch, as many as are computed at once, and the others.
    fn cut(&self, batch: &RecordBatch) -> (RecordBatch, Option<RecordBatch>) {
        let count = self.rows.clamp(1, batch.num_rows());
        let left = batch.num_rows() - count;
        (batch.slice(0, count), (left > 0).then(|| batch.slice(count, left)))
    }

    /// Computes the first rows of a batch here, with all the memory that there is: few at first.
    fn only_piece(
        &mut self,
        within: Within<'_>,
        map: &Arc<dyn Map>,
        batch: RecordBatch,
    ) -> SqlResult<Piece> {
        if self.rows == usize::MAX {
            self.rows = FIRST_ROWS;
        }
        let (rows, rest) = self.cut(&batch);
        let (count, begun) = (rows.num_rows(), runtime::time::now());
        let limits = Arc::new(Whole::new(within.run, within.scope));
        let figures = within.run.query.progress.node(map.node());
        let work = || plan::limits::with_limits(limits.clone(), || map.apply(rows));
        let applied = timed(&figures.busy_ns, work)?;
        self.adapt(count, begun.elapsed(), limits.values.taken());
        let held = held(limits.values.memory(), &applied)?;
        Ok(Piece { applied, rest, held })
    }

    /// Computes rows on a thread of their own, with all the memory that there is.
    async fn beside(
        &mut self,
        within: Within<'_>,
        map: &Arc<dyn Map>,
        rows: RecordBatch,
    ) -> SqlResult<(Applied, Option<Arc<Reservation>>)> {
        let permit = within.run.query.beside.acquire().await;
        let (count, begun) = (rows.num_rows(), runtime::time::now());
        let limits = Arc::new(Whole::new(within.run, within.scope));
        let (run, theirs, within) = (Arc::clone(within.run), Arc::clone(map), Arc::clone(&limits));
        let work = move || {
            let _permit = permit;
            let busy_ns = &run.query.progress.node(theirs.node()).busy_ns;
            let applied = || plan::limits::with_limits(within, || theirs.apply(rows));
            timed(busy_ns, || codegen::with(run.query.codegen.clone(), applied))
        };
        let done = runtime::offload(work).await;
        let applied = done.map_err(|aborted| {
            SqlError::internal(format!("an expression could not be computed: {aborted}"))
        })??;
        self.adapt(count, begun.elapsed(), limits.values.taken());
        let held = held(limits.values.memory(), &applied)?;
        Ok((applied, held))
    }

    /// Sets how many rows are computed next, by what some have taken.
    fn adapt(&mut self, count: usize, elapsed: Duration, bytes: usize) {
        let is_small = bytes <= TRY_BYTES / 2;
        match elapsed > BESIDE_TIME || bytes > TRY_BYTES {
            true => self.rows = (count / 2).max(1),
            false if is_small && elapsed < BESIDE_TIME / 2 => self.rows = count.saturating_mul(2),
            false => self.rows = count,
        }
        // Rows that were large need not take long.
        if elapsed < BESIDE_TIME / 16 && is_small {
            self.is_long = false;
        }
    }
}

/// Keeps the memory of what was made, and gives back that of what it was made of.
fn held(memory: &Arc<Reservation>, applied: &Applied) -> SqlResult<Option<Arc<Reservation>>> {
    let kept: usize = applied.out.iter().map(batch_bytes).sum();
    let kept = kept.saturating_sub(FREE_BYTES);
    if kept == 0 {
        memory.shrink(memory.used());
        return Ok(None);
    }
    match memory.used().checked_sub(kept) {
        Some(more) => memory.shrink(more),
        None => memory.grow(kept - memory.used())?,
    }
    Ok(Some(Arc::clone(memory)))
}
