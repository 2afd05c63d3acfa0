//! The rows of a scan, decomposed at each inner node of the tree (anagodb, section 2).

use std::collections::VecDeque;
use std::ops::Bound;

use arrow_array::RecordBatch;
use exec::{LocalFuture, Part, Step};
use plan::{self, First, IndexRef, KeyRange, Scan};
use storage::{Direction, RangePart};
use txn::visible::{Bounds, FirstEntries};
use types::SqlResult;

use super::access::{Relation, depth};
use super::keys::{bounds, low_key, points};
use super::partition::Partition;
use super::rows::Rows;
use crate::catalog::entry::TableEntry;
use crate::catalog::snapshot::Snapshot;
use crate::columns::fetch::ChunkFetch;

/// Rows that one task fetches by key: amortises a task's set-up (Umbra, section 5).
const FETCH_ROWS: usize = 128;

/// Keys that one task looks up together: half of a batch of rows.
const POINTS: usize = 1024;

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
    relation: Relation,
    ranges: Vec<Bounds>,
    /// Whole keys of the clustered tree, in place of ranges.
    points: Vec<Vec<u8>>,
    first: Option<First>,
}

enum Work {
    Range(RangePart),
    /// Ranges of an index whose rows are fetched together.
    Ranges(VecDeque<RangePart>),
    Fetch(Vec<Vec<u8>>),
    /// Rows by whole keys, which descend together.
    Points(Vec<Vec<u8>>),
    /// So many entries from this end of the range.
    First(usize, Bounds),
}

/// Entries that one step takes of those that are wanted in order: their rows go to their operator as
/// one batch.
const FIRST_ENTRIES: usize = 4096;

impl TableSource {
    /// The rows of a scan by an access path; `chunks` fetches those that are in parts of a column
    /// table.
    pub(crate) fn new(
        snapshot: &Snapshot,
        entry: &TableEntry,
        (scan, access): (&Scan, &plan::Access),
        chunks: Option<ChunkFetch>,
    ) -> SqlResult<TableSource> {
        let plan::Access::Range { index, ranges, fetch } = access else {
            let relation = Relation::of(snapshot, entry, &IndexRef::Primary, &scan.columns);
            let ranges = vec![(Bound::Unbounded, Bound::Unbounded)];
            return Ok(TableSource { relation, ranges, points: vec![], first: None });
        };
        let relation = Relation::of(snapshot, entry, index, &scan.columns);
        if are_points(&relation, index, ranges) && !fetch && scan.first.is_none() {
            let points = points(&relation.layout.key, ranges)?;
            return Ok(TableSource { relation, ranges: vec![], points, first: None });
        }
        let key = &relation.layout.key[..index.key_columns(&entry.def).len()];
        let ranges = ranges.iter().filter_map(|r| bounds(key, r).transpose());
        let mut ranges = ranges.collect::<SqlResult<Vec<_>>>()?;
        if index.is_hash() {
            // Values are in another order than their hashes; intervals that differ may be equal.
            ranges.sort_by(|(a, _), (b, _)| low_key(a).cmp(low_key(b)));
            ranges.dedup();
        }
        let relation = match fetch {
            true => relation.fetched(snapshot, entry, chunks),
            false => relation,
        };
        Ok(TableSource { relation, ranges, points: vec![], first: scan.first })
    }

    /// Only the rows of a partition; the scan is one of the whole table.
    pub(crate) fn within(self, partition: Option<&Partition>) -> TableSource {
        match partition {
            Some(partition) => TableSource { ranges: vec![partition.bounds()], ..self },
            None => self,
        }
    }

    /// The rows of a step, and the fetches that are left to do.
    fn taken(&self, mut taken: Rows<'_>) -> (Option<RecordBatch>, Vec<Work>) {
        let rows = taken.found().map(|mut rows| rows.finish());
        // In the order of the clustered tree, so that each of its pages is wanted by one fetch.
        taken.keys.sort_unstable();
        let from_chunks = self.relation.fetch.as_ref().is_some_and(|(_, fetch)| fetch.has_chunks());
        let count = if from_chunks { CHUNK_FETCH_ROWS } else { FETCH_ROWS };
        let count = count.min(self.relation.rows_at_once());
        let fetches = taken.keys.chunks(count).map(|chunk| Work::Fetch(chunk.to_vec()));
        (rows, fetches.collect())
    }

