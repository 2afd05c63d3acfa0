//! A partition that does not fit in memory: its rows go to the temporary file, the values of the
//! functions behind them as they become known; at its end both are read side by side.

use std::collections::VecDeque;
use std::sync::Arc;

use arrow_array::{Array, ArrayRef, RecordBatch, UInt32Array};
use arrow_row::OwnedRow;
use arrow_schema::{Field, Schema, SchemaRef};
use plan::expr::{Piece, Running, WindowExpr};
use types::{SqlError, SqlResult};

use crate::batch;
use crate::footprint::{WAITING_BYTES, column_bytes};
use crate::sort::RowOrder;
use crate::spill::Block;
use crate::workspace::Workspace;

/// Blocks of rows that are read at once.
const READ_AT_ONCE: usize = 4;

/// Bytes that functions may keep whatever the memory: some batches, for frames of some rows.
const KEPT_BYTES: usize = 1 << 20;

/// A partition in the temporary file.
pub(super) struct Large {
    space: Workspace,
    functions: Vec<Running>,
    values: Vec<Values>,
    /// The order within the partition, and the last row's key.
    order: Arc<RowOrder>,
    last: Option<OwnedRow>,
    blocks: VecDeque<Block>,
    row_count: usize,
    /// Rows that were given out.
    given: usize,
    /// Bytes that functions keep, as they are counted in the reservation.
    counted: usize,
}

impl Large {
    pub(super) fn new(
        functions: &[WindowExpr],
        order: Arc<RowOrder>,
        space: Workspace,
    ) -> SqlResult<Large> {
        let values = functions.iter().map(|function| Values::new(function, &space)).collect();
        let functions = functions.iter().map(WindowExpr::running).collect::<SqlResult<_>>()?;
        Ok(Large {
            space,
            functions,
            values,
            order,
            last: None,
            blocks: VecDeque::new(),
            row_count: 0,
            given: 0,
            counted: 0,
        })
    }

    /// Adds rows, in order.
    pub(super) async fn push(&mut self, rows: RecordBatch) -> SqlResult<()> {
        if rows.num_rows() == 0 {
            return Ok(());
        }
        let begins = self.begins(&rows)?;
        for (function, values) in self.functions.iter_mut().zip(&mut self.values) {
            values.add(function.push(&rows, &begins, self.row_count)?).await?;
        }
        self.row_count += rows.num_rows();
        self.count_memory()?;
        let block = self.space.spill.write(&rows, self.space.figures()).await?;
        self.blocks.push_back(block);
        Ok(())
    }

    /// For each row whether it is no peer of the one before.
    fn begins(&mut self, rows: &RecordBatch) -> SqlResult<Vec<bool>> {
        let keys = self.order.encode(rows)?;
        let begins = |at: usize| match at {
            0 => self.last.as_ref().is_none_or(|last| last.row() != keys.row(0)),
            at => keys.row(at - 1) != keys.row(at),
        };
        let begins = (0..rows.num_rows()).map(begins).collect();
        self.last = Some(keys.row(rows.num_rows() - 1).owned());
        Ok(begins)
    }

    /// Functions of frames that move keep rows.
    fn count_memory(&mut self) -> SqlResult<()> {
        let bytes: usize = self.functions.iter().map(Running::bytes).sum();
        match bytes.checked_sub(self.counted) {
            None => self.space.memory.shrink(self.counted - bytes),
            Some(more) if bytes <= KEPT_BYTES => self.space.memory.hold(more),
            Some(more) => self.space.memory.grow(more)?,
        }
        self.counted = bytes;
        Ok(())
    }

    /// Ends the partition.
    pub(super) async fn end(&mut self) -> SqlResult<()> {
        for (function, values) in self.functions.iter_mut().zip(&mut self.values) {
            values.add(function.end()?).await?;
            values.flush().await?;
        }
        self.space.memory.shrink(std::mem::take(&mut self.counted));
        Ok(())
    }

    /// The next rows of the partition, after its end, with the values of the functions; none when
    /// all were given.
    pub(super) async fn next(&mut self, schema: &SchemaRef) -> SqlResult<Vec<RecordBatch>> {
        let few = self.blocks.len().min(READ_AT_ONCE);
        let blocks: VecDeque<Block> = self.blocks.drain(..few).collect();
        let space = self.space.clone();
        let mut reads = space.reads(blocks);
        let mut found = vec![];
        while let Some(rows) = reads.next().await? {
            found.push(self.with_values(rows, schema).await?);
        }
        Ok(found)
    }

