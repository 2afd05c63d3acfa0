//! The hash table of a join: all build rows in one batch, chained by the hash of their keys.

use std::sync::atomic::{AtomicU64, Ordering};

use arrow_array::{BooleanArray, RecordBatch, UInt32Array};
use arrow_buffer::{BooleanBuffer, NullBuffer};

use crate::keys::{KeyBatch, Keys};

/// Bytes per row for the chains: a link, and between two and four heads.
pub(crate) const CHAIN_BYTES: usize = 4 + 4 * 4;

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

/// A finished build side.
pub(crate) struct JoinTable {
    /// All build rows, those with null keys included.
    pub(crate) rows: RecordBatch,
    /// Positions of rows with a null key.
    pub(crate) null_rows: UInt32Array,
    keys: Keys,
    hashes: Vec<u64>,
    nulls: Option<NullBuffer>,
    /// Rows before this one are not chained yet.
    unchained: usize,
    /// Position + 1 of the first row of each chain; 0 is none. A power of two.
    heads: Vec<u32>,
    /// Position + 1 of the next row of the chain.
    next: Vec<u32>,
}

impl JoinTable {
    /// A table of `rows` of which none is chained yet.
    pub(crate) fn new(rows: RecordBatch, batch: KeyBatch) -> JoinTable {
        let row_count = rows.num_rows();
        let null_rows = match &batch.nulls {
            Some(nulls) => (0..row_count).filter(|&i| nulls.is_null(i)).map(|i| i as u32).collect(),
            None => UInt32Array::new_null(0),
        };
        let (heads, next) = (vec![0; (row_count * 2).next_power_of_two()], vec![0; row_count]);
        let KeyBatch { keys, hashes, nulls } = batch;
        JoinTable { rows, null_rows, keys, hashes, nulls, heads, next, unchained: row_count }
    }

    /// Chains up to `row_count` more rows; false when all are. Rows with a null key are left out
    /// unless `nulls_match`. Goes backwards, so that each chain is in the order of the rows.
    pub(crate) fn chain_some(&mut self, row_count: usize, nulls_match: bool) -> bool {
        let bucket_count = self.heads.len();
        let until = self.unchained.saturating_sub(row_count);
        for i in (until..self.unchained).rev() {
            if !nulls_match && self.nulls.as_ref().is_some_and(|n| n.is_null(i)) {
                continue;
            }
            let bucket = bucket_of(self.hashes[i], bucket_count);
            self.next[i] = self.heads[bucket];
            self.heads[bucket] = i as u32 + 1;
        }
        self.unchained = until;
        until > 0
    }

    /// Calls `found` for each build row whose key equals key `i` of `probe`, while it returns true.
    pub(crate) fn each_match(
        &self,
        probe: &KeyBatch,
        i: usize,
        mut found: impl FnMut(u32) -> bool,
    ) {
        let hash = probe.hashes[i];
        let mut link = self.heads[bucket_of(hash, self.heads.len())];
        while link != 0 {
            let row = (link - 1) as usize;
            let same = self.hashes[row] == hash && self.keys.equal(row, &probe.keys, i);
            if same && !found(link - 1) {
                return;
            }
            link = self.next[row];
        }
    }
}

fn bucket_of(hash: u64, bucket_count: usize) -> usize {
    // The low bits; the hash mixes all of them.
    (hash as usize) & (bucket_count - 1)
}
