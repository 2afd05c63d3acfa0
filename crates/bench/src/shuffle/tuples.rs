//! Data of a shuffle: tuples of a key and a payload, cut out of batches and put together again from
//! pieces.

use stdx::Prng;

/// Bytes of a key, with which a tuple begins.
const KEY_BYTES: usize = 8;

/// How many tuples, and the sum of their mixed keys: what was sent must have been received.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Tally {
    pub(super) count: u64,
    pub(super) sum: u64,
}

impl Tally {
    fn add(&mut self, key: u64) {
        self.count += 1;
        self.sum = self.sum.wrapping_add(mixed(key));
    }

    pub(super) fn merge(&mut self, other: Tally) {
        self.count += other.count;
        self.sum = self.sum.wrapping_add(other.sum);
    }
}

/// The rows of one node.
pub(super) struct Scan {
    random: Prng,
    left: u64,
    tuple_bytes: usize,
    nodes: u64,
}

impl Scan {
    pub(super) fn new(node: usize, nodes: usize, tuples: u64, tuple_bytes: usize) -> Scan {
        assert!(tuple_bytes >= KEY_BYTES, "a tuple has a key");
        let random = Prng::new(node as u64 + 1);
        Scan { random, left: tuples, tuple_bytes, nodes: nodes as u64 }
    }

    /// The next key and the node that it belongs to.
    pub(super) fn next(&mut self) -> Option<(u64, usize)> {
        self.left = self.left.checked_sub(1)?;
        let key = self.random.next_u64();
        Some((key, (mixed(key) >> 32) as usize % self.nodes as usize))
    }

    /// Writes a tuple to the end of a batch.
    pub(super) fn write(&self, key: u64, into: &mut [u8], tally: &mut Tally) {
        into[..KEY_BYTES].copy_from_slice(&key.to_le_bytes());
        into[KEY_BYTES..self.tuple_bytes].fill(key as u8);
        tally.add(key);
    }
}

/// Where the tuples of a peer go: they are counted, checked, and put into a table where there is
/// one.
pub(super) struct Sink {
    tuple_bytes: usize,
    /// A tuple of which the last bytes have not come yet.
    partial: Vec<u8>,
    pub(super) tally: Tally,
    /// Tuples whose payload is not that of their key.
    pub(super) wrong: u64,
}

impl Sink {
    pub(super) fn new(tuple_bytes: usize) -> Sink {
        Sink { tuple_bytes, partial: Vec::new(), tally: Tally::default(), wrong: 0 }
    }

    /// Takes the next bytes of the stream.
    pub(super) fn take(&mut self, mut bytes: &[u8], table: &mut Option<Table>) {
        if !self.partial.is_empty() {
            let cut = (self.tuple_bytes - self.partial.len()).min(bytes.len());
            self.partial.extend_from_slice(&bytes[..cut]);
            bytes = &bytes[cut..];
            if self.partial.len() == self.tuple_bytes {
                let whole = std::mem::take(&mut self.partial);
                self.tuple(&whole, table);
            }
        }
        let tuples = bytes.chunks_exact(self.tuple_bytes);
        self.partial.extend_from_slice(tuples.remainder());
        tuples.for_each(|tuple| self.tuple(tuple, table));
    }

    pub(super) fn tuple_bytes(&self) -> usize {
        self.tuple_bytes
    }

    /// True if the stream ended between two tuples.
    pub(super) fn is_whole(&self) -> bool {
        self.partial.is_empty()
    }

    fn tuple(&mut self, tuple: &[u8], table: &mut Option<Table>) {
        let mut key = [0; KEY_BYTES];
        key.copy_from_slice(&tuple[..KEY_BYTES]);
        let key = u64::from_le_bytes(key);
        // The last byte alone: reading all of them would be most of the work.
        self.wrong += u64::from(tuple.len() > KEY_BYTES && tuple.last() != Some(&(key as u8)));
        self.tally.add(key);
        if let Some(table) = table {
            table.insert(key);
        }
    }
}

/// The hash table of a join, as far as its memory is concerned: keys by open addressing.
pub(super) struct Table {
    slots: Vec<u64>,
}

impl Table {
    /// Room for `count` keys at half of its places.
    pub(super) fn new(count: u64) -> Table {
        Table { slots: vec![0; (count as usize * 2).next_power_of_two().max(64)] }
    }

    pub(super) fn insert(&mut self, key: u64) {
        let mask = self.slots.len() - 1;
        let mut at = mixed(key) as usize & mask;
        // Keys are drawn evenly: a node gets about its share, and the table is twice as large.
        for _ in 0..self.slots.len() {
            if self.slots[at] == 0 || self.slots[at] == key {
                self.slots[at] = key;
                return;
            }
            at = (at + 1) & mask;
        }
    }
}

fn mixed(key: u64) -> u64 {
    let key = (key ^ (key >> 33)).wrapping_mul(0xFF51_AFD7_ED55_8CCD);
    key ^ (key >> 33)
}

#[cfg(test)]
mod tests;
