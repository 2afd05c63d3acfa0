//! Window functions: all rows are sorted by partition and order, then each function runs over them,
//! partition by partition; one that does not fit in memory goes to the temporary file.

mod large;
mod partitions;

use std::ops::Range;
use std::sync::Arc;

use arrow_array::{ArrayRef, RecordBatch, UInt32Array};
use arrow_row::{RowConverter, Rows, SortField};
use arrow_schema::{Schema, SchemaRef, SortOptions};
use sql::expr::{Expr, Sorted, WindowExpr};
use sql::plan::{Node, SortKey};
use types::{SqlError, SqlResult};

use crate::batch;
use crate::drive::fill;
use crate::keys::canonical;
use crate::run::Run;
use crate::scope::Scope;
use crate::sink::{Sink, Target, push};
use crate::sort::SortSink;
use crate::source::{Access, Source};
use crate::stage::{busy, go_on};
use crate::workspace::Workspace;

use partitions::Partitions;

/// The rows of `input` in the order of the last function, with the value of each function behind
/// their own columns.
pub(crate) async fn rows(
    run: &Arc<Run>,
    node: &Node,
    input: &Node,
    functions: &[WindowExpr],
    scope: &Arc<Scope>,
) -> SqlResult<Arc<dyn Source>> {
    let space = run.workspace(node, "window");
    let busy_ns = &space.figures().busy_ns;
    let mut schema = batch::relaxed(&input.schema);
    let mut rows: Option<Arc<dyn Source>> = None;
    let result = batch::relaxed(&node.schema);
    // Functions of one order need one sort.
    let same = |a: &WindowExpr, b: &WindowExpr| {
        a.partition_by == b.partition_by && a.order_by == b.order_by
    };
    for group in functions.chunk_by(same) {
        let keys = sort_keys(&group[0]);
        let sink = SortSink::new(&keys, None, Arc::clone(&schema), space.clone())?;
        let sink = Arc::new(sink);
        match rows.take() {
            None => {
                // Without an order of their own, functions see the rows as they come.
                let ordered = keys.is_empty();
                let target = Target::Sink { sink: sink.clone(), node: node.id, ordered };
                fill(run, input, Arc::clone(scope), target).await?
            }
            Some(rows) => pump(rows.as_ref(), sink.as_ref(), &space, scope).await?,
        }
        let sorted = busy(busy_ns, sink.finish(scope)).await?;
        let width = schema.fields().len() + group.len();
        schema = Arc::new(Schema::new(result.fields()[..width].to_vec()));
        rows = Some(Arc::new(Partitions::new(sorted, group, &schema, space.clone())?));
    }
    rows.ok_or_else(|| SqlError::internal("a window without functions"))
}

/// The order of a function's rows.
fn sort_keys(function: &WindowExpr) -> Vec<SortKey> {
    let plain = |expr: &Expr| SortKey { expr: expr.clone(), descending: false, nulls_first: false };
    let keys = function.partition_by.iter().map(plain);
    keys.chain(function.order_by.iter().cloned()).collect()
}

/// Passes all rows of a source to a sink, in order.
async fn pump(
    source: &dyn Source,
    sink: &dyn Sink,
    space: &Workspace,
    scope: &Scope,
) -> SqlResult<()> {
    let (figures, depth) = (space.figures(), space.depth);
    let mut parts = source.roots();
    parts.reverse();
    while let Some(part) = parts.pop() {
        go_on(scope).await?;
        let access = Access { depth, io: &figures.io, skips: &figures.skips };
        let step = busy(&figures.busy_ns, source.step(part, access)).await?;
        parts.extend(step.parts.into_iter().rev());
        if let Some(rows) = step.rows {
            push(sink, &figures.busy_ns, rows).await?;
        }
    }
    Ok(())
}

