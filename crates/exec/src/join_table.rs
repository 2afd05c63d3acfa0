//! The hash table of a join: all build rows in one batch, found by the hash of their keys.

use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};

use arrow_array::{BooleanArray, RecordBatch, UInt32Array};
use arrow_buffer::{BooleanBuffer, NullBuffer};

use crate::keys::{KeyBatch, Keys};
use crate::pairs::Pairs;
use crate::stage::breathe;

/// Bytes per row of a table: an entry, and at most two words of the directory, each with half a word while
/// the table is made.
pub(crate) const TABLE_BYTES: usize = 16 + 2 * (8 + 4);

/// Bits set by probes of several workers at once.
pub(crate) struct SharedBits {
    words: Vec<AtomicU64>,
    len: usize,
}

impl SharedBits {
    pub(crate) fn new(len: usize) -> SharedBits {
        SharedBits { words: (0..len.div_ceil(64)).map(|_| AtomicU64::new(0)).collect(), len }
    }

    pub(crate) fn set(&self, i: usize) {
        let (word, bit) = (&self.words[i / 64], 1 << (i % 64));
        // Mostly set already: a plain read spares the cache line its way between the cores.
        if word.load(Ordering::Relaxed) & bit == 0 {
            word.fetch_or(bit, Ordering::Relaxed);
        }
    }

    fn is_set(&self, i: usize) -> bool {
        self.words[i / 64].load(Ordering::Relaxed) & (1 << (i % 64)) != 0
    }

    /// All bits as a vector.
    pub(crate) fn to_array(&self) -> BooleanArray {
        BooleanArray::new(BooleanBuffer::collect_bool(self.len, |i| self.is_set(i)), None)
    }

    /// The positions of the bits that are `value`.
    pub(crate) fn positions(&self, value: bool) -> UInt32Array {
        (0..self.len).filter(|&i| self.is_set(i) == value).map(|i| i as u32).collect()
    }
}

/// A finished build side: positions of rows, sorted by the bucket that the hash of their key falls in.
///
/// A probe reads one word of the directory, which says where the bucket begins and, by some bits of the
/// hashes in it, whether it can have the key at all; then the entries, which lie side by side. Many keys are
/// looked up in loops whose rounds do not wait for one another, so that the processor fetches many of them at
/// once. (After Birler, Schmidt, Fent and Neumann, "Simple, efficient, and robust hash tables for join
/// processing", 2024.)
pub(crate) struct JoinTable {
    /// All build rows, those with null keys included.
    pub(crate) rows: RecordBatch,
    /// Positions of rows with a null key.
    pub(crate) null_rows: UInt32Array,
    /// For each bucket where its entries begin, above the bits of [`tag`]; one more ends the last. A
    /// power of two and one.
    directory: Vec<u64>,
    entries: Entries,
}

/// What is compared with a key, and the position of its row.
enum Entries {
    Ints(Vec<(i64, u32)>),
    /// The upper half of the hash first: most keys that differ differ there.
    ByHash {
        entries: Vec<(u32, u32)>,
        keys: Keys,
    },
}

/// Bits of a directory's word that tell hashes apart.
const TAG_BITS: u32 = 16;

/// Keys that are looked up at a time: what is noted of them stays in the first cache.
const PROBED_AT_ONCE: usize = 1024;

/// Rows of a table in the making between two looks at the clock.
const BUILD_ROWS: usize = 16_384;

impl JoinTable {
    /// The table of `rows`. Those with a null key are left out unless `nulls_match`.
    pub(crate) async fn new(rows: RecordBatch, batch: KeyBatch, nulls_match: bool) -> JoinTable {
        let row_count = rows.num_rows();
        let null_rows = match &batch.nulls {
            Some(nulls) => (0..row_count).filter(|&i| nulls.is_null(i)).map(|i| i as u32).collect(),
            None => UInt32Array::new_null(0),
        };
        let KeyBatch { keys, hashes, nulls } = batch;
        let left_out = nulls.filter(|_| !nulls_match);
        let places = Places { hashes: &hashes, left_out: left_out.as_ref() };
        let (directory, starts) = places.directory().await;
        let entries = match keys {
            Keys::Ints(keys) => {
                Entries::Ints(places.sorted(starts, (0, 0), |i| (keys[i], i as u32)).await)
            }
            keys => {
                let entry = |i: usize| ((hashes[i] >> 32) as u32, i as u32);
                Entries::ByHash { entries: places.sorted(starts, (0, 0), entry).await, keys }
            }
        };
        JoinTable { rows, null_rows, directory, entries }
    }

