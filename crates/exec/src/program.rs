//! Runs row programs: the operators of a plan of few rows, one after the other, over rows of
//! values, in the coroutine that asks for them.
//!
//! Nothing is divided here: a program is what one task of a pipeline would do with the first of its
//! batches, without what lets a pipeline have many. An operator that comes to more rows than a
//! program has ends it, before anybody has seen a row, and the plan is run as a pipeline.

mod evaluate;
mod groups;
mod join;
mod keys;
mod limits;
mod order;
mod pairs;
mod recursion;
mod shared;
mod unnest;

use std::cell::RefCell;
use std::collections::HashMap;
use std::future::poll_fn;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::task::Poll;

use arrow_array::{RecordBatch, RecordBatchOptions};
use arrow_schema::SchemaRef;
use plan::expr::{Computed, Foreign};
use plan::{
    Access, Code, LookupJoin, Node, Operator, Parameters, Plan, Program, ROWS_MAX, Scan, row_of,
};
use types::cells::{Cells, value_of};
use types::{SqlError, SqlResult};

use crate::batch::arrow;
use crate::preempt::breathe;
use crate::source::LocalFuture;
use crate::task::panicked;

/// The rows that an operator of a program may have, and their bytes: as many as wait to be taken
/// of a pipeline.
#[derive(Clone, Copy, Debug)]
pub struct Room {
    /// Rows.
    pub rows: usize,
    /// Bytes of memory.
    pub bytes: usize,
}

const ROOM: Room = Room { rows: ROWS_MAX, bytes: 256 << 10 };

/// Rows of a join's inner table, each with the number of the row of keys that asked for it.
pub struct Found {
    /// The inner columns that are read.
    pub rows: Cells,
    /// As many, ascending.
    pub positions: Vec<u32>,
}

/// Reads tables for programs. Both ways end with [`Stopped::TooMany`] before they have more rows
/// than there is room for.
pub trait RowTables {
    /// The columns of a scan, by these ranges; those of one range in the order of its keys.
    fn scan<'a>(
        &'a self,
        scan: &'a Scan,
        access: &'a Access,
        room: Room,
    ) -> LocalFuture<'a, Result<Cells, Stopped>>;

    /// The inner rows of a join for rows of keys.
    fn lookup<'a>(
        &'a self,
        join: &'a LookupJoin,
        keys: &'a Cells,
        room: Room,
    ) -> LocalFuture<'a, Result<Found, Stopped>>;
}

/// Why a program has no rows.
#[derive(Debug)]
pub enum Stopped {
    /// There are too many.
    TooMany,
    /// The error of the statement.
    Failed(SqlError),
}

impl From<SqlError> for Stopped {
    fn from(error: SqlError) -> Stopped {
        Stopped::Failed(error)
    }
}

/// Runs the program of a plan; its rows, of which [`program_batch`] makes vectors, or `None` where
/// there are more than a program has, or they take more time or memory.
///
/// # Errors
/// Those of the tables and of the expressions.
pub async fn run_program(
    plan: &Plan,
    program: &Program,
    tables: &dyn RowTables,
) -> SqlResult<Option<Cells>> {
    let bindings = plan.bindings.as_ref();
    let bindings = bindings.ok_or_else(|| SqlError::internal("a program without parameters"))?;
    let given = &bindings.parameters;
    let parameters = row_of(given.values.iter())?;
    let (shared, work) = (RefCell::default(), RefCell::default());
    let run = Run { plan, program, tables, given, parameters, shared, work };
    let mut rows = run.rows(&plan.root);
    match poll_fn(|cx| caught(|| rows.as_mut().poll(cx))).await {
        Ok(rows) => Ok(Some(rows)),
        Err(Stopped::TooMany) => Ok(None),
        Err(Stopped::Failed(error)) => Err(error),
    }
}

/// The rows of a program as a plan has them.
///
/// # Errors
/// XX000 for rows of another plan.
pub fn program_batch(plan: &Plan, rows: &Cells) -> SqlResult<RecordBatch> {
    batch_of_cells(&plan.root.relaxed(), rows)
}

/// Rows of these columns as vectors.
///
/// # Errors
/// XX000 for rows of others.
pub fn batch_of_cells(schema: &SchemaRef, rows: &Cells) -> SqlResult<RecordBatch> {
    let fields = schema.fields().iter().enumerate();
    let columns = fields.map(|(at, field)| rows.vector(at, field.data_type()));
    let columns = columns.collect::<SqlResult<Vec<_>>>()?;
    let count = RecordBatchOptions::new().with_row_count(Some(rows.len()));
    RecordBatch::try_new_with_options(Arc::clone(schema), columns, &count).map_err(arrow)
}

