//! How the table of a join is made: its rows are divided by their hashes, then each part is sorted.

use std::sync::Arc;

use arrow_array::{ArrayRef, RecordBatch, UInt32Array};
use arrow_schema::SchemaRef;
use types::SqlResult;

use super::{Buckets, JoinTable, Part, TAG_BITS, bucket_of, part_of, tag};
use crate::batch;
use crate::jobs::{Job, Parallelism, Results, job};
use crate::keys::{KeyBatch, KeyCoder, Keys, WideKey};
use crate::preempt::breathe;

/// Rows of a part, about: with its directory it is half a megabyte, which a core's second cache holds.
const PART_ROWS: usize = 16_384;

/// Parts at most: so many places are written to in turn while rows are divided.
const PARTS_MAX: usize = 256;

/// Jobs for each worker, so that the slower of two does fewer of them.
const JOBS_PER_WORKER: usize = 4;

/// Rows of a part between two looks at the clock.
const STEP_ROWS: usize = 16_384;

/// Rows that are divided at once at least.
const CHUNK_ROWS: usize = 16_384;

/// What an entry has of a key.
pub(super) trait EntryKey: Copy + Send + 'static {
    /// Whether the keys themselves are needed, too.
    const KEEPS_KEYS: bool;

    /// That of a row.
    fn of(keys: &Keys, hash: u64, row: usize) -> Self;
}

impl EntryKey for i64 {
    const KEEPS_KEYS: bool = false;

    fn of(keys: &Keys, _: u64, row: usize) -> i64 {
        let Keys::Ints(keys) = keys else { unreachable!("keys of one coder have one shape") };
        keys[row]
    }
}

impl EntryKey for WideKey {
    const KEEPS_KEYS: bool = false;

    fn of(keys: &Keys, _: u64, row: usize) -> WideKey {
        let Keys::Wide(keys) = keys else { unreachable!("keys of one coder have one shape") };
        keys[row]
    }
}

impl EntryKey for u32 {
    const KEEPS_KEYS: bool = true;

    fn of(_: &Keys, hash: u64, _: usize) -> u32 {
        (hash >> 32) as u32
    }
}

/// A row on its way: its hash, what stands for its key, its position.
type Item<K> = (u64, K, u32);

/// Some rows, by the part that they belong to.
struct Divided<K> {
    parts: Vec<Vec<Item<K>>>,
    /// Where they are needed.
    keys: Vec<Keys>,
}

/// The keys of some batches, with the position of the first row of each.
type Chunk = Vec<(u32, KeyBatch)>;

impl JoinTable {
    /// The table of build rows of `schema` with their keys. Those with a null key are left out unless
    /// `nulls_match`. `jobs` are done beside.
    ///
    /// # Errors
    /// 54000 for too many rows; those of `jobs`.
    pub(crate) async fn of(
        (schema, coder): (&SchemaRef, &KeyCoder),
        parts: Vec<(RecordBatch, KeyBatch)>,
        nulls_match: bool,
        parallelism: &Parallelism<'_>,
        jobs: Vec<Job>,
    ) -> SqlResult<JoinTable> {
        let (batches, keys): (Vec<RecordBatch>, Vec<KeyBatch>) = parts.into_iter().unzip();
        let row_count = batch::row_count(&batches)?;
        let mut making = Making { row_count, nulls_match, parallelism, jobs };
        let null_rows = null_rows(&keys);
        let rows = Rows::new(schema, batches, &mut making.jobs)?;
        let buckets = match coder.empty() {
            Keys::Ints(_) => Buckets::Ints(making.parts(keys).await?.0),
            Keys::Wide(_) => Buckets::Wide(making.parts(keys).await?.0),
            Keys::Bytes(_) => {
                let (parts, keys) = making.parts(keys).await?;
                Buckets::ByHash { parts, keys: joined(coder, keys).await }
            }
        };
        Ok(JoinTable { rows: rows.finish()?, null_rows, buckets })
    }
}

/// Positions of rows with a null key.
fn null_rows(keys: &[KeyBatch]) -> UInt32Array {
    let mut rows = vec![];
    let mut first = 0;
    for keys in keys {
        if let Some(nulls) = keys.nulls.as_ref().filter(|nulls| nulls.null_count() > 0) {
            let null = (0..nulls.len()).filter(|row| nulls.is_null(*row));
            rows.extend(null.map(|row| (first + row) as u32));
        }
        first += keys.hashes.len();
    }
    rows.into()
}

/// The rows themselves, as one batch in the making: a job for each column.
enum Rows {
    Whole(RecordBatch),
    Columns(SchemaRef, usize, Results<ArrayRef>),
}

impl Rows {
    fn new(schema: &SchemaRef, batches: Vec<RecordBatch>, jobs: &mut Vec<Job>) -> SqlResult<Rows> {
        if batches.len() < 2 {
            return batch::concat(schema, &batches).map(Rows::Whole);
        }
        let row_count = batches.iter().map(RecordBatch::num_rows).sum();
        let columns = batch::parts_of_columns(schema, batches);
        let results = Results::of(columns.len());
        for (at, parts) in columns.into_iter().enumerate() {
            let slot = results.slot(at);
            jobs.push(job(move || {
                slot.put(batch::whole(parts)?);
                Ok(())
            }));
        }
        Ok(Rows::Columns(Arc::clone(schema), row_count, results))
    }

    fn finish(self) -> SqlResult<RecordBatch> {
        match self {
            Rows::Whole(rows) => Ok(rows),
            Rows::Columns(schema, row_count, columns) => {
                batch::make(&schema, columns.take(), row_count)
            }
        }
    }
}