    /// Adds the partners of rows of `probe` from `first` on, until there are `enough`, and returns the row
    /// that is next. The partners of a row are in the order of rows; of rows that `passes` does not let
    /// through there are none, and only the first if `one_will_do`.
    pub(crate) fn find(
        &self,
        probe: &KeyBatch,
        first: usize,
        (enough, one_will_do): (usize, bool),
        passes: impl Fn(usize) -> bool,
        pairs: &mut Pairs,
    ) -> usize {
        let mut spans = Vec::with_capacity(PROBED_AT_ONCE);
        let (mut at, count) = (first, probe.hashes.len());
        while at < count && pairs.left.len() < enough {
            let until = count.min(at + PROBED_AT_ONCE);
            spans.clear();
            spans.extend(probe.hashes[at..until].iter().map(|hash| self.span(*hash)));
            for (row, (start, end)) in (at..until).zip(&spans) {
                if start < end && passes(row) {
                    self.compare(probe, row, *start as usize..*end as usize, one_will_do, pairs);
                }
                at = row + 1;
                if pairs.left.len() >= enough {
                    break;
                }
            }
        }
        at
    }

    /// The entries among which those of a hash are.
    #[inline]
    fn span(&self, hash: u64) -> (u32, u32) {
        let bucket = bucket_of(hash, self.directory.len() - 1);
        let (word, next) = (self.directory[bucket], self.directory[bucket + 1]);
        match word & tag(hash) {
            0 => (0, 0),
            _ => ((word >> TAG_BITS) as u32, (next >> TAG_BITS) as u32),
        }
    }

    #[inline]
    fn compare(
        &self,
        probe: &KeyBatch,
        row: usize,
        span: Range<usize>,
        one_will_do: bool,
        pairs: &mut Pairs,
    ) {
        match (&self.entries, &probe.keys) {
            (Entries::Ints(entries), Keys::Ints(keys)) => {
                for (key, partner) in &entries[span] {
                    if *key == keys[row] {
                        pairs.push(*partner, row as u32);
                        if one_will_do {
                            return;
                        }
                    }
                }
            }
            (Entries::ByHash { entries, keys }, probe_keys) => {
                let half = (probe.hashes[row] >> 32) as u32;
                for (hash, partner) in &entries[span] {
                    if *hash == half && keys.equal(*partner as usize, probe_keys, row) {
                        pairs.push(*partner, row as u32);
                        if one_will_do {
                            return;
                        }
                    }
                }
            }
            _ => {}
        }
    }
}

/// Where rows go in a table.
struct Places<'a> {
    hashes: &'a [u64],
    /// Rows that have no entry: those that are null here.
    left_out: Option<&'a NullBuffer>,
}

impl Places<'_> {
    fn rows(&self, range: Range<usize>) -> impl Iterator<Item = usize> {
        range.filter(|row| self.left_out.is_none_or(|nulls| nulls.is_valid(*row)))
    }

    fn steps(&self) -> impl Iterator<Item = Range<usize>> {
        let count = self.hashes.len();
        (0..count).step_by(BUILD_ROWS).map(move |first| first..count.min(first + BUILD_ROWS))
    }

    /// The directory, and where the entries of each bucket begin.
    async fn directory(&self) -> (Vec<u64>, Vec<u32>) {
        let bucket_count = self.hashes.len().next_power_of_two();
        let (mut directory, mut starts) = (vec![0u64; bucket_count + 1], vec![0u32; bucket_count]);
        for step in self.steps() {
            for row in self.rows(step) {
                let bucket = bucket_of(self.hashes[row], bucket_count);
                starts[bucket] += 1;
                directory[bucket] |= tag(self.hashes[row]);
            }
            breathe().await;
        }
        let mut end = 0;
        for (i, (start, word)) in starts.iter_mut().zip(&mut directory).enumerate() {
            let count = std::mem::replace(start, end);
            *word |= u64::from(end) << TAG_BITS;
            end += count;
            if i % BUILD_ROWS == 0 {
                breathe().await;
            }
        }
        directory[bucket_count] = u64::from(end) << TAG_BITS;
        (directory, starts)
    }

    /// The entries of all rows, by bucket, and in their order there.
    async fn sorted<T: Copy>(
        &self,
        mut starts: Vec<u32>,
        empty: T,
        entry: impl Fn(usize) -> T,
    ) -> Vec<T> {
        let mut entries = vec![empty; self.rows(0..self.hashes.len()).count()];
        let bucket_count = starts.len();
        for step in self.steps() {
            for row in self.rows(step) {
                let next = &mut starts[bucket_of(self.hashes[row], bucket_count)];
                entries[*next as usize] = entry(row);
                *next += 1;
            }
            breathe().await;
        }
        entries
    }
}

#[inline]
fn bucket_of(hash: u64, bucket_count: usize) -> usize {
    // The low bits; the hash mixes all of them.
    (hash as usize) & (bucket_count - 1)
}

/// One bit, by bits of the hash that choose no bucket.
#[inline]
fn tag(hash: u64) -> u64 {
    1 << (hash >> 60)
}
