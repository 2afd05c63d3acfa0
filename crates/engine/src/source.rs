//! The rows of a scan, decomposed at each inner node of the tree (anagodb, section 2).

use std::ops::Bound;
use std::sync::Arc;

use arrow_array::ArrayRef;
use exec::{LocalFuture, Part, Step};
use sql::plan::{self, First, KeyRange, Scan};
use storage::{Direction, RangePart, Tree};
use types::SqlResult;
use types::key::{KeyColumn, KeyEncoder, push_null_bound, successor};
use types::row::{BatchBuilder, RowLayout};

use crate::catalog::TableEntry;
use crate::fault;
use crate::fetch::Fetch;

/// Rows that one task fetches by key: amortises a task's set-up (Umbra, section 5).
const FETCH_ROWS: usize = 128;

/// Rows that a builder has room for at first, when nobody knows how many a range has: those of a
/// leaf or two.
const LEAF_ROWS: usize = 128;

/// A half-open range of keys.
pub(crate) type Bounds = (Bound<Vec<u8>>, Bound<Vec<u8>>);

pub(crate) struct TableSource {
    tree: Tree,
    layout: Arc<RowLayout>,
    columns: Vec<usize>,
    ranges: Vec<Bounds>,
    fetch: Option<Fetch>,
    first: Option<First>,
}

enum Work {
    Range(RangePart),
    Fetch(Vec<Vec<u8>>),
    /// So many entries from this end of the range.
    First(usize, Bounds),
}

/// Entries that one step takes of those that are wanted in order: their rows go to their operator as
/// one batch.
const FIRST_ENTRIES: usize = 4096;

fn slice(bound: &Bound<Vec<u8>>) -> Bound<&[u8]> {
    bound.as_ref().map(Vec::as_slice)
}

/// The request depth in the words of `storage`.
pub(crate) fn depth(depth: exec::Depth) -> storage::Depth {
    match depth {
        exec::Depth::One => storage::Depth::One,
        exec::Depth::Many => storage::Depth::Many,
    }
}

impl TableSource {
    pub(crate) fn new(entry: &TableEntry, scan: &Scan) -> SqlResult<TableSource> {
        let columns = scan.columns.clone();
        let all = vec![(Bound::Unbounded, Bound::Unbounded)];
        let plan::Access::Range { index, ranges, fetch } = &scan.access else {
            let (tree, layout) = (entry.tree.clone(), entry.layout.clone());
            return Ok(TableSource {
                tree,
                layout,
                columns,
                ranges: all,
                fetch: None,
                first: None,
            });
        };
        let (tree, layout) = entry.tree_of(index);
        let key = &layout.key[..index.key_columns(&entry.def).len()];
        let ranges = ranges.iter().filter_map(|r| bounds(key, r).transpose());
        let ranges = ranges.collect::<SqlResult<Vec<_>>>()?;
        let fetch = fetch.then(|| {
            Fetch::new(entry, entry.tree.clone(), index.key_columns(&entry.def), &columns)
        });
        Ok(TableSource { tree, layout, columns, ranges, fetch, first: scan.first })
    }

    async fn expand(&self, range: RangePart, access: exec::Access<'_>) -> SqlResult<Step> {
        let depth = depth(access.depth);
        let Some(fetch) = &self.fetch else {
            let mut builder = BatchBuilder::new(self.layout.clone(), &self.columns, LEAF_ROWS);
            let mut visit = |key: &[u8], value: &[u8]| builder.push(key, value);
            let parts = self.tree.expand(range, depth, access.io, &mut visit).await;
            let parts = parts.map_err(fault::storage)?;
            let rows = (builder.row_count() > 0).then(|| builder.finish());
            return Ok(Step {
                rows,
                parts: parts.into_iter().map(Work::Range).map(part).collect(),
            });
        };
        let mut keys = vec![];
        let mut visit = |key: &[u8], _: &[u8]| keys.push(fetch.primary_key(key));
        let parts = self.tree.expand(range, depth, access.io, &mut visit).await;
        let parts = parts.map_err(fault::storage)?.into_iter().map(Work::Range);
        // In the order of the clustered tree, so that each of its pages is wanted by one fetch.
        keys.sort_unstable();
        let fetches = keys.chunks(FETCH_ROWS).map(|chunk| Work::Fetch(chunk.to_vec()));
        Ok(Step { rows: None, parts: parts.chain(fetches).map(part).collect() })
    }

