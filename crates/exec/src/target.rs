//! Where a pipeline's rows go.

use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use plan::Node;
use types::SqlResult;

use crate::batch;
use crate::query::Output;
use crate::run::Run;
use crate::sink::{Sink, push};

/// The end of a pipeline.
#[derive(Clone)]
pub(crate) enum Target {
    /// A sink of the pipeline breaker `node`; `ordered` when it keeps the order of its input.
    Sink { sink: Arc<dyn Sink>, node: usize, ordered: bool },
    /// The caller.
    Output { output: Arc<dyn Output>, schema: SchemaRef },
}

impl Target {
    pub(crate) fn output(root: &Node, output: Arc<dyn Output>) -> Target {
        Target::Output { output, schema: root.relaxed() }
    }

    pub(crate) fn unordered(node: &Node, sink: Arc<dyn Sink>) -> Target {
        Target::Sink { sink, node: node.id, ordered: false }
    }

    /// Whether an ordered source must stay in order.
    pub(crate) fn order_matters(&self) -> bool {
        match self {
            Target::Sink { ordered, .. } => *ordered,
            Target::Output { .. } => true,
        }
    }

    /// Rows that are best given at once.
    pub(crate) fn rows_at_once(&self) -> usize {
        match self {
            Target::Sink { sink, .. } => sink.rows_at_once(),
            Target::Output { .. } => usize::MAX,
        }
    }

    /// Takes a batch; an output that wants no more stops the query.
    pub(crate) async fn push(&self, run: &Run, batch: RecordBatch) -> SqlResult<()> {
        match self {
            Target::Sink { sink, node, .. } => {
                push(sink.as_ref(), &run.query.progress.node(*node).busy_ns, batch).await
            }
            Target::Output { output, schema } => {
                if !output.push(batch::retitle(&batch, schema)?).await? {
                    run.stop(&run.root);
                }
                Ok(())
            }
        }
    }
}
