//! The rows of a scan, decomposed at each inner node of the tree (anagodb, section 2).

use std::collections::VecDeque;
use std::ops::Bound;
use std::sync::Arc;

use arrow_array::{ArrayRef, RecordBatch};
use exec::{LocalFuture, Part, Step};
use sql::plan::{self, First, KeyRange, Scan};
use storage::{Direction, LeafEntries, RangePart};
use types::SqlResult;
use types::key::{KeyColumn, KeyEncoder, push_null_bound, successor};
use types::row::{BatchBuilder, RowLayout};

use crate::catalog::{Snapshot, TableEntry};
use crate::columns::ChunkFetch;
use crate::fetch::Fetch;
use crate::visible::{Bounds, Entries, FirstEntries, VisibleTree};

/// Rows that one task fetches by key: amortises a task's set-up (Umbra, section 5).
const FETCH_ROWS: usize = 128;

/// The same for rows of chunks: more of them share a vector, and windows of vectors have their requests in
/// flight at once.
const CHUNK_FETCH_ROWS: usize = 1024;

/// Ranges of an index that one task reads for rows that are downloaded: those of all of them may share vectors
/// and round trips, which take far longer than reading the index.
const DOWNLOAD_RANGES: usize = 64;

/// Rows that a builder has room for at first, when nobody knows how many a range has: those of a
/// leaf or two.
const LEAF_ROWS: usize = 128;

pub(crate) struct TableSource {
    tree: VisibleTree,
    layout: Arc<RowLayout>,
    columns: Vec<usize>,
    ranges: Vec<Bounds>,
    fetch: Option<Fetch>,
    first: Option<First>,
}

enum Work {
    Range(RangePart),
    /// Ranges of an index whose rows are fetched together.
    Ranges(VecDeque<RangePart>),
    Fetch(Vec<Vec<u8>>),
    /// So many entries from this end of the range.
    First(usize, Bounds),
}

/// Entries that one step takes of those that are wanted in order: their rows go to their operator as
/// one batch.
const FIRST_ENTRIES: usize = 4096;

/// The request depth in the words of `storage`.
pub(crate) fn depth(depth: exec::Depth) -> storage::Depth {
    match depth {
        exec::Depth::One => storage::Depth::One,
        exec::Depth::Many => storage::Depth::Many,
    }
}

impl TableSource {
    /// The rows of a scan; `chunks` fetches those that are in parts of a column table.
    pub(crate) fn new(
        snapshot: &Snapshot,
        entry: &TableEntry,
        scan: &Scan,
        chunks: Option<ChunkFetch>,
    ) -> SqlResult<TableSource> {
        let columns = scan.columns.clone();
        let all = vec![(Bound::Unbounded, Bound::Unbounded)];
        let plan::Access::Range { index, ranges, fetch } = &scan.access else {
            let (tree, layout) = (snapshot.visible(entry.tree.clone()), entry.layout.clone());
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
        let mut ranges = ranges.collect::<SqlResult<Vec<_>>>()?;
        if index.is_hash() {
            // Values are in another order than their hashes; intervals that differ may be equal.
            ranges.sort_by(|(a, _), (b, _)| low_key(a).cmp(low_key(b)));
            ranges.dedup();
        }
        let fetch = fetch.then(|| {
            let rows = snapshot.visible(entry.tree.clone());
            Fetch::new(entry, rows, &layout, &columns).with_chunks(chunks)
        });
        let tree = snapshot.visible(tree);
        Ok(TableSource { tree, layout, columns, ranges, fetch, first: scan.first })
    }

    async fn expand(&self, range: RangePart, access: exec::Access<'_>) -> SqlResult<Step> {
        let mut taken = Taken::new(self, LEAF_ROWS);
        let parts = self.tree.expand(range, depth(access.depth), access.io, &mut taken).await?;
        let (rows, fetches) = taken.finish();
        let parts = parts.into_iter().map(Work::Range).chain(fetches);
        Ok(Step { rows, parts: parts.map(part).collect() })
    }

    /// Reads ranges of an index until there are enough rows for a fetch.
    async fn gather(
        &self,
        mut ranges: VecDeque<RangePart>,
        access: exec::Access<'_>,
    ) -> SqlResult<Step> {
        let mut gathered = Taken::new(self, 0);
        let mut within = vec![];
        while gathered.keys.len() < CHUNK_FETCH_ROWS
            && let Some(range) = within.pop().or_else(|| ranges.pop_front())
        {
            let mut taken = Taken::new(self, 0);
            within
                .extend(self.tree.expand(range, depth(access.depth), access.io, &mut taken).await?);
            gathered.keys.append(&mut taken.keys);
            if runtime::need_preempt() {
                runtime::yield_now().await;
            }
        }
        let left = (!ranges.is_empty()).then_some(Work::Ranges(ranges));
        let (_, fetches) = gathered.finish();
        let parts = fetches.into_iter().chain(within.into_iter().map(Work::Range)).chain(left);
        Ok(Step { rows: None, parts: parts.map(part).collect() })
    }

    /// The next of the first entries, leaf by leaf in the order wanted, and what is left to do.
    async fn first(
        &self,
        wanted: usize,
        range: Bounds,
        access: exec::Access<'_>,
    ) -> SqlResult<Step> {
        let backward = self.first.is_some_and(|first| first.backward);
        let direction = if backward { Direction::Backward } else { Direction::Forward };
        let now = wanted.min(FIRST_ENTRIES);
        let mut taken = Taken::new(self, now);
        let FirstEntries { count, last } =
            self.tree.first(&range, direction, now, access.io, &mut taken).await?;
        let (low, high) = range;
        let rest = last.filter(|_| wanted > count).map(|last| match backward {
            true => Work::First(wanted - count, (low, Bound::Excluded(last))),
            false => Work::First(wanted - count, (Bound::Excluded(last), high)),
        });
        let (rows, fetches) = taken.finish();
        Ok(Step { rows, parts: fetches.into_iter().chain(rest).map(part).collect() })
    }

    async fn fetch(&self, keys: Vec<Vec<u8>>, access: exec::Access<'_>) -> SqlResult<Step> {
        let fetch = self.fetch.as_ref().expect("keys come from an index");
        let (rows, _) = fetch.rows(&keys, access).await?;
        Ok(Step { rows: Some(rows), parts: vec![] })
    }
}

/// Entries of a step: rows, or keys of rows that are to be fetched.
struct Taken<'a> {
    source: &'a TableSource,
    room: usize,
    rows: Option<BatchBuilder>,
    keys: Vec<Vec<u8>>,
}

