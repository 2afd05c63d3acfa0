//! Queries of `WITH` that are computed once: their rows are put away before anything reads them, in
//! memory or, where they do not fit, in the temporary file, and are read as often as they are named.

use std::sync::Arc;

use plan::{CteScan, Node, Operator, Plan};
use types::{SqlError, SqlResult};

use crate::drive::fill;
use crate::notify::locked;
use crate::put_away::{Gather, Reader};
use crate::run::Run;
use crate::scope::Scope;
use crate::source::Source;
use crate::target::Target;

/// Computes all such queries of a plan: each after those that it reads. An error of a value is one of
/// who reads it.
pub(crate) async fn put_away(run: &Arc<Run>, plan: &Plan) -> SqlResult<()> {
    let mut queries = vec![];
    find(&plan.root, &mut queries);
    queries.sort_by_key(|(_, number, _)| *number);
    for (node, number, query) in queries {
        let sink = Arc::new(Gather::new(run.workspace(node, "CTE scan")));
        let target = Target::Sink { sink: sink.clone(), node: node.id, ordered: true };
        let inside = Scope::catching(&run.root);
        let filled = inside.judge(fill(run, query, Arc::clone(&inside), target).await)?;
        let rows = filled.map(|()| Arc::new(sink.finish()));
        locked(&run.queries).insert(number, rows);
    }
    Ok(())
}

/// The scans that have the plans of their queries.
fn find<'a>(node: &'a Node, found: &mut Vec<(&'a Node, usize, &'a Node)>) {
    if let Operator::CteScan(CteScan { number, query: Some(query), .. }) = &node.operator {
        found.push((node, *number, query));
    }
    node.children().into_iter().for_each(|child| find(child, found));
}

/// The rows of a query that has been computed, for one of its scans.
pub(crate) fn rows(run: &Run, node: &Node, scan: &CteScan) -> SqlResult<Arc<dyn Source>> {
    let rows = locked(&run.queries).get(&scan.number).cloned();
    let rows = rows.ok_or_else(|| SqlError::internal("a query that was not computed"))??;
    let (columns, schema) = (scan.columns.clone(), node.relaxed());
    Ok(Arc::new(Reader { rows, columns, schema }))
}
