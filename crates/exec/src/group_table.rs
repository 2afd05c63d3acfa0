//! Which group has a key: places found by hash, each with half of the hash and the number of a group.
//!
//! Keys are looked up many at a time, in loops whose rounds do not wait for one another, so that the
//! processor fetches many places at once: first the places of all keys are read, then the keys of the
//! groups found there are compared. What is not found so is looked up alone.

use std::ops::Range;

use crate::keys::{Keys, WideKey};

/// Places of a new table.
const PLACES_MIN: usize = 64;

/// The group of a key that is not known yet.
pub(crate) const MISSING: usize = usize::MAX;

/// Places whose groups move when a group is added to a table that has grown: four times as many would be
/// looked at before it grows again.
const MOVED_AT_ONCE: usize = 8;

/// The same for each batch: a tenth of a millisecond.
const MOVED_OF_BATCH: usize = 4096;

/// Groups by the hash of their keys. At most half of the places are taken.
#[derive(Default)]
pub(crate) struct GroupTable {
    /// The upper half of a hash, then the number of its group + 1; 0 is a free place. A power of two.
    places: Vec<u64>,
    count: usize,
    /// The places before the table has grown, until all groups are in `places`: of millions at once, others
    /// would wait for long. It is read only, and has all groups that were known by then.
    old: Vec<u64>,
    /// Places of `old` whose groups are in `places`.
    moved: usize,
    /// The groups whose keys are to be compared + 1; 0 is none.
    guesses: Vec<u32>,
}

impl GroupTable {
    pub(crate) fn new() -> GroupTable {
        GroupTable { places: vec![0; PLACES_MIN], ..GroupTable::default() }
    }

    /// Bytes of the table.
    pub(crate) fn bytes(&self) -> usize {
        let places = self.places.capacity() + self.old.capacity();
        places * size_of::<u64>() + self.guesses.capacity() * size_of::<u32>()
    }

    /// Appends the group of each key of `range`, or [`MISSING`]: then it may be in the table
    /// all the same. `known` are the keys of the groups.
    pub(crate) fn look_up(
        &mut self,
        known: &Keys,
        (keys, hashes): (&Keys, &[u64]),
        range: Range<usize>,
        found: &mut Vec<usize>,
    ) {
        let mask = self.places.len() - 1;
        self.guesses.clear();
        let guess = |hash: &u64| {
            let place = self.places[*hash as usize & mask];
            if place >> 32 == hash >> 32 { place as u32 } else { 0 }
        };
        self.guesses.extend(hashes[range.clone()].iter().map(guess));
        let group = |guess: u32, is_same: bool| if is_same { guess as usize - 1 } else { MISSING };
        match (known, keys) {
            (Keys::Ints(known), Keys::Ints(keys)) => {
                let same = |guess: u32, key: &i64| guess > 0 && known[guess as usize - 1] == *key;
                let pairs = self.guesses.iter().zip(&keys[range]);
                found.extend(pairs.map(|(guess, key)| group(*guess, same(*guess, key))));
            }
            (Keys::Wide(known), Keys::Wide(keys)) => {
                let same =
                    |guess: u32, key: &WideKey| guess > 0 && known[guess as usize - 1] == *key;
                let pairs = self.guesses.iter().zip(&keys[range]);
                found.extend(pairs.map(|(guess, key)| group(*guess, same(*guess, key))));
            }
            _ => {
                let same = |guess: u32, i| guess > 0 && known.equal(guess as usize - 1, keys, i);
                let pairs = self.guesses.iter().zip(range);
                found.extend(pairs.map(|(guess, i)| group(*guess, same(*guess, i))));
            }
        }
    }

    /// The group of a key.
    pub(crate) fn find(&self, hash: u64, is_same: impl Fn(usize) -> bool) -> Option<usize> {
        found_in(&self.places, hash, &is_same).or_else(|| match self.old.is_empty() {
            true => None,
            false => found_in(&self.old, hash, &is_same),
        })
    }

    /// Adds a group that is not in the table; `hashes` are those of all groups before it.
    pub(crate) fn insert(&mut self, hash: u64, group: usize, hashes: &[u64]) {
        if (self.count + 1) * 2 > self.places.len() {
            debug_assert!(self.old.is_empty(), "a table grows when all groups have moved");
            let larger = vec![0; self.places.len() * 2];
            self.old = std::mem::replace(&mut self.places, larger);
            self.moved = 0;
        }
        if !self.old.is_empty() {
            self.move_some(hashes, MOVED_AT_ONCE);
        }
        self.put(hash, group);
        self.count += 1;
    }

    fn put(&mut self, hash: u64, group: usize) {
        let mask = self.places.len() - 1;
        let mut at = hash as usize & mask;
        while self.places[at] != 0 {
            at = (at + 1) & mask;
        }
        self.places[at] = hash >> 32 << 32 | (group as u64 + 1);
    }

    /// Moves some groups of a table that has grown, where no group may ever be added to it again; to be called
    /// for each batch of keys.
    #[inline]
    pub(crate) fn settle(&mut self, hashes: &[u64]) {
        if !self.old.is_empty() {
            self.move_some(hashes, MOVED_OF_BATCH);
        }
    }

    fn move_some(&mut self, hashes: &[u64], count: usize) {
        let end = (self.moved + count).min(self.old.len());
        for at in self.moved..end {
            let group = (self.old[at] as u32 as usize).checked_sub(1);
            if let Some(group) = group {
                self.put(hashes[group], group);
            }
        }
        self.moved = end;
        if end == self.old.len() {
            self.old = vec![];
        }
    }
}

fn found_in(places: &[u64], hash: u64, is_same: impl Fn(usize) -> bool) -> Option<usize> {
    let mask = places.len() - 1;
    let mut at = hash as usize & mask;
    loop {
        let place = places[at];
        if place == 0 {
            return None;
        }
        let group = (place as u32 as usize).wrapping_sub(1);
        if place >> 32 == hash >> 32 && is_same(group) {
            return Some(group);
        }
        at = (at + 1) & mask;
    }
}

#[cfg(test)]
mod tests;
