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
    ready: VecDeque<RecordBatch>,
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
        let (functions, schema) = (functions.to_vec(), Arc::clone(schema));
        Ok(Partitions { sorted, functions, keys: RowOrder::new(&keys)?, schema, space })
    }

    /// Adds sorted rows; those of partitions that end in them become ready.
    fn add(&self, walk: &mut Walk, rows: RecordBatch) -> SqlResult<()> {
        let keys = self.keys.encode(&rows)?;
        let row_count = rows.num_rows();
        let continues = |at: usize| match at {
            0 => walk.key.as_ref().is_some_and(|key| key.row() == keys.row(0)),
            at => keys.row(at - 1) == keys.row(at),
        };
        let last = (0..row_count).rev().find(|&at| !continues(at));
        walk.key = (row_count > 0).then(|| keys.row(row_count - 1).owned());
        let Some(start) = last else { return self.keep(walk, rows) };
        if start > 0 {
            self.keep(walk, rows.slice(0, start))?;
        }
        self.close(walk)?;
        self.keep(walk, rows.slice(start, row_count - start))
    }

    fn keep(&self, walk: &mut Walk, rows: RecordBatch) -> SqlResult<()> {
        let rows = batch::compact(rows);
        let bytes = batch_bytes(&rows);
        self.space.memory.grow(bytes)?;
        walk.counted += bytes;
        walk.open.push(rows);
        Ok(())
    }

    /// Evaluates the rows at hand, which are whole partitions.
    fn close(&self, walk: &mut Walk) -> SqlResult<()> {
        let open = std::mem::take(&mut walk.open);
        let Some(first) = open.first() else { return Ok(()) };
        let rows = batch::concat_owned(&first.schema(), open)?;
        let rows = evaluate(rows, &self.functions, &self.schema)?;
        self.space.memory.shrink(std::mem::take(&mut walk.counted));
        walk.ready.extend(batch::slices(&rows, self.space.batch_rows));
        Ok(())
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
                match walk.rest.take() {
                    Some(rest) => {
                        let mut step = self.sorted.step(rest, access).await?;
                        walk.rest = step.parts.pop();
                        step.rows.map(|rows| self.add(&mut walk, rows)).transpose()?;
                    }
                    None if walk.open.is_empty() => return Ok(Step { rows: None, parts: vec![] }),
                    None => self.close(&mut walk)?,
                }
            }
        })
    }
}