    async fn with_values(
        &mut self,
        rows: RecordBatch,
        schema: &SchemaRef,
    ) -> SqlResult<RecordBatch> {
        let row_count = rows.num_rows();
        let mut columns = rows.columns().to_vec();
        for (function, values) in self.functions.iter().zip(&mut self.values) {
            let given = match function.gives_values() {
                true => Some(values.take(row_count).await?),
                false => None,
            };
            let total = self.row_count;
            columns.push(function.finish(given.as_ref(), self.given, row_count, total)?);
        }
        self.given += row_count;
        batch::make(schema, columns, row_count)
    }
}

impl Drop for Large {
    fn drop(&mut self) {
        self.space.memory.shrink(self.counted);
    }
}

/// The values of one function, in the order of the rows.
struct Values {
    space: Workspace,
    schema: SchemaRef,
    /// Values that wait to be written, and how many.
    waiting: Vec<ArrayRef>,
    waiting_count: usize,
    waiting_bytes: usize,
    pieces: VecDeque<Stored>,
}

/// Values of rows that follow each other.
enum Stored {
    Block(Block),
    Read(ArrayRef),
    Same(ArrayRef, usize),
}

impl Values {
    fn new(function: &WindowExpr, space: &Workspace) -> Values {
        let schema = Arc::new(Schema::new(vec![Field::new("value", function.given_type(), true)]));
        let (waiting, pieces) = (vec![], VecDeque::new());
        let (waiting_count, waiting_bytes) = (0, 0);
        Values { space: space.clone(), schema, waiting, waiting_count, waiting_bytes, pieces }
    }

    async fn add(&mut self, pieces: Vec<Piece>) -> SqlResult<()> {
        for piece in pieces {
            match piece {
                Piece::Each(values) => {
                    self.waiting_count += values.len();
                    self.waiting_bytes += column_bytes(&values);
                    self.waiting.push(values);
                    let has_many_rows = self.waiting_count >= self.space.batch_rows;
                    if has_many_rows || self.waiting_bytes >= WAITING_BYTES {
                        self.flush().await?;
                    }
                }
                Piece::Same(value, count) => {
                    self.flush().await?;
                    self.pieces.push_back(Stored::Same(value, count));
                }
            }
        }
        Ok(())
    }

    /// Writes what waits.
    async fn flush(&mut self) -> SqlResult<()> {
        (self.waiting_count, self.waiting_bytes) = (0, 0);
        if self.waiting.is_empty() {
            return Ok(());
        }
        let values = concat(&std::mem::take(&mut self.waiting))?;
        let row_count = values.len();
        let rows = batch::make(&self.schema, vec![values], row_count)?;
        let block = self.space.spill.write(&rows, self.space.figures()).await?;
        self.pieces.push_back(Stored::Block(block));
        Ok(())
    }

    /// The next `count` values.
    async fn take(&mut self, count: usize) -> SqlResult<ArrayRef> {
        let mut found: Vec<ArrayRef> = vec![];
        let mut missing = count;
        while missing > 0 {
            let piece = self.pieces.pop_front();
            match piece
                .ok_or_else(|| SqlError::internal("a window function gave too few values"))?
            {
                Stored::Block(block) => {
                    let rows = self.space.spill.read(block, self.space.figures()).await?;
                    self.pieces.push_front(Stored::Read(rows.column(0).clone()));
                }
                Stored::Read(values) => {
                    let taken = values.len().min(missing);
                    found.push(values.slice(0, taken));
                    missing -= taken;
                    if taken < values.len() {
                        let rest = values.slice(taken, values.len() - taken);
                        self.pieces.push_front(Stored::Read(rest));
                    }
                }
                Stored::Same(value, there) => {
                    let taken = there.min(missing);
                    found.push(batch::take_column(&value, &UInt32Array::from(vec![0; taken]))?);
                    missing -= taken;
                    if taken < there {
                        self.pieces.push_front(Stored::Same(value, there - taken));
                    }
                }
            }
        }
        concat(&found)
    }
}

fn concat(parts: &[ArrayRef]) -> SqlResult<ArrayRef> {
    let parts: Vec<&dyn Array> = parts.iter().map(AsRef::as_ref).collect();
    arrow_select::concat::concat(&parts).map_err(batch::arrow)
}
