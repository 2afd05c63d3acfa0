//! Which rows of a vector count: one bit each.

use crate::header::VECTOR_ROWS;

const WORDS: usize = VECTOR_ROWS / 64;

/// A selection of rows of one vector, as bits. The rows of a shorter vector come first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mask {
    words: [u64; WORDS],
}

impl Mask {
    /// No row.
    pub const NONE: Mask = Mask { words: [0; WORDS] };

    /// The first `rows` rows, at most [`VECTOR_ROWS`].
    pub fn first(rows: usize) -> Mask {
        let word = |i: usize| low_bits(rows.saturating_sub(i * 64).min(64));
        Mask { words: std::array::from_fn(word) }
    }

    /// The rows for which `test` holds, of the first `rows`.
    pub fn from_fn(rows: usize, mut test: impl FnMut(usize) -> bool) -> Mask {
        let mut mask = Mask::NONE;
        (0..rows.min(VECTOR_ROWS)).filter(|&row| test(row)).for_each(|row| mask.insert(row));
        mask
    }

    /// The rows whose byte in `flags` is 1; each byte is 0 or 1.
    pub(crate) fn from_flags(flags: &[u8; VECTOR_ROWS]) -> Mask {
        // The product brings the lowest bit of each of eight bytes into the highest byte.
        const GATHER: u64 = 0x0102_0408_1020_4080;
        let mut mask = Mask::NONE;
        for (word, flags) in mask.words.iter_mut().zip(flags.as_chunks::<64>().0) {
            for (i, eight) in flags.as_chunks::<8>().0.iter().enumerate() {
                *word |= (u64::from_le_bytes(*eight).wrapping_mul(GATHER) >> 56) << (i * 8);
            }
        }
        mask
    }

    /// The rows whose bit is set, the lowest bit of the first byte being row 0.
    pub(crate) fn from_bits(bits: &[u8]) -> Mask {
        let mut mask = Mask::NONE;
        for (word, bytes) in mask.words.iter_mut().zip(bits.as_chunks::<8>().0) {
            *word = u64::from_le_bytes(*bytes);
        }
        mask
    }

    /// Adds a row.
    ///
    /// # Panics
    /// If there is no such row in a vector.
    pub fn insert(&mut self, row: usize) {
        self.words[row / 64] |= 1 << (row % 64);
    }

    /// Whether the row is selected.
    pub fn contains(&self, row: usize) -> bool {
        self.words.get(row / 64).is_some_and(|word| word >> (row % 64) & 1 == 1)
    }

    /// Number of selected rows.
    pub fn count(&self) -> usize {
        self.words.iter().map(|word| word.count_ones() as usize).sum()
    }

    /// Whether no row is selected.
    pub fn is_empty(&self) -> bool {
        self.words == [0; WORDS]
    }

    /// Rows of both.
    #[must_use]
    pub fn and(&self, other: &Mask) -> Mask {
        Mask { words: std::array::from_fn(|i| self.words[i] & other.words[i]) }
    }

    /// Rows of either.
    #[must_use]
    pub fn or(&self, other: &Mask) -> Mask {
        Mask { words: std::array::from_fn(|i| self.words[i] | other.words[i]) }
    }

    /// Rows of this one that the other lacks.
    #[must_use]
    pub fn and_not(&self, other: &Mask) -> Mask {
        Mask { words: std::array::from_fn(|i| self.words[i] & !other.words[i]) }
    }

    /// The selected rows, ascending.
    pub fn positions(&self) -> Vec<u16> {
        let mut positions = Vec::with_capacity(self.count());
        for (i, word) in self.words.iter().enumerate() {
            let mut left = *word;
            while left != 0 {
                positions.push((i * 64) as u16 + left.trailing_zeros() as u16);
                left &= left - 1;
            }
        }
        positions
    }
}

fn low_bits(count: usize) -> u64 {
    if count == 64 { u64::MAX } else { (1 << count) - 1 }
}
