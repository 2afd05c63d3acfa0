//! Partitions of a table: disjoint ranges of its clustered keys that have all of its rows between
//! them.

use std::ops::{Bound, Range};

use runtime::IoCounters;
use storage::{Depth, RangePart, Tree};
use txn::visible::Bounds;
use types::SqlResult;

use crate::catalog::entry::TableEntry;
use crate::columns::part::{Part, row_key};
use crate::fault;

/// The rows of a table whose clustered keys, as bytes, lie in a range. Those of a column table are
/// cut at whole vectors: the id of a vector's first row says where it belongs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Partition {
    /// The first key; empty is the beginning of the table.
    pub lower: Vec<u8>,
    /// The key behind the last one; `None` is the end of the table.
    pub upper: Option<Vec<u8>>,
}

impl Partition {
    /// No rows of any table: no key lies before the empty one.
    pub fn none() -> Partition {
        Partition { lower: vec![], upper: Some(vec![]) }
    }

    pub(crate) fn bounds(&self) -> Bounds {
        let upper = self.upper.clone().map_or(Bound::Unbounded, Bound::Excluded);
        (Bound::Included(self.lower.clone()), upper)
    }

    /// True if the vector that begins with this row is in it.
    pub(crate) fn has_row(&self, row_id: i64) -> bool {
        let key = row_key(row_id);
        self.lower.as_slice() <= key.as_slice() && self.ends_behind(&key)
    }

    /// True if some of these rows, which are not none, may be in it.
    pub(crate) fn touches(&self, rows: &Range<i64>) -> bool {
        let last = row_key(rows.end - 1);
        self.lower.as_slice() <= last.as_slice() && self.ends_behind(&row_key(rows.start))
    }

    fn ends_behind(&self, key: &[u8]) -> bool {
        self.upper.as_deref().is_none_or(|upper| key < upper)
    }
}

/// So many partitions of about the same size, in the order of the keys. Small tables have some
/// without rows.
///
/// # Errors
/// Those of storage.
pub(crate) async fn partitions(entry: &TableEntry, count: usize) -> SqlResult<Vec<Partition>> {
    let borders = match &entry.columns {
        Some(columns) if !columns.parts.is_empty() => row_borders(&columns.parts, count),
        _ => key_borders(&entry.tree, count).await?,
    };
    let mut cut = vec![];
    let mut lower = vec![];
    for border in borders.into_iter().filter(|border| !border.is_empty()) {
        if border > lower {
            cut.push(Partition { lower, upper: Some(border.clone()) });
            lower = border;
        }
    }
    cut.push(Partition { lower, upper: None });
    cut.resize(count.max(1), Partition::none());
    Ok(cut)
}

/// Keys between partitions of a column table. What is in no part yet has the largest ids.
fn row_borders(parts: &[Part], count: usize) -> Vec<Vec<u8>> {
    let total: u64 = parts.iter().map(|part| part.row_count).sum();
    let border = |at: usize| {
        let mut left = total * at as u64 / count as u64;
        let part = parts.iter().find(|part| match left < part.row_count {
            true => true,
            false => {
                left -= part.row_count;
                false
            }
        });
        part.map(|part| row_key(part.first_row.saturating_add_unsigned(left)).to_vec())
    };
    (1..count).filter_map(border).collect()
}

/// Keys between partitions of a tree: those with which its parts begin.
async fn key_borders(tree: &Tree, count: usize) -> SqlResult<Vec<Vec<u8>>> {
    let mut parts = vec![tree.root_part(Bound::Unbounded, Bound::Unbounded)];
    while parts.len() < count && parts.iter().any(|part| !part.is_extent()) {
        parts = expanded(tree, parts).await?;
    }
    let leaves: usize = parts.iter().map(|part| part.leaf_count().max(1)).sum();
    let (mut borders, mut before) = (vec![], 0);
    for part in &parts {
        if before * count >= leaves * (borders.len() + 1) {
            borders.push(part.bounds().0.to_vec());
        }
        before += part.leaf_count().max(1);
    }
    Ok(borders)
}

/// The parts below these; a tree of one leaf has none.
async fn expanded(tree: &Tree, parts: Vec<RangePart>) -> SqlResult<Vec<RangePart>> {
    let (mut below, io) = (vec![], IoCounters::default());
    for part in parts {
        match part.is_extent() {
            true => below.push(part),
            false => {
                let found = tree.expand(part, Depth::Many, &io, &mut |_, _| ()).await;
                below.extend(found.map_err(fault::storage)?);
            }
        }
    }
    Ok(below)
}