    async fn expand(&self, range: RangePart, access: exec::Access<'_>) -> SqlResult<Step> {
        let mut taken = self.relation.reader(LEAF_ROWS);
        let parts =
            self.relation.tree.expand(range, depth(access.depth), access.io, &mut taken).await?;
        let (rows, fetches) = self.taken(taken);
        let parts = parts.into_iter().map(Work::Range).chain(fetches);
        Ok(Step { rows, parts: parts.map(part).collect() })
    }

    /// Reads ranges of an index until there are enough rows for a fetch.
    async fn gather(
        &self,
        mut ranges: VecDeque<RangePart>,
        access: exec::Access<'_>,
    ) -> SqlResult<Step> {
        let mut gathered = self.relation.reader(0);
        let mut within = vec![];
        while gathered.keys.len() < CHUNK_FETCH_ROWS
            && let Some(range) = within.pop().or_else(|| ranges.pop_front())
        {
            let mut taken = self.relation.reader(0);
            within.extend(
                self.relation
                    .tree
                    .expand(range, depth(access.depth), access.io, &mut taken)
                    .await?,
            );
            gathered.keys.append(&mut taken.keys);
            if runtime::need_preempt() {
                runtime::yield_now().await;
            }
        }
        let left = (!ranges.is_empty()).then_some(Work::Ranges(ranges));
        let (_, fetches) = self.taken(gathered);
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
        let mut taken = self.relation.reader(now);
        let FirstEntries { count, last } =
            self.relation.tree.first(&range, direction, now, access.io, &mut taken).await?;
        let (low, high) = range;
        let rest = last.filter(|_| wanted > count).map(|last| match backward {
            true => Work::First(wanted - count, (low, Bound::Excluded(last))),
            false => Work::First(wanted - count, (Bound::Excluded(last), high)),
        });
        let (rows, fetches) = self.taken(taken);
        Ok(Step { rows, parts: fetches.into_iter().chain(rest).map(part).collect() })
    }

    async fn points(&self, keys: Vec<Vec<u8>>, access: exec::Access<'_>) -> SqlResult<Step> {
        let mut taken = self.relation.reader(keys.len());
        let depth = depth(access.depth);
        self.relation.tree.get_batch(&keys, depth, access.io, &mut taken).await?;
        Ok(Step { rows: taken.found().map(|mut rows| rows.finish()), parts: vec![] })
    }

    async fn fetch(&self, keys: Vec<Vec<u8>>, access: exec::Access<'_>) -> SqlResult<Step> {
        let (_, fetch) = self.relation.fetch.as_ref().expect("keys come from an index");
        let (rows, _) = fetch.rows(&keys, access).await?;
        Ok(Step { rows: Some(rows), parts: vec![] })
    }
}

/// True if each of several ranges is one whole key of the clustered tree.
fn are_points(relation: &Relation, index: &IndexRef, ranges: &[KeyRange]) -> bool {
    let is_whole = |range: &KeyRange| range.prefix.len() == relation.layout.key.len();
    matches!(index, IndexRef::Primary) && ranges.len() > 1 && ranges.iter().all(is_whole)
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
        if !self.points.is_empty() {
            let count = POINTS.min(self.relation.rows_at_once());
            let points = self.points.chunks(count).map(|keys| Work::Points(keys.to_vec()));
            return points.map(part).collect();
        }
        let root =
            |(low, high): &Bounds| self.relation.tree.tree.root_part(low.clone(), high.clone());
        if self.relation.fetch.as_ref().is_some_and(|(_, fetch)| fetch.downloads()) {
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
                Work::Points(keys) => self.points(keys, access).await,
                Work::First(wanted, range) => self.first(wanted, range, access).await,
            }
        })
    }
}
