//! Whatever vector instructions compute, the results are the same.

use stdx::{Prng, Vectors};

use super::{
    differences, equal, floats as of_floats, halves, has_outside, less, less_or_equal, magnitudes,
    not_equal, products, sums,
};
use crate::side::Side;

/// Words of at most so many bits, of both signs.
fn words(random: &mut Prng, count: usize, bits: u32) -> Vec<i64> {
    (0..count).map(|_| random.next_u64().cast_signed() >> (64 - bits)).collect()
}

fn check_pairs(left: Side<'_>, right: Side<'_>, rows: usize) {
    let word = |side: Side<'_>, row: usize| match side {
        Side::Vector(words) => words[row],
        Side::Constant(word) => word,
    };
    let pairs: Vec<_> = (0..rows).map(|row| (word(left, row), word(right, row))).collect();
    let each = |f: fn(i64, i64) -> i64| pairs.iter().map(|(l, r)| f(*l, *r)).collect::<Vec<_>>();
    let bits = |f: fn(&i64, &i64) -> bool| {
        let mut words = vec![0u64; rows.div_ceil(64)];
        let rows = pairs.iter().enumerate().filter(|(_, (l, r))| f(l, r));
        rows.for_each(|(row, _)| words[row / 64] |= 1 << (row % 64));
        words
    };
    for vectors in Vectors::all() {
        assert_eq!(sums(vectors, left, right, rows), each(i64::wrapping_add), "{vectors:?}");
        assert_eq!(differences(vectors, left, right, rows), each(i64::wrapping_sub));
        assert_eq!(products(vectors, left, right, rows), each(i64::wrapping_mul), "{vectors:?}");
        assert_eq!(equal(vectors, left, right, rows), bits(|l, r| l == r), "{vectors:?}");
        assert_eq!(not_equal(vectors, left, right, rows), bits(|l, r| l != r), "{vectors:?}");
        assert_eq!(less(vectors, left, right, rows), bits(|l, r| l < r), "{vectors:?}");
        assert_eq!(less_or_equal(vectors, left, right, rows), bits(|l, r| l <= r), "{vectors:?}");
    }
}

#[test]
fn all_vector_instructions_agree_on_pairs() {
    let random = &mut Prng::new(19);
    for rows in [0, 1, 7, 63, 64, 65, 1000] {
        for bits in [1, 3, 31, 64] {
            let (l, r) = (words(random, rows, bits), words(random, rows, bits));
            let constant = Side::Constant(words(random, 1, bits)[0]);
            check_pairs(Side::Vector(&l), Side::Vector(&r), rows);
            check_pairs(Side::Vector(&l), constant, rows);
            check_pairs(constant, Side::Vector(&r), rows);
            check_pairs(constant, Side::Constant(0), rows);
        }
    }
}

/// Floats of all kinds: any bits, and those of small numbers.
fn floats(random: &mut Prng, count: usize) -> Vec<f64> {
    let mut float = || match random.below(3) {
        0 => f64::from_bits(random.next_u64()),
        1 => [0.0, -0.0, f64::NAN, f64::INFINITY, 1.0][random.below(5) as usize],
        _ => random.below(9) as f64 - 4.0,
    };
    (0..count).map(|_| float()).collect()
}

#[test]
fn all_vector_instructions_agree_on_floats() {
    let random = &mut Prng::new(21);
    let bits = |values: Vec<f64>| values.into_iter().map(f64::to_bits).collect::<Vec<_>>();
    for rows in [0, 1, 7, 63, 64, 65, 1000] {
        let (l, r) = (floats(random, rows), floats(random, rows));
        let (l, r) = (Side::Vector(l.as_slice()), Side::Vector(r.as_slice()));
        let integers = words(random, rows, 64);
        let all = Vectors::all().into_iter().map(|vectors| {
            let computed = [
                of_floats::sums(vectors, l, r, rows),
                of_floats::differences(vectors, l, r, rows),
                of_floats::products(vectors, l, r, rows),
                of_floats::quotients(vectors, l, r, rows),
                of_floats::of_words(vectors, &integers),
            ];
            let has_odd = computed.each_ref().map(|c| of_floats::has_odd(vectors, c, 1e-300));
            let compared = [
                of_floats::equal(vectors, l, r, rows),
                of_floats::not_equal(vectors, l, r, rows),
                of_floats::less(vectors, l, r, rows),
                of_floats::less_or_equal(vectors, l, r, rows),
            ];
            (computed.map(bits), has_odd, compared)
        });
        let all: Vec<_> = all.collect();
        assert!(all.iter().all(|one| *one == all[0]), "{rows} rows");
    }
}

#[test]
fn all_vector_instructions_agree_on_vectors() {
    let random = &mut Prng::new(20);
    for count in [0, 1, 7, 8, 9, 1000] {
        let values = words(random, count, 40);
        let wide: Vec<i128> = values.iter().map(|value| i128::from(*value)).collect();
        for vectors in Vectors::all() {
            let folded = values.iter().fold(0, |all, value| all | (value ^ (value >> 63)));
            assert_eq!(magnitudes(vectors, &values), folded);
            assert_eq!(halves(vectors, &wide), (values.clone(), true));
            assert!(!has_outside(vectors, &values, -1 << 39, (1 << 39) - 1));
            for at in 0..count {
                let (mut values, mut wide) = (values.clone(), wide.clone());
                values[at] = 1 << 39;
                assert!(has_outside(vectors, &values, -1 << 39, (1 << 39) - 1), "{at}");
                for outside in [1 << 63, -1 - (1 << 63), 1 << 64, i128::MIN] {
                    wide[at] = outside;
                    assert!(!halves(vectors, &wide).1, "{outside} at {at}");
                }
            }
        }
    }
}