/// Sorted rows with the value of each function behind their own columns.
fn evaluate(
    mut rows: RecordBatch,
    functions: &[WindowExpr],
    schema: &SchemaRef,
) -> SqlResult<RecordBatch> {
    let mut values: Vec<ArrayRef> = Vec::with_capacity(functions.len());
    for function in functions {
        let order = Order::new(function, &rows)?;
        if !order.is_sorted() {
            let indices = order.permutation();
            rows = batch::take(&rows, &indices)?;
            values = values
                .iter()
                .map(|v| batch::take_column(v, &indices))
                .collect::<SqlResult<Vec<_>>>()?;
        }
        let (partitions, peers) = order.groups();
        let sorted = Sorted { rows: &rows, partitions: &partitions, peers: &peers };
        values.push(function.evaluate(&sorted)?);
    }
    let row_count = rows.num_rows();
    let columns = rows.columns().iter().cloned().chain(values).collect();
    batch::make(schema, columns, row_count)
}

/// The keys of one function, encoded, and the order of the rows by them.
struct Order {
    partition: Option<Rows>,
    order: Option<Rows>,
    indices: Vec<u32>,
}

impl Order {
    fn new(function: &WindowExpr, rows: &RecordBatch) -> SqlResult<Order> {
        let plain = SortOptions { descending: false, nulls_first: false };
        let by = function.partition_by.iter().map(|e| (e, plain));
        let partition = encode(by.collect(), rows)?;
        let by = function.order_by.iter().map(|k| {
            let options = SortOptions { descending: k.descending, nulls_first: k.nulls_first };
            (&k.expr, options)
        });
        let order = encode(by.collect(), rows)?;
        let mut indices: Vec<u32> = (0..rows.num_rows() as u32).collect();
        let of = |rows: &Option<Rows>, a: u32, b: u32| {
            rows.as_ref().map(|r| r.row(a as usize).cmp(&r.row(b as usize)))
        };
        indices.sort_by(|&a, &b| {
            let partitions = of(&partition, a, b).unwrap_or(std::cmp::Ordering::Equal);
            partitions.then_with(|| of(&order, a, b).unwrap_or(std::cmp::Ordering::Equal))
        });
        Ok(Order { partition, order, indices })
    }

    fn is_sorted(&self) -> bool {
        self.indices.iter().enumerate().all(|(at, &from)| at == from as usize)
    }

    fn permutation(&self) -> UInt32Array {
        UInt32Array::from(self.indices.clone())
    }

    /// The partitions, and the peers of each row, as ranges of sorted rows.
    fn groups(&self) -> (Vec<Range<usize>>, Vec<Range<usize>>) {
        let same = |rows: &Option<Rows>, a: usize, b: usize| {
            let (a, b) = (self.indices[a] as usize, self.indices[b] as usize);
            rows.as_ref().is_none_or(|r| r.row(a) == r.row(b))
        };
        let (mut partitions, mut peers) = (Vec::new(), Vec::with_capacity(self.indices.len()));
        let (mut partition, mut first_peer) = (0, 0);
        for row in 1..=self.indices.len() {
            let end = row == self.indices.len();
            let new_partition = end || !same(&self.partition, row - 1, row);
            if new_partition || !same(&self.order, row - 1, row) {
                peers.extend(std::iter::repeat_n(first_peer..row, row - first_peer));
                first_peer = row;
            }
            if new_partition {
                partitions.push(partition..row);
                partition = row;
            }
        }
        (partitions, peers)
    }
}

/// Comparable bytes of the keys; `None` where there are no keys.
fn encode(
    keys: Vec<(&sql::expr::Expr, SortOptions)>,
    rows: &RecordBatch,
) -> SqlResult<Option<Rows>> {
    if keys.is_empty() {
        return Ok(None);
    }
    let field = |(e, o): &(&sql::expr::Expr, SortOptions)| {
        SortField::new_with_options(e.data_type().clone(), *o)
    };
    let converter = RowConverter::new(keys.iter().map(field).collect()).map_err(batch::arrow)?;
    let columns = keys.iter().map(|(e, _)| Ok(canonical(&e.evaluate(rows)?)));
    let columns = columns.collect::<SqlResult<Vec<_>>>()?;
    Ok(Some(converter.convert_columns(&columns).map_err(batch::arrow)?))
}
