//! Whatever vector instructions unpack and compare words, the results are the same.

use stdx::{Prng, Vectors};

use super::{Packed, Word, push_packed, push_unscaled};
use crate::layout::VECTOR_ROWS;
use crate::mask::Mask;
use crate::view::{Piece, View};

/// Words of at most so many bits, each times `factor`.
fn words<W: Word>(random: &mut Prng, count: usize, bits: usize, factor: u64) -> Vec<W> {
    let word = |_| W::low((random.next_u64() >> (64 - bits)).wrapping_mul(factor));
    (0..count).map(word).collect()
}

fn check<W: Word>(words: &[W], push: fn(&[W], &mut Vec<u8>)) {
    let mut bytes = vec![];
    push(words, &mut bytes);
    let piece = [Piece { offset: 0, bytes: &bytes }];
    let view = View::of_body(&piece, 0, bytes.len());
    let (packed, _) = Packed::parse::<W>(view, 0, words.len()).expect("a block");
    for vectors in Vectors::all() {
        assert!(
            packed.decode_by::<W>(vectors).expect("words") == words,
            "{} words, {vectors:?}",
            words.len()
        );
    }
}

fn check_range<W: Word>(words: &[W], least: W, span: W) {
    let expected = Mask::from_fn(words.len(), |row| words[row].minus(least) <= span);
    for vectors in Vectors::all() {
        let found = W::in_range(vectors, words, least, span);
        assert_eq!(found.and(&Mask::first(words.len())), expected, "{vectors:?}");
    }
}

fn check_all<W: Word>() {
    let random = &mut Prng::new(W::BITS as u64);
    for bits in 1..=W::BITS {
        for count in [1, 63, 64, 200, VECTOR_ROWS] {
            check::<W>(&words(random, count, bits, 1), push_unscaled);
            check::<W>(&words(random, count, bits.min(W::BITS - 4), 10), push_packed);
            let words = words::<W>(random, count, bits, 1);
            check_range(&words, words[0], W::low(random.next_u64()));
            check_range(&words, W::low(0), words[count / 2]);
        }
    }
}

#[test]
fn all_vector_instructions_agree() {
    check_all::<u16>();
    check_all::<u32>();
    check_all::<u64>();
}
