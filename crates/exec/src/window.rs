//! Window functions: all rows are sorted by partition and order, then each function runs over them,
//! partition by partition; one that does not fit in memory goes to the temporary file.

mod evaluating;
mod large;
mod partitions;

use std::sync::Arc;

use arrow_schema::Schema;
use plan::Node;
use plan::expr::{Expr, SortKey, WindowExpr};
use types::{SqlError, SqlResult};

use crate::drive::fill;
use crate::preempt::go_on;
use crate::run::Run;
use crate::scope::Scope;
use crate::sink::{Sink, push};
use crate::sort::SortSink;
use crate::source::{Access, Source};
use crate::target::Target;
use crate::timing::busy;
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
    let mut schema = input.relaxed();
    let mut rows: Option<Arc<dyn Source>> = None;
    let result = node.relaxed();
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