/// Polls; a panic becomes XX000.
fn caught(poll: impl FnOnce() -> Poll<Result<Cells, Stopped>>) -> Poll<Result<Cells, Stopped>> {
    let caught = catch_unwind(AssertUnwindSafe(poll));
    caught.unwrap_or_else(|panic| Poll::Ready(Err(panicked(panic.as_ref()).into())))
}

/// One execution of a program.
struct Run<'a> {
    plan: &'a Plan,
    program: &'a Program,
    tables: &'a dyn RowTables,
    given: &'a Parameters,
    /// The same as one row.
    parameters: Cells,
    /// The rows of queries of `WITH` that have been computed, by their numbers.
    shared: RefCell<HashMap<usize, Cells>>,
    /// The rows of the last rounds of recursions, by the numbers of their nodes.
    work: RefCell<HashMap<usize, Cells>>,
}

impl Run<'_> {
    /// The rows of a node.
    fn rows<'a>(&'a self, node: &'a Node) -> LocalFuture<'a, Result<Cells, Stopped>> {
        Box::pin(async move {
            let code = self.program.code(node.id);
            let rows = match &node.operator {
                Operator::Scan(scan) => self.scan(scan, code).await?,
                Operator::LookupJoin(join) => self.join(join, code).await?,
                Operator::Filter { input, .. } => self.kept(self.rows(input).await?, code)?,
                Operator::Project { input, .. } => {
                    self.computed(&code.exprs, &self.rows(input).await?)?
                }
                Operator::Sort { input, keys, fetch } => {
                    let rows = self.sorted(self.rows(input).await?, keys, code)?;
                    rows.slice(0, fetch.unwrap_or(usize::MAX))
                }
                Operator::Aggregate { input, group_by, aggregates } => {
                    self.grouped(&self.rows(input).await?, (group_by, aggregates), code)?
                }
                Operator::HashJoin(join) => self.hash_join(join, code).await?,
                Operator::NestedLoopJoin(join) => self.nested_loop_join(join, code).await?,
                Operator::CteScan(scan) => self.shared(scan).await?,
                Operator::Union { inputs } => self.united(inputs).await?,
                Operator::Unnest { input, columns } => {
                    self.unnested(node, (input, columns)).await?
                }
                Operator::Recursive(recursion) => self.rounds(node, recursion).await?,
                Operator::WorkTable { recursion, columns, .. } => {
                    self.last_round(*recursion, columns)?
                }
                Operator::Limit { input, skip, fetch } => {
                    self.rows(input).await?.slice(*skip, fetch.unwrap_or(usize::MAX))
                }
                Operator::Values(listed) => cells(&listed.with(Some(self.given))?)?,
                other => {
                    let message = format!("a row program with the operator {other:?}");
                    return Err(SqlError::internal(message).into());
                }
            };
            breathe().await;
            let is_over = rows.len() > ROOM.rows || rows.memory() > ROOM.bytes;
            match is_over && !has_effects(&code.exprs) {
                true => Err(Stopped::TooMany),
                false => Ok(rows),
            }
        })
    }

    async fn scan(&self, scan: &Scan, code: &Code) -> Result<Cells, Stopped> {
        let access = self.plan.access(scan);
        let rows = self.tables.scan(scan, &access, ROOM).await?;
        let rows = self.kept(rows, code)?;
        Ok(match scan.output.iter().copied().eq(0..scan.columns.len()) {
            true => rows,
            false => rows.columns(&scan.output),
        })
    }

    /// The rows for which the filter of a node is true.
    fn kept(&self, rows: Cells, code: &Code) -> Result<Cells, Stopped> {
        self.kept_by(rows, code.filter.as_ref())
    }

    fn kept_by(&self, rows: Cells, filter: Option<&Computed>) -> Result<Cells, Stopped> {
        let Some(filter) = filter else { return Ok(rows) };
        let passed = self.passed(&rows, filter)?;
        Ok(if passed.len() == rows.len() { rows } else { rows.take(&passed) })
    }
}

/// True if some of these have effects: then they are not computed again.
fn has_effects(exprs: &[Computed]) -> bool {
    exprs.iter().any(|expr| expr.foreign.as_ref().is_some_and(Foreign::is_volatile))
}

/// Rows of a batch.
fn cells(batch: &RecordBatch) -> SqlResult<Cells> {
    let mut rows = Cells::new(batch.num_columns());
    push_batch(&mut rows, batch)?;
    Ok(rows)
}

fn push_batch(rows: &mut Cells, batch: &RecordBatch) -> SqlResult<()> {
    for row in 0..batch.num_rows() {
        for column in batch.columns() {
            rows.push(value_of(column.as_ref(), row)?);
        }
        rows.end_row();
    }
    Ok(())
}
