//! Hashes of keys: the bytes that the format names, and that they spread.

use std::collections::BTreeSet;

use super::*;

/// Made by another program from `docs/format/row.md`: files depend on them.
#[test]
fn hashes_are_those_of_the_format() {
    let known: &[(&[u8], u64)] = &[
        (b"", 0x0000000000000000),
        (b"\x00", 0x9CA066F1A4AB2EEA),
        (b"\x00\x00", 0xD30B054265133DD7),
        (b"a", 0x405337E338614E91),
        (b"abcdefgh", 0x89F7ED429CCD91AE),
        (b"abcdefghi", 0x950763E0DD50AE4B),
        (b"\x01\x80\x00\x00\x05", 0x33E225C535F7E954),
        (&[b'x'; 300], 0xABAE9A1180AD7E98),
    ];
    for (bytes, hash) in known {
        assert_eq!(hash_of(bytes), *hash, "{bytes:?}");
    }
}

#[test]
fn short_values_never_share_a_hash_and_spread_evenly() {
    let hashes: BTreeSet<u64> = (0..10_000u32).map(|i| hash_of(&i.to_be_bytes())).collect();
    assert_eq!(hashes.len(), 10_000);
    // Of 64 ranges of hashes each has its share, 156 of them, give or take some five deviations.
    for range in 0..64 {
        let count = hashes.iter().filter(|hash| *hash >> 58 == range).count();
        assert!((90..225).contains(&count), "{count} in range {range}");
    }
}
