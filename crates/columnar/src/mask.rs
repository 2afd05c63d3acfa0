//! Which rows of a vector count: one bit each.

use arrow_buffer::BooleanBuffer;

use crate::layout::VECTOR_ROWS;

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

    /// The selected rows that are kept: `kept` has a bit for each of them, in their order.
    #[must_use]
    pub fn kept(&self, kept: &BooleanBuffer) -> Mask {
        let mut bits = [0; WORDS + 1];
        bits.iter_mut().zip(kept.bit_chunks().iter_padded()).for_each(|(to, word)| *to = word);
        let mut at = 0;
        Mask {
            words: self.words.map(|rows| {
                let (word, shift) = (at / 64, at % 64);
                at += rows.count_ones() as usize;
                let next = (u128::from(bits[word + 1]) << 64 | u128::from(bits[word])) >> shift;
                deposit(next as u64, rows)
            }),
        }
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

/// The lowest bits of `bits`, one for each bit of `places`, at these places.
fn deposit(mut bits: u64, places: u64) -> u64 {
    if places == u64::MAX {
        return bits;
    }
    let (mut left, mut deposited) = (places, 0);
    while left != 0 {
        let lowest = left & left.wrapping_neg();
        deposited |= lowest & (bits & 1).wrapping_neg();
        bits >>= 1;
        left ^= lowest;
    }
    deposited
}

fn low_bits(count: usize) -> u64 {
    if count == 64 { u64::MAX } else { (1 << count) - 1 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kept_rows_are_those_whose_bit_is_set() {
        let masks = [
            Mask::NONE,
            Mask::first(VECTOR_ROWS),
            Mask::first(700),
            Mask::from_fn(VECTOR_ROWS, |row| row % 3 != 0),
            Mask::from_fn(VECTOR_ROWS, |row| row / 64 % 2 == 1 || row % 7 == 0),
        ];
        for (mask, offset) in masks.iter().flat_map(|mask| [(mask, 0), (mask, 13)]) {
            let keeps = |at: usize| at * 7 % 11 < 5;
            let all = BooleanBuffer::collect_bool(offset + mask.count(), |at| {
                at < offset || keeps(at - offset)
            });
            let kept = mask.kept(&all.slice(offset, mask.count()));
            let rows = mask.positions().into_iter().enumerate();
            let expected: Vec<u16> =
                rows.filter(|(at, _)| keeps(*at)).map(|(_, row)| row).collect();
            assert_eq!(kept.positions(), expected);
        }
    }
}
