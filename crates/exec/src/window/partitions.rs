//! Window functions over sorted rows: those of whole partitions at a time.

use std::collections::VecDeque;
use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_row::OwnedRow;
use arrow_schema::SchemaRef;
use plan::expr::{Begin, Expr, SortKey, WindowExpr};
use types::{SqlError, SqlResult};

use super::evaluating::{Evaluating, Open};
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
    /// The keys of the last row that was added; none when a partition is known to begin behind it.
    last: Option<Last>,
    /// Rows of the partition whose end is not known yet.
    open: Open,
    /// That partition, once it is too large for memory.
    large: Option<Large>,
    /// Partitions in memory that have ended: their rows come next.
    evaluating: Option<Evaluating>,
    /// A large partition that has ended: its rows come next.
    ended: Option<Large>,
    /// Rows behind what has ended.
    behind: Option<RecordBatch>,
    /// Rows that can go on.
    ready: VecDeque<RecordBatch>,
}

struct Last {
    partition: OwnedRow,
    order: OwnedRow,
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

    /// What begins with each of some rows, and the keys of the last.
    fn begins(&self, last: Option<&Last>, rows: &RecordBatch) -> SqlResult<(Vec<Begin>, Last)> {
        let (partitions, orders) = (self.keys.encode(rows)?, self.order.encode(rows)?);
        let begin = |at: usize| {
            let (partition, order) = match (at, last) {
                (0, None) => return Begin::Partition,
                (0, Some(last)) => (last.partition.row(), last.order.row()),
                _ => (partitions.row(at - 1), orders.row(at - 1)),
            };
            match (partition == partitions.row(at), order == orders.row(at)) {
                (false, _) => Begin::Partition,
                (true, false) => Begin::Peers,
                (true, true) => Begin::Nothing,
            }
        };
        let row_count = rows.num_rows();
        let begins = (0..row_count).map(begin).collect();
        let (partition, order) = (partitions.row(row_count - 1), orders.row(row_count - 1));
        Ok((begins, Last { partition: partition.owned(), order: order.owned() }))
    }

    /// Adds sorted rows. When partitions end in them, these come next, and the rows of the one that
    /// begins last wait.
    async fn add(&self, walk: &mut Walk, rows: RecordBatch) -> SqlResult<()> {
        let row_count = rows.num_rows();
        if row_count == 0 {
            return Ok(());
        }
        let (begins, keys) = self.begins(walk.last.as_ref(), &rows)?;
        let is_first = |at: &usize| begins[*at] == Begin::Partition;
        let first = (0..row_count).find(is_first).unwrap_or(row_count);
        let last = (first..row_count).rev().find(is_first).unwrap_or(row_count);
        if first > 0 {
            self.keep(walk, rows.slice(0, first), &begins[..first]).await?;
        }
        if first == row_count {
            walk.last = Some(keys);
            return Ok(());
        }
        if let Some(mut large) = walk.large.take() {
            large.end().await?;
            (walk.ended, walk.last) = (Some(large), None);
            walk.behind = Some(rows.slice(first, row_count - first));
            return Ok(());
        }
        if walk.open.is_empty() && first == last {
            self.keep(walk, rows, &begins).await?;
            walk.last = Some(keys);
            return Ok(());
        }
        walk.open.push(rows.slice(first, last - first), &begins[first..last], 0);
        self.close(walk).await?;
        (walk.behind, walk.last) = (Some(rows.slice(last, row_count - last)), None);
        Ok(())
    }

    /// Keeps rows of the partition whose end is not known: in memory, or where they do not fit, in
    /// the temporary file.
    async fn keep(&self, walk: &mut Walk, rows: RecordBatch, begins: &[Begin]) -> SqlResult<()> {
        let rows = batch::compact(rows);
        let bytes = batch_bytes(&rows);
        if let Some(large) = &mut walk.large {
            return large.push(rows).await;
        }
        if self.space.memory.try_grow(bytes) {
            walk.open.push(rows, begins, bytes);
            return Ok(());
        }
        if !self.space.spill.is_possible() {
            return Err(self.space.memory.exhausted(bytes));
        }
        let mut large = Large::new(&self.functions, self.order.clone(), self.space.clone())?;
        let open = std::mem::take(&mut walk.open);
        for open in open.rows {
            large.push(open).await?;
        }
        self.space.memory.shrink(open.counted);
        large.push(rows).await?;
        walk.large = Some(large);
        Ok(())
    }

    /// Ends the partitions at hand.
    async fn close(&self, walk: &mut Walk) -> SqlResult<()> {
        let open = std::mem::take(&mut walk.open);
        walk.evaluating = Some(Evaluating::new(open, &self.functions).await?);
        Ok(())
    }

    /// Makes rows ready; false when there are no more.
    async fn advance(&self, walk: &mut Walk, access: Access<'_>) -> SqlResult<bool> {
        if let Some(evaluating) = &mut walk.evaluating {
            match evaluating.next(&self.schema, self.space.batch_rows).await? {
                Some(rows) => walk.ready.push_back(rows),
                None => {
                    self.space.memory.shrink(evaluating.counted());
                    walk.evaluating = None;
                }
            }
        } else if let Some(ended) = &mut walk.ended {
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
        } else if !walk.open.is_empty() {
            self.close(walk).await?;
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
