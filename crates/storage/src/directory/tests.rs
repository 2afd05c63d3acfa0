//! Directories come back as they were, and damaged ones are refused without harm.

use stdx::Prng;

use super::{Directory, TreeRecord};
use crate::extent::Extent;
use crate::tree_id::TreeId;

fn sample() -> Directory {
    let tree = |id, root| TreeRecord {
        id: TreeId(id),
        root,
        height: 2,
        leaf_pages: 9,
        inner_pages: 1,
        entries: 1 << 40,
        overflow_pages: 3 << 33,
    };
    let free = [(30, 4), (40, 60)].map(|(start, pages)| Extent { start, pages });
    Directory { trees: vec![tree(1, 2), tree(7, 99)], free: free.to_vec(), ..Directory::default() }
}

#[test]
fn what_is_encoded_is_decoded() {
    for directory in [Directory::default(), sample()] {
        assert_eq!(Directory::decode(&directory.encode(), 2, 100), Some(directory));
    }
}

#[test]
fn pages_beyond_the_file_and_overlaps_are_refused() {
    assert_eq!(Directory::decode(&sample().encode(), 2, 99), None);
    let mut overlapping = sample();
    overlapping.free[1].start = 33;
    assert_eq!(Directory::decode(&overlapping.encode(), 2, 100), None);
    let mut too_long = sample().encode();
    too_long.push(0);
    assert_eq!(Directory::decode(&too_long, 2, 100), None);
}

#[test]
fn any_bytes_are_borne() {
    let mut prng = Prng::new(1);
    let whole = sample().encode();
    for _ in 0..20_000 {
        let mut bytes = whole.clone();
        bytes.truncate(prng.below(whole.len() as u64 + 1) as usize);
        for _ in 0..prng.below(4) {
            if !bytes.is_empty() {
                let at = prng.below(bytes.len() as u64) as usize;
                bytes[at] = prng.below(256) as u8;
            }
        }
        if let Some(directory) = Directory::decode(&bytes, 2, 100) {
            assert_eq!(directory.encode(), bytes);
        }
    }
}
