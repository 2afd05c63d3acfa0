//! The order of keys: as bytes, by a few words instead of a call for the short keys of most trees.

use std::cmp::Ordering;

/// First eight bytes of a key as a number that orders like the key, as far as eight bytes can tell.
#[inline]
pub(crate) fn word_of(key: &[u8]) -> u64 {
    if let Some(word) = key.first_chunk::<8>() {
        return u64::from_be_bytes(*word);
    }
    if let (Some(first), Some(last)) = (key.first_chunk::<4>(), key.last_chunk::<4>()) {
        // Both halves may overlap; the last bytes then come twice, at the same place.
        let unused_bits = 8 * (8 - key.len()) as u32;
        let (first, last) = (u32::from_be_bytes(*first), u32::from_be_bytes(*last));
        return u64::from(first) << 32 | u64::from(last) << unused_bits;
    }
    key.iter().fold(0, |word, byte| word << 8 | u64::from(*byte))
        << (8 * (8 - key.len()) as u32 % 64)
}

/// Orders like `a.cmp(b)`.
#[inline]
pub(super) fn compare(a: &[u8], b: &[u8]) -> Ordering {
    let order = word_of(a).cmp(&word_of(b));
    if order != Ordering::Equal {
        return order;
    }
    // What lies beyond a short key's end counts as zeros above, so its length decides.
    match (a.get(8..), b.get(8..)) {
        (Some(a), Some(b)) if !a.is_empty() && !b.is_empty() => a.cmp(b),
        _ => a.len().cmp(&b.len()),
    }
}
