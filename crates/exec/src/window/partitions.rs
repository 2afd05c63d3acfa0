//! Window functions over sorted rows: those of whole partitions at a time.

use std::collections::VecDeque;
use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_row::OwnedRow;
use arrow_schema::SchemaRef;
use sql::expr::{Expr, WindowExpr};
use sql::plan::SortKey;
use types::{SqlError, SqlResult};

use super::evaluate;
use super::large::Large;
use crate::batch;
use crate::footprint::batch_bytes;
use crate::sort::{RowOrder, Sorted};
use crate::source::{Access, LocalFuture, Part, Source, Step};
use crate::workspace::Workspace;

/// Rows with the values of functions of one order.
pub(super) struct Partitions {
    sorted: Sorted,
    functions: Vec<WindowExpr>,
    keys: RowOrder,
    order: Arc<RowOrder>,
    schema: SchemaRef,
    space: Workspace,
}

/// Where the one walk over the rows stands.
#[derive(Default)]
struct Walk {
    /// What is left of the sorted rows.
    rest: Option<Part>,
    /// Rows of the partition whose end is not known yet, and the key of it.
    open: Vec<RecordBatch>,
    key: Option<OwnedRow>,
    /// Bytes of `open` as they are counted in the reservation.
    counted: usize,
    /// That partition, once it is too large for memory.
    large: Option<Large>,
    /// Rows that can go on.
    ready: VecDeque<RecordBatch>,
    /// A large partition that has ended: its rows come next, then those behind it.
    ended: Option<Large>,
    behind: Option<RecordBatch>,
}

impl Partitions {
    pub(super) fn new(
        sorted: Sorted,
        functions: &[WindowExpr],
        schema: &SchemaRef,
        space: Workspace,
    ) -> SqlResult<Partitions> {
        let plain =
            |expr: &Expr| SortKey { expr: expr.clone(), descending: false, nulls_first: false };
        let keys: Vec<SortKey> = functions[0].partition_by.iter().map(plain).collect();
        let order = Arc::new(RowOrder::new(&functions[0].order_by)?);
        let (functions, schema) = (functions.to_vec(), Arc::clone(schema));
        Ok(Partitions { sorted, functions, keys: RowOrder::new(&keys)?, order, schema, space })
    }

    /// Adds sorted rows; those of partitions that end in them become ready.
    async fn add(&self, walk: &mut Walk, rows: RecordBatch) -> SqlResult<()> {
        let row_count = rows.num_rows();
        if row_count == 0 {
            return Ok(());
        }
        let keys = self.keys.encode(&rows)?;
        let continues = |at: usize| match at {
            0 => walk.key.as_ref().is_some_and(|key| key.row() == keys.row(0)),
            at => keys.row(at - 1) == keys.row(at),
        };
        let first = (0..row_count).find(|&at| !continues(at)).unwrap_or(row_count);
        let last = (first..row_count).rev().find(|&at| !continues(at)).unwrap_or(row_count);
        if first > 0 {
            self.keep(walk, rows.slice(0, first)).await?;
        }
        if let Some(mut large) = walk.large.take_if(|_| first < row_count) {
            large.end().await?;
            (walk.ended, walk.key) = (Some(large), None);
            walk.behind = Some(rows.slice(first, row_count - first));
            return Ok(());
        }
        if first < row_count {
            self.close(walk, rows.slice(first, last - first))?;
            self.keep(walk, rows.slice(last, row_count - last)).await?;
        }
        walk.key = Some(keys.row(row_count - 1).owned());
        Ok(())
    }

    /// Keeps rows of the partition whose end is not known: in memory, or where they do not fit, in
    /// the temporary file.
    async fn keep(&self, walk: &mut Walk, rows: RecordBatch) -> SqlResult<()> {
        let rows = batch::compact(rows);
        let bytes = batch_bytes(&rows);
        if let Some(large) = &mut walk.large {
            return large.push(rows).await;
        }
        if self.space.memory.try_grow(bytes) {
            walk.counted += bytes;
            walk.open.push(rows);
            return Ok(());
        }
        if !self.space.spill.is_possible() {
            return Err(self.space.memory.exhausted(bytes));
        }
        let mut large = Large::new(&self.functions, self.order.clone(), self.space.clone())?;
        for open in std::mem::take(&mut walk.open) {
            large.push(open).await?;
        }
        self.space.memory.shrink(std::mem::take(&mut walk.counted));
        large.push(rows).await?;
        walk.large = Some(large);
        Ok(())
    }

    /// Evaluates the rows at hand and those of whole partitions behind them.
    fn close(&self, walk: &mut Walk, rows: RecordBatch) -> SqlResult<()> {
        let mut open = std::mem::take(&mut walk.open);
        open.push(rows);
        open.retain(|rows| rows.num_rows() > 0);
        let Some(first) = open.first() else { return Ok(()) };
        let rows = batch::concat_owned(&first.schema(), open)?;
        let cancel = self.space.cancel.clone();
        let until_cancelled = Arc::new(move || match cancel.is_cancelled() {
            true => Err(SqlError::cancelled()),
            false => Ok(()),
        });
        let rows =
            sql::with_patience(until_cancelled, || evaluate(rows, &self.functions, &self.schema))?;
        self.space.memory.shrink(std::mem::take(&mut walk.counted));
        walk.ready.extend(batch::slices(&rows, self.space.batch_rows));
        Ok(())
    }

    /// Makes rows ready; false when there are no more.
    async fn advance(&self, walk: &mut Walk, access: Access<'_>) -> SqlResult<bool> {
        if let Some(ended) = &mut walk.ended {
            let rows = ended.next(&self.schema).await?;
            walk.ended.take_if(|_| rows.is_empty());
            walk.ready.extend(rows);
        } else if let Some(rows) = walk.behind.take() {
            self.add(walk, rows).await?;
        } else if let Some(rest) = walk.rest.take() {
            let mut step = self.sorted.step(rest, access).await?;
            walk.rest = step.parts.pop();
            if let Some(rows) = step.rows {
                self.add(walk, rows).await?;
            }
        } else if let Some(mut large) = walk.large.take() {
            large.end().await?;
            walk.ended = Some(large);
        } else if let Some(last) = walk.open.pop() {
            self.close(walk, last)?;
        } else {
            return Ok(false);
        }
        Ok(true)
    }
}

/// One part, which gives a batch and what is left of itself.
impl Source for Partitions {
    fn roots(&self) -> Vec<Part> {
        let rest = self.sorted.roots().pop();
        vec![Part(Box::new(Walk { rest, ..Walk::default() }))]
    }

    fn step<'a>(&'a self, part: Part, access: Access<'a>) -> LocalFuture<'a, SqlResult<Step>> {
        Box::pin(async move {
            let walk = part.0.downcast::<Walk>();
            let mut walk = walk.map_err(|_| SqlError::internal("a part of another source"))?;
            loop {
                if let Some(rows) = walk.ready.pop_front() {
                    return Ok(Step { rows: Some(rows), parts: vec![Part(walk)] });
                }
                if !self.advance(&mut walk, access).await? {
                    return Ok(Step { rows: None, parts: vec![] });
                }
            }
        })
    }
}
