//! Tests of the small things.

use std::time::Duration;

use crate::{ByteSizeError, Prng, Slab, format_bytes, format_duration, nearest, parse_bytes};

#[test]
fn sizes_in_bytes_are_read_and_written() {
    assert_eq!(parse_bytes("4096"), Ok(4096));
    assert_eq!(parse_bytes("256MB"), Ok(256 << 20));
    assert_eq!(parse_bytes(" 1 GiB "), Ok(1 << 30));
    assert_eq!(parse_bytes("1.5kB"), Ok(1536));
    assert_eq!(parse_bytes("2_000"), Ok(2000));
    assert_eq!(format_bytes(256 << 20), "256 MiB");
    assert_eq!(format_bytes(1536), "1.5 KiB");
    assert_eq!(format_bytes(17), "17 B");
}

#[test]
fn bad_sizes_are_refused_with_a_reason() {
    assert!(matches!(parse_bytes("MB"), Err(ByteSizeError::Number(_))));
    assert!(matches!(parse_bytes("-1"), Err(ByteSizeError::Unit(_))));
    assert!(matches!(parse_bytes("3 parsecs"), Err(ByteSizeError::Unit(_))));
    assert!(matches!(parse_bytes("99999999TB"), Err(ByteSizeError::TooLarge(_))));
    assert!(matches!(parse_bytes("99999999999999999999999"), Err(ByteSizeError::TooLarge(_))));
}

#[test]
fn durations_keep_three_digits() {
    assert_eq!(format_duration(Duration::from_nanos(950)), "950 ns");
    assert_eq!(format_duration(Duration::from_nanos(12_340)), "12.3 µs");
    assert_eq!(format_duration(Duration::from_micros(4_560)), "4.56 ms");
    assert_eq!(format_duration(Duration::from_secs(200)), "3 min 20 s");
}

#[test]
fn the_generator_repeats_and_spreads() {
    let draw = |seed| {
        let mut prng = Prng::new(seed);
        std::array::from_fn::<u64, 8, _>(|_| prng.below(1000))
    };
    assert_eq!(draw(7), draw(7));
    assert_ne!(draw(7), draw(8));
    let mut prng = Prng::new(1);
    let mut seen = [0u32; 10];
    (0..10_000).for_each(|_| seen[prng.below(10) as usize] += 1);
    assert!(seen.iter().all(|&n| (800..1200).contains(&n)), "{seen:?}");
}

#[test]
fn a_stale_key_finds_nothing() {
    let mut slab = Slab::default();
    let first = slab.insert('a');
    assert_eq!(slab.remove(first), Some('a'));
    let second = slab.insert('b');
    assert_eq!(first.slot(), second.slot());
    assert_eq!(slab.get(first), None);
    assert_eq!(slab.remove(first), None);
    assert_eq!(slab.get(second), Some(&'b'));
    assert_eq!(slab.len(), 1);
}

#[test]
fn a_misspelt_name_finds_the_one_that_was_meant() {
    let names = ["statement_timeout", "lock_timeout", "listen", "data"];
    assert_eq!(nearest("statment_timeout", names), Some("statement_timeout"));
    assert_eq!(nearest("LOCK-TIMEOUT", names), Some("lock_timeout"));
    assert_eq!(nearest("lisen", names), Some("listen"));
    assert_eq!(nearest("date", names), Some("data"));
    assert_eq!(nearest("colour", names), None);
    assert_eq!(nearest("x", []), None);
}