    /// The next of the first entries, leaf by leaf in the order wanted, and what is left to do.
    async fn first(
        &self,
        wanted: usize,
        (low, high): Bounds,
        access: exec::Access<'_>,
    ) -> SqlResult<Step> {
        let backward = self.first.is_some_and(|first| first.backward);
        let direction = if backward { Direction::Backward } else { Direction::Forward };
        let mut cursor = self.tree.range(slice(&low), slice(&high), direction);
        let now = wanted.min(FIRST_ENTRIES);
        let room = || BatchBuilder::new(self.layout.clone(), &self.columns, now);
        let mut builder = self.fetch.is_none().then(room);
        let (mut keys, mut key, mut taken) = (vec![], vec![], 0);
        while taken < now {
            let Some(leaf) = cursor.next(access.io).await.map_err(fault::storage)? else {
                break;
            };
            for index in 0..leaf.len().min(now - taken) {
                let value = leaf.entry(index, &mut key);
                match (&mut builder, &self.fetch) {
                    (Some(builder), _) => builder.push(&key, value),
                    (None, Some(fetch)) => keys.push(fetch.primary_key(&key)),
                    (None, None) => unreachable!("without a fetch there is a builder"),
                }
                taken += 1;
            }
            if runtime::need_preempt() {
                runtime::yield_now().await;
            }
        }
        keys.sort_unstable();
        let fetches = keys.chunks(FETCH_ROWS).map(|chunk| Work::Fetch(chunk.to_vec()));
        let rest = (taken == now && wanted > now).then(|| match backward {
            true => Work::First(wanted - now, (low, Bound::Excluded(key))),
            false => Work::First(wanted - now, (Bound::Excluded(key), high)),
        });
        let rows = builder.filter(|b| b.row_count() > 0).map(|mut b| b.finish());
        Ok(Step { rows, parts: fetches.chain(rest).map(part).collect() })
    }

    async fn fetch(&self, keys: Vec<Vec<u8>>, access: exec::Access<'_>) -> SqlResult<Step> {
        let fetch = self.fetch.as_ref().expect("keys come from an index");
        let mut builder = fetch.builder(keys.len());
        fetch.rows(&keys, access, &mut builder, |_| {}).await?;
        Ok(Step { rows: Some(builder.finish()), parts: vec![] })
    }
}

fn part(work: Work) -> Part {
    Part(Box::new(work))
}

impl exec::Source for TableSource {
    fn roots(&self) -> Vec<Part> {
        if let Some(first) = &self.first {
            let ranges = self.ranges.iter().cloned();
            return ranges.map(|range| part(Work::First(first.count, range))).collect();
        }
        let root = |(low, high): &Bounds| self.tree.root_part(low.clone(), high.clone());
        self.ranges.iter().map(root).map(Work::Range).map(part).collect()
    }

    fn step<'a>(
        &'a self,
        part: Part,
        access: exec::Access<'a>,
    ) -> LocalFuture<'a, SqlResult<Step>> {
        let work = part.0.downcast::<Work>().expect("parts come from this source");
        Box::pin(async move {
            match *work {
                Work::Range(range) => self.expand(range, access).await,
                Work::Fetch(keys) => self.fetch(keys, access).await,
                Work::First(wanted, range) => self.first(wanted, range, access).await,
            }
        })
    }
}

/// The range as bytes; `None` when it is empty. A bound on one side excludes nulls.
pub(crate) fn bounds(key: &[KeyColumn], range: &KeyRange) -> SqlResult<Option<Bounds>> {
    let prefix = encode(key, &range.prefix)?;
    let next = key.get(range.prefix.len());
    let open = range.lower == Bound::Unbounded && range.upper == Bound::Unbounded;
    let one = |value| {
        let mut bytes = prefix.clone();
        bytes.extend(encode(&key[range.prefix.len()..], std::slice::from_ref(value))?);
        SqlResult::Ok(bytes)
    };
    let low = match &range.lower {
        Bound::Unbounded => Some(prefix.clone()),
        Bound::Included(value) => Some(one(value)?),
        Bound::Excluded(value) => successor(&one(value)?),
    };
    let Some(low) = low else { return Ok(None) };
    let high = match &range.upper {
        Bound::Unbounded if !open && next.is_some_and(|k| k.nullable) => {
            let mut bytes = prefix.clone();
            push_null_bound(&mut bytes);
            Some(bytes)
        }
        Bound::Unbounded => successor(&prefix),
        Bound::Included(value) => successor(&one(value)?),
        Bound::Excluded(value) => Some(one(value)?),
    };
    if high.as_ref().is_some_and(|high| *high <= low) {
        return Ok(None);
    }
    Ok(Some((Bound::Included(low), high.map_or(Bound::Unbounded, Bound::Excluded))))
}

/// The bytes of the leading columns of a key.
pub(crate) fn encode(key: &[KeyColumn], values: &[sql::ScalarValue]) -> SqlResult<Vec<u8>> {
    let array = |value: &sql::ScalarValue| {
        value.to_array().map_err(|e| types::SqlError::internal(e.to_string()))
    };
    let arrays = values.iter().map(array).collect::<SqlResult<Vec<ArrayRef>>>()?;
    let mut bytes = vec![];
    KeyEncoder::new(key, &arrays).encode(0, &mut bytes)?;
    Ok(bytes)
}
