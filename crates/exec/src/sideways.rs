//! Which scans the keys of a join come from, so that a finished build side can say there which rows have
//! no partner.
//!
//! A column asks for values: whoever takes its rows drops those with another one, or with null. Such rows
//! may be dropped earlier, wherever the column comes from unchanged. That holds below every kind of join: a row
//! that loses its partner for it comes out, if at all, with null in the column, and is dropped then. It holds
//! below a grouping by the column: groups are dropped as a whole. It does not hold below a limit, a window
//! function, or what other queries read too.

use std::sync::Arc;

use plan::{HashJoin, HashJoinKind, Node, Operator, Unnested};

use crate::join_filter::JoinFilter;
use crate::source::ScanFilter;
use crate::spine::spine;

/// A column of a node's rows and what its values must be.
#[derive(Clone)]
pub(crate) struct Sieve {
    pub(crate) column: usize,
    pub(crate) filter: Arc<JoinFilter>,
}

/// What is asked of the inputs of a pipeline.
pub(crate) struct Course {
    /// For each node of the spine, lowest first, the keys of which it is to make filters, and for each
    /// of them the columns of the leaf.
    keys: Vec<Vec<(usize, Vec<usize>)>>,
    /// What is asked of the build side of each node of the spine.
    builds: Vec<Vec<Sieve>>,
    /// What is asked of the leaf from above.
    leaf: Vec<Sieve>,
}

/// Where a column of a streaming node comes from.
enum Origin {
    /// A column of the rows that stream.
    Streamed(usize),
    /// A column of the build side.
    Built(usize),
}

impl Course {
    /// Of a pipeline whose rows are asked for `sieves`.
    pub(crate) fn new(spine: &[&Node], leaf: &Node, sieves: Vec<Sieve>) -> Course {
        let mut builds: Vec<Vec<Sieve>> = spine.iter().map(|_| vec![]).collect();
        let mut at_leaf = vec![];
        for Sieve { column, filter } in sieves {
            let sieve = |column| Sieve { column, filter: Arc::clone(&filter) };
            let origins = descend(spine, column);
            at_leaf.extend(origins.leaf.into_iter().map(sieve));
            origins.built.into_iter().for_each(|(at, column)| builds[at].push(sieve(column)));
        }
        let keys = spine.iter().enumerate();
        let keys = keys.map(|(at, node)| keys_of(node, &spine[..at], leaf)).collect();
        Course { keys, builds, leaf: at_leaf }
    }

    /// The keys of which a node of the spine is to make filters.
    pub(crate) fn keys(&self, at: usize) -> Vec<usize> {
        self.keys[at].iter().map(|(key, _)| *key).collect()
    }

    /// What is asked of the build side of a node of the spine.
    pub(crate) fn of_build(&self, at: usize) -> Vec<Sieve> {
        self.builds[at].clone()
    }

    /// Whether filters of the spine are for the leaf.
    pub(crate) fn has_own(&self) -> bool {
        self.keys.iter().any(|keys| !keys.is_empty())
    }

    /// What is asked of the leaf, when `made` are the filters of each node of the spine by its keys.
    pub(crate) fn of_leaf<'a>(
        &self,
        made: impl Iterator<Item = &'a [(usize, Arc<JoinFilter>)]>,
    ) -> Vec<Sieve> {
        let mut sieves = self.leaf.clone();
        for (wanted, made) in self.keys.iter().zip(made) {
            for (key, columns) in wanted {
                let filters = made.iter().filter(|(of, _)| of == key);
                let of = |filter: &Arc<JoinFilter>| {
                    let filter = Arc::clone(filter);
                    columns.iter().map(move |&column| Sieve { column, filter: filter.clone() })
                };
                sieves.extend(filters.flat_map(|(_, filter)| of(filter)));
            }
        }
        sieves
    }
}

/// What is asked of the input of an aggregation by these columns.
pub(crate) fn below_groups(group_by: &[plan::expr::Expr], sieves: Vec<Sieve>) -> Vec<Sieve> {
    let below = |sieve: Sieve| {
        let column = group_by.get(sieve.column)?.is_column()?;
        Some(Sieve { column, ..sieve })
    };
    sieves.into_iter().filter_map(below).collect()
}

/// What is asked of a scan, in its own columns.
pub(crate) fn of_scan(scan: &plan::Scan, sieves: Vec<Sieve>) -> Vec<ScanFilter> {
    if scan.first.is_some() {
        return vec![];
    }
    let filter = |Sieve { column, filter }| ScanFilter { column: scan.output[column], filter };
    sieves.into_iter().map(filter).collect()
}

