//! The format, byte by byte: what is written does not change unnoticed, and what was once written is
//! read for ever.
//!
//! `golden/version-1.txt` is a dump of a header and a body that have every type and every encoding:
//! for each the length, then an offset and 32 bytes per line, lines of zeros left out. After a
//! deliberate change of the format (and of `docs/format/block.md`) a run with `UPDATE_GOLDEN=1`
//! writes it anew.
#![allow(clippy::disallowed_methods, reason = "a test writes a file where it is asked to")]

mod support;

use std::collections::HashSet;
use std::fmt::Write;

use arrow_array::ArrayRef;
use columnar::{ChunkHeader, Encoding, Piece, VECTOR_ROWS, Vector, encode};
use support::{TYPES, array};
use types::LogicalType;

const GOLDEN: &str = include_str!("golden/version-1.txt");
const GOLDEN_PATH: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/golden/version-1.txt");
const ROWS: i64 = 1060;

/// One column of each type, and some more for the encodings that these do not get.
fn columns() -> (Vec<LogicalType>, Vec<ArrayRef>) {
    let scattered = |i: i64| i.wrapping_mul(0x9E37_79B9_7F4A_7C15_u64 as i64);
    let null = |i: i64, v: i64| (i % 9 != 4).then_some(v);
    let mut columns: Vec<(LogicalType, ArrayRef)> =
        TYPES.into_iter().map(|ty| (ty, array(ty, &values(|i| null(i, i * i % 37)), 0))).collect();
    let mut add = |ty, style, value: &dyn Fn(i64) -> Option<i64>| {
        columns.push((ty, array(ty, &values(value), style)));
    };
    add(LogicalType::Int64, 0, &|i| Some(i * 1000 + i % 7));
    add(LogicalType::Int64, 0, &|i| Some(i / 90));
    add(LogicalType::Int64, 0, &|i| Some(scattered(i % 5)));
    add(LogicalType::Int64, 0, &|i| Some(scattered(i)));
    add(LogicalType::Int32, 0, &|_| None);
    add(LogicalType::Text, 0, &|i| Some(scattered(i) % 100_000));
    add(LogicalType::Text, 3, &Some);
    add(LogicalType::Float64, 2, &|i| null(i, scattered(i)));
    add(LogicalType::Float64, 1, &|i| Some(scattered(i)));
    add(LogicalType::Uuid, 0, &|i| Some(i * 7));
    columns.into_iter().unzip()
}

fn values(value: impl Fn(i64) -> Option<i64>) -> Vec<Option<i64>> {
    (0..ROWS).map(value).collect()
}

fn dump(bytes: &[u8]) -> String {
    let mut text = format!("{:08x}\n", bytes.len());
    for (at, line) in bytes.chunks(32).enumerate() {
        if line.iter().any(|byte| *byte != 0) {
            write!(text, "{:08x} ", at * 32).expect("writing to a string");
            line.iter().for_each(|byte| write!(text, "{byte:02x}").expect("writing to a string"));
            text.push('\n');
        }
    }
    text
}

/// The dumps one after the other: a line without a space begins the next.
fn restore(text: &str) -> Vec<Vec<u8>> {
    let number = |hex: &str| usize::from_str_radix(hex, 16).expect("a hexadecimal number");
    let mut all: Vec<Vec<u8>> = Vec::new();
    for line in text.lines() {
        let Some((at, hex)) = line.split_once(' ') else {
            all.push(vec![0; number(line)]);
            continue;
        };
        let bytes = all.last_mut().expect("the length comes first");
        for (index, pair) in hex.as_bytes().chunks(2).enumerate() {
            let pair = std::str::from_utf8(pair).expect("the dump is ASCII");
            bytes[number(at) + index] = number(pair) as u8;
        }
    }
    all
}

#[test]
fn what_is_written_has_not_changed() {
    let (types, arrays) = columns();
    let chunk = encode(&types, &arrays).unwrap();
    let found = dump(&chunk.header) + &dump(&chunk.body);
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        std::fs::write(GOLDEN_PATH, found).unwrap();
        return;
    }
    let differs = GOLDEN.lines().zip(found.lines()).find(|(golden, found)| golden != found);
    assert_eq!(differs, None, "the format has changed");
    assert_eq!(GOLDEN.lines().count(), found.lines().count(), "the format has changed");
}

#[test]
fn what_was_once_written_is_read() {
    let (types, arrays) = columns();
    let restored = restore(GOLDEN);
    let [header, body] = &restored[..] else { panic!("a header and a body") };
    let header = ChunkHeader::parse(header).unwrap();
    header.verify(0, body).unwrap();
    let mut encodings = HashSet::new();
    for (number, (ty, array)) in types.iter().zip(&arrays).enumerate() {
        for index in 0..header.vector_count() {
            let pieces = [Piece { offset: 0, bytes: body }];
            let found = Vector::new(&header, number, index, &pieces).unwrap().decode().unwrap();
            assert_eq!(found.data_type(), &ty.arrow());
            let expected = array.slice(index * VECTOR_ROWS, header.rows_of(index));
            assert_eq!(&found, &expected, "column {number}");
            encodings.insert(header.columns()[number].vectors()[index].encoding);
        }
    }
    let missing: Vec<u8> =
        (0..10).filter(|number| encodings.iter().all(|e| e.number() != *number)).collect();
    assert!(missing.is_empty(), "encodings that the golden chunk lacks: {missing:?}");
    assert!(encodings.contains(&Encoding::Symbols));
}