impl Taken<'_> {
    fn new(source: &TableSource, room: usize) -> Taken<'_> {
        let mut taken = Taken { source, room, rows: None, keys: vec![] };
        taken.restart();
        taken
    }

    /// Its rows, and the fetches that are left to do.
    fn finish(self) -> (Option<RecordBatch>, Vec<Work>) {
        let rows = self.rows.filter(|rows| rows.row_count() > 0).map(|mut rows| rows.finish());
        let mut keys = self.keys;
        // In the order of the clustered tree, so that each of its pages is wanted by one fetch.
        keys.sort_unstable();
        let from_chunks = self.source.fetch.as_ref().is_some_and(Fetch::has_chunks);
        let count = if from_chunks { CHUNK_FETCH_ROWS } else { FETCH_ROWS };
        let fetches = keys.chunks(count).map(|chunk| Work::Fetch(chunk.to_vec()));
        (rows, fetches.collect())
    }
}

impl Entries for Taken<'_> {
    fn restart(&mut self) {
        let TableSource { layout, columns, fetch, .. } = self.source;
        let builder = || BatchBuilder::new(layout.clone(), columns, self.room);
        self.rows = fetch.is_none().then(builder);
        self.keys.clear();
    }

    fn take(&mut self, _: usize, key: &[u8], value: &[u8]) {
        match (&mut self.rows, &self.source.fetch) {
            (Some(rows), _) => rows.push(key, value),
            (None, Some(fetch)) => self.keys.push(fetch.primary_key(key)),
            (None, None) => unreachable!("without a fetch there is a builder"),
        }
    }

    fn take_leaf(&mut self, leaf: &LeafEntries<'_>) {
        match (&mut self.rows, &self.source.fetch) {
            (Some(rows), _) => {
                let values: Vec<&[u8]> = (0..leaf.len()).map(|index| leaf.value(index)).collect();
                rows.push_rows(&values, |row, key| leaf.key_into(row, key));
            }
            (None, Some(fetch)) => {
                let mut key = vec![];
                for index in 0..leaf.len() {
                    leaf.key_into(index, &mut key);
                    self.keys.push(fetch.primary_key(&key));
                }
            }
            (None, None) => unreachable!("without a fetch there is a builder"),
        }
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
        let root = |(low, high): &Bounds| self.tree.tree.root_part(low.clone(), high.clone());
        if self.fetch.as_ref().is_some_and(Fetch::downloads) {
            let together = |ranges: &[Bounds]| Work::Ranges(ranges.iter().map(root).collect());
            return self.ranges.chunks(DOWNLOAD_RANGES).map(together).map(part).collect();
        }
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
                Work::Ranges(ranges) => self.gather(ranges, access).await,
                Work::Fetch(keys) => self.fetch(keys, access).await,
                Work::First(wanted, range) => self.first(wanted, range, access).await,
            }
        })
    }
}

/// The first key of the range of one value.
fn low_key(low: &Bound<Vec<u8>>) -> &[u8] {
    match low {
        Bound::Included(key) | Bound::Excluded(key) => key,
        Bound::Unbounded => &[],
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