/// All keys, in their order.
async fn joined(coder: &KeyCoder, keys: Vec<Keys>) -> Keys {
    // Vectors that grow would take, while they do, three times what is counted.
    let mut all = coder.room_for(keys.iter());
    for keys in keys {
        all.append(keys);
        breathe().await;
    }
    all
}

/// A table in the making.
struct Making<'a> {
    row_count: usize,
    nulls_match: bool,
    parallelism: &'a Parallelism<'a>,
    /// What else is to be done.
    jobs: Vec<Job>,
}

impl Making<'_> {
    /// The parts of the table, and the keys in their order where they are kept.
    async fn parts<K: EntryKey>(self, keys: Vec<KeyBatch>) -> SqlResult<(Vec<Part<K>>, Vec<Keys>)> {
        let part_count = (self.row_count / PART_ROWS).next_power_of_two().min(PARTS_MAX);
        let chunks = self.chunks(keys);
        let results = Results::of(chunks.len());
        let (mut jobs, nulls_match) = (self.jobs, self.nulls_match);
        for (at, chunk) in chunks.into_iter().enumerate() {
            let slot = results.slot(at);
            jobs.push(Box::new(move || {
                Box::pin(async move {
                    slot.put(divide::<K>(chunk, part_count, nulls_match).await);
                    Ok(())
                })
            }));
        }
        self.parallelism.run_all(jobs).await?;
        let (mut keys, mut parts) = (vec![], Vec::new());
        parts.resize_with(part_count, Vec::new);
        for divided in results.take() {
            keys.extend(divided.keys);
            parts.iter_mut().zip(divided.parts).for_each(|(part, rows)| part.push(rows));
        }
        let results = Results::of(part_count);
        let jobs = parts.into_iter().enumerate().map(|(at, rows)| {
            let slot = results.slot(at);
            let job: Job = Box::new(move || {
                Box::pin(async move {
                    slot.put(Part::of(rows).await);
                    Ok(())
                })
            });
            job
        });
        self.parallelism.run_all(jobs.collect()).await?;
        Ok((results.take(), keys))
    }

    /// The batches, some consecutive ones together.
    fn chunks(&self, keys: Vec<KeyBatch>) -> Vec<Chunk> {
        let per_job = self.row_count / (self.parallelism.count() * JOBS_PER_WORKER);
        let rows_max = per_job.max(CHUNK_ROWS);
        let (mut chunks, mut first, mut rows) = (vec![vec![]], 0, 0);
        for keys in keys {
            let count = keys.hashes.len();
            if rows >= rows_max {
                chunks.push(vec![]);
                rows = 0;
            }
            if let Some(chunk) = chunks.last_mut() {
                chunk.push((first, keys));
            }
            first += count as u32;
            rows += count;
        }
        chunks
    }
}

/// Divides rows by their hashes; what has no entry is left out.
async fn divide<K: EntryKey>(chunk: Chunk, part_count: usize, nulls_match: bool) -> Divided<K> {
    let mut counts = vec![0; part_count];
    for (_, keys) in &chunk {
        keys.hashes.iter().for_each(|hash| counts[part_of(*hash, part_count)] += 1);
        breathe().await;
    }
    let mut parts: Vec<Vec<Item<K>>> = counts.into_iter().map(Vec::with_capacity).collect();
    let mut kept = vec![];
    for (first, KeyBatch { keys, hashes, nulls }) in chunk {
        let left_out = nulls.filter(|nulls| !nulls_match && nulls.null_count() > 0);
        for (row, hash) in hashes.into_iter().enumerate() {
            if left_out.as_ref().is_none_or(|nulls| nulls.is_valid(row)) {
                let item = (hash, K::of(&keys, hash, row), first + row as u32);
                parts[part_of(hash, part_count)].push(item);
            }
        }
        if K::KEEPS_KEYS {
            kept.push(keys);
        }
        breathe().await;
    }
    Divided { parts, keys: kept }
}

impl<K: EntryKey> Part<K> {
    /// The part of these rows: by bucket, and in their order there. Gives way: where many rows have one key,
    /// all of them are of one part.
    async fn of(rows: Vec<Vec<Item<K>>>) -> Part<K> {
        let row_count: usize = rows.iter().map(Vec::len).sum();
        let bucket_count = row_count.next_power_of_two();
        let mut directory = vec![0u64; bucket_count + 1];
        for step in rows.iter().flat_map(|rows| rows.chunks(STEP_ROWS)) {
            for (hash, _, _) in step {
                directory[bucket_of(*hash, bucket_count)] += 1 << TAG_BITS;
            }
            breathe().await;
        }
        let mut end = 0;
        for word in &mut directory {
            let count = std::mem::replace(word, end << TAG_BITS) >> TAG_BITS;
            end += count;
        }
        // While entries are put in their places, a word says where the next one of its bucket goes.
        let mut entries = match rows.iter().flatten().next() {
            Some((_, key, position)) => vec![(*key, *position); row_count],
            None => vec![],
        };
        let mut tags = vec![0u16; bucket_count];
        for step in rows.iter().flat_map(|rows| rows.chunks(STEP_ROWS)) {
            for (hash, key, position) in step {
                let bucket = bucket_of(*hash, bucket_count);
                entries[(directory[bucket] >> TAG_BITS) as usize] = (*key, *position);
                directory[bucket] += 1 << TAG_BITS;
                tags[bucket] |= tag(*hash) as u16;
            }
            breathe().await;
        }
        // Each word now is where the next bucket begins.
        directory.copy_within(..bucket_count, 1);
        directory[0] = 0;
        directory.iter_mut().zip(tags).for_each(|(word, tags)| *word |= u64::from(tags));
        Part { directory, entries }
    }
}
