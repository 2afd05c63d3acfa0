//! Which bytes of keys tell the leaves of a tree apart.

use crate::node::order::word_of;

/// Bytes of a head.
const HEAD_BYTES: usize = 8;

/// Bytes of a key that are looked at: a place and those behind it are numbers of eight bits.
const PLACE_MAX: usize = u8::MAX as usize - HEAD_BYTES;

/// The places of eight bytes in a key, ascending, one in each byte of a word. Where all fences have
/// the same byte, it tells nothing: leaving it out keeps the order of the fences.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Places(u64);

impl Places {
    pub fn unpack(word: u64) -> Places {
        Places(word)
    }

    pub fn pack(self) -> u64 {
        self.0
    }

    /// Eight bytes in a row, from this one on.
    const fn from(first: u8) -> u64 {
        (first as u64) * 0x0101_0101_0101_0101 + 0x0001_0203_0405_0607
    }

    /// The key's bytes at these places as a number; a key that ends before has zeros there.
    #[inline]
    pub fn head(self, key: &[u8]) -> u64 {
        let first = (self.0 >> 56) as u8;
        if self.0 == Places::from(first) {
            return word_of(key.get(usize::from(first)..).unwrap_or_default());
        }
        let byte = |place: u8| u64::from(key.get(usize::from(place)).copied().unwrap_or(0));
        self.0.to_be_bytes().into_iter().fold(0, |word, place| word << 8 | byte(place))
    }
}

/// Finds places out, fence by fence.
pub(super) struct Survey {
    /// What was seen first at each place.
    first: Vec<u8>,
    differs: [bool; PLACE_MAX],
}

impl Survey {
    pub fn new() -> Survey {
        Survey { first: Vec::new(), differs: [false; PLACE_MAX] }
    }

    pub fn add(&mut self, fence: &[u8]) {
        let fence = &fence[..fence.len().min(PLACE_MAX)];
        for (place, (first, byte)) in self.first.iter().zip(fence).enumerate() {
            self.differs[place] |= first != byte;
        }
        let known = self.first.len().min(fence.len());
        self.first.extend_from_slice(&fence[known..]);
    }

    /// The first eight places at which fences differ; if there are fewer, also those behind.
    pub fn places(&self) -> Places {
        let differing = (0..PLACE_MAX as u8).filter(|place| self.differs[usize::from(*place)]);
        let mut places: Vec<u8> = differing.take(HEAD_BYTES).collect();
        let mut next = places.last().map_or(0, |last| last + 1);
        places.resize_with(HEAD_BYTES, || {
            next += 1;
            next - 1
        });
        Places(places.into_iter().fold(0, |word, place| word << 8 | u64::from(place)))
    }
}
