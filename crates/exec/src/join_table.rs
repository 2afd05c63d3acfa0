//! The hash table of a join: all build rows in one batch, found by the hash of their keys.

mod making;

use std::sync::atomic::{AtomicU64, Ordering};

use arrow_array::{BooleanArray, RecordBatch, UInt32Array};
use arrow_buffer::BooleanBuffer;

use crate::keys::{KeyBatch, Keys, WideKey};
use crate::pairs::Pairs;

/// Bytes per row of a table beside its key: a position and at most two words of the directory, and the
/// hash and the position again while the table is made.
pub(crate) const TABLE_BYTES: usize = 8 + 2 * 8 + 16;

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
/// The table has parts, chosen by some bits of the hash, each small enough for a core's cache while it is
/// made; so all workers make it, and none waits for memory. A probe reads one word of a part's directory,
/// which says where the bucket begins and, by some bits of the hashes in it, whether it can have the key at
/// all; then the entries, which lie side by side. Many keys are looked up in loops whose rounds do not wait
/// for one another, so that the processor fetches many of them at once. (After Birler, Schmidt, Fent and
/// Neumann, "Simple, efficient, and robust hash tables for join processing", 2024.)
pub(crate) struct JoinTable {
    /// All build rows, those with null keys included.
    pub(crate) rows: RecordBatch,
    /// Positions of rows with a null key.
    pub(crate) null_rows: UInt32Array,
    buckets: Buckets,
}

/// The parts, by what is compared with a key.
enum Buckets {
    Ints(Vec<Part<i64>>),
    Wide(Vec<Part<WideKey>>),
    /// The upper half of the hash first: most keys that differ differ there.
    ByHash {
        parts: Vec<Part<u32>>,
        keys: Keys,
    },
}

/// The rows of which some bits of the hash are the same.
struct Part<K> {
    /// For each bucket where its entries begin, above the bits of [`tag`]; one more ends the last. A
    /// power of two and one.
    directory: Vec<u64>,
    /// What stands for the key, and the position of its row.
    entries: Vec<(K, u32)>,
}

/// Bits of a directory's word that tell hashes apart.
const TAG_BITS: u32 = 16;

/// Keys that are looked up at a time: what is noted of them stays in the first cache.
const PROBED_AT_ONCE: usize = 1024;

/// How far rows of a batch are looked up.
pub(crate) struct Extent {
    /// The first row.
    pub(crate) first: usize,
    /// Pairs after which it ends.
    pub(crate) enough: usize,
    /// Whether only the first partner of a row counts.
    pub(crate) one_will_do: bool,
}

impl JoinTable {
    /// Adds the partners of rows of `probe`, until there are enough, and returns the row that is next.
    /// The partners of a row are in the order of rows; of rows that `passes` does not let through there are
    /// none.
    pub(crate) fn find(
        &self,
        probe: &KeyBatch,
        extent: &Extent,
        passes: impl Fn(usize) -> bool,
        pairs: &mut Pairs,
    ) -> usize {
        let hashes = &probe.hashes;
        match (&self.buckets, &probe.keys) {
            (Buckets::Ints(parts), Keys::Ints(keys)) => {
                find(parts, hashes, extent, passes, |key, _, row| *key == keys[row], pairs)
            }
            (Buckets::Wide(parts), Keys::Wide(keys)) => {
                find(parts, hashes, extent, passes, |key, _, row| *key == keys[row], pairs)
            }
            (Buckets::ByHash { parts, keys }, probe_keys) => {
                let is_same = |half: &u32, partner: u32, row: usize| {
                    *half == (hashes[row] >> 32) as u32
                        && keys.equal(partner as usize, probe_keys, row)
                };
                find(parts, hashes, extent, passes, is_same, pairs)
            }
            _ => unreachable!("both sides of a join have keys of one shape"),
        }
    }
}

/// The same in parts; `is_same` compares an entry's key and position with a row.
fn find<K>(
    parts: &[Part<K>],
    hashes: &[u64],
    extent: &Extent,
    passes: impl Fn(usize) -> bool,
    is_same: impl Fn(&K, u32, usize) -> bool,
    pairs: &mut Pairs,
) -> usize {
    let mut found = Vec::with_capacity(PROBED_AT_ONCE);
    let mut at = extent.first;
    while at < hashes.len() && pairs.left.len() < extent.enough {
        let until = hashes.len().min(at + PROBED_AT_ONCE);
        found.clear();
        found.extend(
            hashes[at..until]
                .iter()
                .map(|hash| parts[part_of(*hash, parts.len())].entries_of(*hash)),
        );
        for entries in &found {
            if !entries.is_empty() && passes(at) {
                let same = entries.iter().filter(|(key, partner)| is_same(key, *partner, at));
                let wanted = if extent.one_will_do { 1 } else { usize::MAX };
                same.take(wanted).for_each(|(_, partner)| pairs.push(*partner, at as u32));
            }
            at += 1;
            if pairs.left.len() >= extent.enough {
                break;
            }
        }
    }
    at
}

impl<K> Part<K> {
    /// The entries among which those of a hash are.
    #[inline]
    fn entries_of(&self, hash: u64) -> &[(K, u32)] {
        let bucket = bucket_of(hash, self.directory.len() - 1);
        let (word, next) = (self.directory[bucket], self.directory[bucket + 1]);
        match word & tag(hash) {
            0 => &[],
            _ => &self.entries[(word >> TAG_BITS) as usize..(next >> TAG_BITS) as usize],
        }
    }
}

/// The part of a hash: by bits that choose neither bucket nor tag, nor a partition on disk.
#[inline]
fn part_of(hash: u64, part_count: usize) -> usize {
    (hash >> 48) as usize & (part_count - 1)
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

#[cfg(test)]
mod tests;
