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

/// Groups by the hash of their keys. At most half of the places are taken.
pub(crate) struct GroupTable {
    /// The upper half of a hash, then the number of its group + 1; 0 is a free place. A power of two.
    places: Vec<u64>,
    count: usize,
    /// The groups whose keys are to be compared + 1; 0 is none.
    guesses: Vec<u32>,
}

impl GroupTable {
    pub(crate) fn new() -> GroupTable {
        GroupTable { places: vec![0; PLACES_MIN], count: 0, guesses: vec![] }
    }

    /// Bytes of the table.
    pub(crate) fn bytes(&self) -> usize {
        (self.places.capacity() * size_of::<u64>()) + self.guesses.capacity() * size_of::<u32>()
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
        let mask = self.places.len() - 1;
        let mut at = hash as usize & mask;
        loop {
            let place = self.places[at];
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

    /// Adds a group that is not in the table; `hashes` are those of all groups before it.
    pub(crate) fn insert(&mut self, hash: u64, group: usize, hashes: &[u64]) {
        if (self.count + 1) * 2 > self.places.len() {
            self.grow(hashes);
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

    fn grow(&mut self, hashes: &[u64]) {
        let taken: Vec<u32> = self.places.iter().filter(|p| **p != 0).map(|p| *p as u32).collect();
        self.places = vec![0; self.places.len() * 2];
        for group in taken {
            let group = group as usize - 1;
            self.put(hashes[group], group);
        }
    }
}