/// The keys of a node whose filters some scan can apply, each with columns of the leaf.
fn keys_of(node: &Node, below: &[&Node], leaf: &Node) -> Vec<(usize, Vec<usize>)> {
    let Operator::HashJoin(join) = &node.operator else { return vec![] };
    if !drops_lonely_probe_rows(join) {
        return vec![];
    }
    let columns = |key: &plan::expr::Expr| -> Option<Vec<usize>> {
        let column = key.is_column().filter(|_| JoinFilter::takes(key.data_type()))?;
        let mut columns = descend(below, column).leaf;
        columns.retain(|column| reaches_scan(leaf, *column));
        (!columns.is_empty()).then_some(columns)
    };
    let keys = join.probe_keys.iter().enumerate();
    // A key that is another one each time it is evaluated is not in the filter that it made.
    let keys = keys.filter(|(at, _)| !join.build_keys[*at].is_volatile());
    keys.filter_map(|(at, key)| Some((at, columns(key)?))).collect()
}

/// Whether probe rows without a partner, and those with null in a key, change nothing.
fn drops_lonely_probe_rows(join: &HashJoin) -> bool {
    use HashJoinKind as K;
    let drops = matches!(
        join.kind,
        K::Inner | K::BuildOuter | K::ProbeSemi | K::BuildSemi | K::BuildAnti | K::BuildMark
    );
    drops && !join.null_aware && !join.null_equals_null
}

/// Whether a column of a node's rows comes from a scan that may drop some of them.
fn reaches_scan(node: &Node, column: usize) -> bool {
    let (spine, leaf) = spine(node);
    let origins = descend(&spine, column);
    let of_build = |(at, column): &(usize, usize)| match &spine[*at].operator {
        Operator::HashJoin(join) => reaches_scan(&join.build, *column),
        _ => false,
    };
    let of_leaf = |column: &usize| match &leaf.operator {
        Operator::Scan(scan) => scan.first.is_none(),
        Operator::Aggregate { input, group_by, .. } => group_by
            .get(*column)
            .and_then(|group| group.is_column())
            .is_some_and(|column| reaches_scan(input, column)),
        Operator::Union { inputs } => inputs.iter().any(|input| reaches_scan(input, *column)),
        _ => false,
    };
    origins.leaf.iter().any(of_leaf) || origins.built.iter().any(of_build)
}

/// Where a column of the topmost node of a spine comes from.
#[derive(Default)]
struct Origins {
    leaf: Vec<usize>,
    /// Nodes of the spine and columns of their build sides.
    built: Vec<(usize, usize)>,
}

fn descend(spine: &[&Node], column: usize) -> Origins {
    let mut origins = Origins { leaf: vec![column], built: vec![] };
    for (at, node) in spine.iter().enumerate().rev() {
        let above = std::mem::take(&mut origins.leaf);
        for origin in above.iter().flat_map(|column| origins_in(node, *column)) {
            match origin {
                Origin::Streamed(column) => origins.leaf.push(column),
                Origin::Built(column) => origins.built.push((at, column)),
            }
        }
    }
    origins
}

fn origins_in(node: &Node, column: usize) -> Vec<Origin> {
    let streamed = match &node.operator {
        Operator::Filter { .. } => Some(column),
        // How often an expression that changes with each row is evaluated is seen from outside.
        Operator::Project { exprs, .. } if exprs.iter().any(|expr| expr.is_volatile()) => None,
        Operator::Project { exprs, .. } => exprs[column].is_column(),
        Operator::Unnest { columns, .. } => match columns[column].gives {
            Unnested::Value => Some(columns[column].input),
            Unnested::Elements | Unnested::Series { .. } => None,
        },
        Operator::LookupJoin(join) => {
            Some(join.output[column]).filter(|at| *at < width(&join.outer))
        }
        Operator::NestedLoopJoin(join) => {
            Some(join.output[column]).filter(|at| *at < width(&join.left))
        }
        Operator::HashJoin(join) => return origins_in_join(join, column),
        _ => None,
    };
    streamed.into_iter().map(Origin::Streamed).collect()
}

/// A key of one side is from the other side too: what has another value has no partner there.
fn origins_in_join(join: &HashJoin, column: usize) -> Vec<Origin> {
    let (at, width) = (join.output[column], width(&join.build));
    let partner = |keys: &[plan::expr::Expr], others: &[plan::expr::Expr], at| {
        let mut pairs = keys.iter().zip(others).filter(|_| !join.null_aware);
        pairs.find(|(key, _)| key.is_column() == Some(at)).and_then(|(_, other)| other.is_column())
    };
    let (built, streamed) = match at.checked_sub(width) {
        None => (Some(at), partner(&join.build_keys, &join.probe_keys, at)),
        Some(at) if at < self::width(&join.probe) => {
            (partner(&join.probe_keys, &join.build_keys, at), Some(at))
        }
        Some(_) => (None, None),
    };
    built.map(Origin::Built).into_iter().chain(streamed.map(Origin::Streamed)).collect()
}

fn width(node: &Node) -> usize {
    node.schema.fields().len()
}
