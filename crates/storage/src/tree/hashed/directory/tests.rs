//! What the directory guesses from what it was told.

use super::*;

fn fence(hash: u64) -> [u8; 8] {
    hash.to_be_bytes()
}

/// A directory that was told of `leaves` leaves of equal ranges, from a search for the first hash of
/// each.
fn told(leaves: u64) -> (HashDirectory, u64) {
    let directory = HashDirectory::default();
    let width = u64::MAX / leaves + 1;
    for leaf in 0..leaves {
        let (lower, upper) = (fence(leaf * width), fence((leaf + 1).wrapping_mul(width)));
        let upper = (leaf + 1 < leaves).then_some(&upper[..]);
        directory.note(leaf * width, leaf as PageId + 2, (&lower, upper), leaves);
    }
    (directory, width)
}

#[test]
fn each_hash_is_in_its_leaf() {
    let (directory, width) = told(64);
    for leaf in 0..64 {
        for hash in [leaf * width, leaf * width + width / 2, leaf * width + (width - 1)] {
            assert_eq!(directory.guess(hash), Some(leaf as PageId + 2), "{hash:x}");
        }
    }
}

#[test]
fn nothing_is_guessed_before_something_is_known() {
    let directory = HashDirectory::default();
    for hash in [0, 1, 1 << 63, u64::MAX] {
        assert_eq!(directory.guess(hash), None);
        assert_eq!(directory.beside(hash, true), None);
        assert_eq!(directory.beside(hash, false), None);
        directory.hint(hash);
    }
}

#[test]
fn neighbours_are_before_and_behind() {
    let (directory, width) = told(64);
    assert_eq!(directory.beside(10 * width, false), Some(11));
    assert_eq!(directory.beside(11 * width - 1, true), Some(13));
    assert_eq!(directory.beside(0, false), None);
    assert_eq!(directory.beside(u64::MAX, true), None);
}

#[test]
fn a_grown_directory_asks_the_one_before() {
    let (directory, width) = told(64);
    directory.note(0, 99, (&fence(0), Some(&fence(width / 4))), 128);
    assert_eq!(directory.guess(0), Some(99));
    assert_eq!(directory.guess(40 * width), Some(42));
}

#[test]
fn fences_of_any_length_are_taken() {
    let directory = HashDirectory::default();
    directory.note(7, 5, (&[], None), 1);
    assert_eq!(directory.guess(7), Some(5));
    let long = [&fence(1 << 60)[..], b"abc"].concat();
    directory.note((1 << 60) - 1, 6, (&[0x0F], Some(&long)), 1);
    assert_eq!(directory.guess(1 << 60), Some(6), "the fence's own hash may lie before it");
}
