//! Which rows go to which node.

use arrow_array::{RecordBatch, UInt32Array};
use plan::expr::Expr;
use types::SqlResult;

use crate::batch;
use crate::groups::evaluate_all;
use crate::keys::{KeyCoder, mix};

/// How rows are divided among the nodes.
#[derive(Clone, Debug)]
pub enum Route {
    /// By the hash of these keys: equal keys meet on one node, and so do nulls. The two sides of a
    /// join have keys of the same types.
    Hash(Vec<Expr>),
    /// All rows to every node.
    Broadcast,
}

/// The work of a route.
pub(crate) enum Router {
    Hash { exprs: Vec<Expr>, coder: KeyCoder },
    Broadcast,
}

impl Router {
    pub(crate) fn new(route: Route) -> SqlResult<Router> {
        Ok(match route {
            Route::Hash(exprs) => Router::Hash { coder: KeyCoder::of(&exprs, false)?, exprs },
            Route::Broadcast => Router::Broadcast,
        })
    }

    /// Ways that rows take, where there are so many nodes: each has rows of its own.
    pub(crate) fn way_count(&self, node_count: usize) -> usize {
        match self {
            Router::Hash { .. } => node_count,
            Router::Broadcast => 1,
        }
    }

    /// The rows for each way, of those that there are.
    pub(crate) fn split(
        &self,
        rows: &RecordBatch,
        node_count: usize,
    ) -> SqlResult<Vec<(usize, RecordBatch)>> {
        let Router::Hash { exprs, coder } = self else { return Ok(vec![(0, rows.clone())]) };
        let hashes = coder.encode(&evaluate_all(exprs, rows)?)?.hashes;
        let mut at = vec![vec![]; node_count];
        for (row, hash) in hashes.into_iter().enumerate() {
            at[node_of(hash, node_count)].push(row as u32);
        }
        let ways = at.into_iter().enumerate().filter(|(_, rows)| !rows.is_empty());
        ways.map(|(way, at)| Ok((way, taken(rows, at)?))).collect()
    }
}

fn taken(rows: &RecordBatch, at: Vec<u32>) -> SqlResult<RecordBatch> {
    match at.len() == rows.num_rows() {
        true => Ok(rows.clone()),
        false => batch::take(rows, &UInt32Array::from(at)).map(batch::compact),
    }
}

/// The node of a key. Mixed once more: the joins and groups of a node divide its rows by the bits
/// of the same hash, which must not be alike for all of them.
fn node_of(hash: u64, node_count: usize) -> usize {
    ((u128::from(mix(hash)) * node_count as u128) >> 64) as usize
}
