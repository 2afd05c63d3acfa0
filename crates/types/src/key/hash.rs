//! The hash that the keys of a hash index begin with (`docs/format/row.md`, "Hash index").
//!
//! It is written to files, so it is the same for ever. It is no secret and draws no entropy: whoever
//! makes values whose hashes agree makes a range of entries next to each other, not a wrong result.

/// Bytes of a hash in a key.
pub const HASH_BYTES: usize = 8;

/// An odd number without a pattern (the golden ratio times 2^64), so that a product by it loses
/// nothing.
const MULTIPLIER: u64 = 0x9E37_79B9_7F4A_7C15;

/// The hash of the bytes that a column has in a key. Those that are at most eight bytes long and of
/// the same length have different hashes, since each step can be undone. Never the greatest number,
/// so that every key has a successor.
pub fn hash_of(bytes: &[u8]) -> u64 {
    let (words, rest) = bytes.as_chunks::<8>();
    let mut hash = (bytes.len() as u64).wrapping_mul(MULTIPLIER);
    for word in words {
        hash = mixed(hash ^ u64::from_le_bytes(*word));
    }
    if !rest.is_empty() {
        let mut word = [0; 8];
        word[..rest.len()].copy_from_slice(rest);
        hash = mixed(hash ^ u64::from_le_bytes(word));
    }
    hash.min(u64::MAX - 1)
}

/// Every bit of the result depends on every bit of `word` (the finalizer of MurmurHash3).
fn mixed(mut word: u64) -> u64 {
    word ^= word >> 33;
    word = word.wrapping_mul(0xFF51_AFD7_ED55_8CCD);
    word ^= word >> 33;
    word = word.wrapping_mul(0xC4CE_B9FE_1A85_EC53);
    word ^ (word >> 33)
}

#[cfg(test)]
mod tests;
