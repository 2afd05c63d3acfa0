//! Containers that are not as they should be.

use super::datum::Datum;
use super::{Container, Next};
use crate::fault::{ErrorKind, Result};

const SCHEMA: &str = r#"{"type": "record", "name": "r", "fields": [
    {"name": "a", "type": "long", "field-id": 1},
    {"name": "b", "type": ["null", {"type": "array", "items": "null"}], "field-id": 2}]}"#;

pub(crate) fn zigzag(number: i64) -> Vec<u8> {
    let (mut bits, mut bytes) = (((number << 1) ^ (number >> 63)) as u64, vec![]);
    while bits >= 0x80 {
        bytes.push(bits as u8 | 0x80);
        bits >>= 7;
    }
    bytes.push(bits as u8);
    bytes
}

pub(crate) fn text(bytes: &[u8]) -> Vec<u8> {
    [zigzag(bytes.len() as i64), bytes.to_vec()].concat()
}

fn container(schema: &str, codec: &str, count: i64, block: &[u8]) -> Vec<u8> {
    container_with(&[("avro.schema", schema), ("avro.codec", codec)], count, block)
}

/// One whose head says this.
pub(crate) fn container_with(pairs: &[(&str, &str)], count: i64, block: &[u8]) -> Vec<u8> {
    let mut head = [b"Obj\x01".to_vec(), zigzag(pairs.len() as i64)].concat();
    for (name, value) in pairs {
        head.extend([text(name.as_bytes()), text(value.as_bytes())].concat());
    }
    [head, zigzag(0), vec![7; 16], zigzag(count), text(block), vec![7; 16]].concat()
}

fn read(bytes: &[u8]) -> Result<Vec<Vec<(i32, Datum)>>> {
    let mut all = vec![];
    let mut container = Container::open(bytes)?;
    loop {
        match container.next()? {
            Next::Record(record) => all.push(record.0),
            Next::More => {}
            Next::End => return Ok(all),
        }
    }
}

#[test]
fn records_come_with_the_ids_of_their_fields() {
    let block = [zigzag(-3), zigzag(0)].concat();
    let expected = vec![vec![(1, Datum::Whole(-3)), (2, Datum::Null)]];
    assert_eq!(read(&container(SCHEMA, "null", 1, &block)), Ok(expected));
}

/// The key of the first value of a record with this type.
fn key(ty: &str, value: &[u8]) -> Vec<u8> {
    let schema = format!(
        r#"{{"type": "record", "name": "r", "fields": [{{"name": "a", "type": {ty}, "field-id": 1}}]}}"#
    );
    let records = read(&container(&schema, "null", 1, value)).expect(ty);
    let mut key = vec![];
    records[0][0].1.key(&mut key);
    key
}

#[test]
fn values_of_types_that_follow_each_other_have_one_key() {
    let fixed = |size: usize| {
        format!(r#"{{"type": "fixed", "name": "f", "size": {size}, "logicalType": "decimal"}}"#)
    };
    let of_four = key(&fixed(4), &(-125i32).to_be_bytes());
    assert_eq!(key(&fixed(8), &(-125i64).to_be_bytes()), of_four);
    let bytes = r#"{"type": "bytes", "logicalType": "decimal", "precision": 9, "scale": 2}"#;
    assert_eq!(key(bytes, &text(&[0x83])), of_four);
    assert_ne!(key(&fixed(4), &125i32.to_be_bytes()), of_four);
    assert_eq!(key("\"int\"", &zigzag(-7)), key("\"long\"", &zigzag(-7)));
    let float = key("\"float\"", &0.1f32.to_le_bytes());
    assert_eq!(key("\"double\"", &f64::from(0.1f32).to_le_bytes()), float);
    assert_ne!(key("\"double\"", &0.1f64.to_le_bytes()), float);
    let nan = key("\"float\"", &f32::NAN.to_le_bytes());
    assert_eq!(key("\"double\"", &(-f64::NAN).to_le_bytes()), nan);
    // What is no number is as long as it is.
    let plain = r#"{"type": "fixed", "name": "f", "size": 2}"#;
    assert_ne!(key(plain, &[0, 1]), key("\"bytes\"", &text(&[1])));
    let long = read(&container(
        r#"{"type": "record", "name": "r", "fields": [{"name": "a", "type":
            {"type": "bytes", "logicalType": "decimal"}}]}"#,
        "null",
        1,
        &text(&[0; 17]),
    ));
    assert_eq!(long.expect_err("too long").to_string(), "a decimal of 17 bytes");
}

#[test]
fn lengths_and_counts_are_not_believed() {
    let check = |bytes: &[u8], expected: &str| {
        let error = read(bytes).expect_err(expected);
        assert_eq!(error.to_string(), expected);
    };
    // As many as there may be of no byte, and one more; a union takes one.
    let nulls = |count: i64| [zigzag(1), zigzag(1), zigzag(count), zigzag(0)].concat();
    assert!(read(&container(SCHEMA, "null", 1, &nulls(256))).is_ok());
    check(&container(SCHEMA, "null", 1, &nulls(1 << 60)), "it has more values than bytes");
    check(&container(SCHEMA, "null", 1, &nulls(257)), "it has more values than bytes");
    let empty = r#"{"type": "record", "name": "r", "fields": [{"name": "a", "type": "null"}]}"#;
    check(&container(empty, "null", i64::MAX, &[]), "it has more values than bytes");
    check(&container(SCHEMA, "null", i64::MAX, &[2, 0]), "it ends too early");
    check(&container(SCHEMA, "null", 0, &[2, 0]), "a block has more bytes than records");
    check(&container(SCHEMA, "null", 1, &[2, 9]), "a union has no such branch");
    check(&container(SCHEMA, "null", 1, &[0xff; 12]), "a number is too long");
    check(b"PAR1", "it is no Avro file");
    check(&container("{", "null", 0, &[]), "its Avro schema is no JSON");
    check(&container("\"long\"", "null", 0, &[]), "its Avro schema is of no record");
    check(&container(SCHEMA, "bzip2", 0, &[]), "Avro compressed with \"bzip2\"");
    check(&container(SCHEMA, "deflate", 1, &[1, 2, 3]), "a block cannot be decompressed");
    check(
        &container(SCHEMA, "snappy", 1, &[0xff, 0xff, 0xff, 0x7f, 0, 0, 0, 0, 0]),
        "a block cannot be decompressed",
    );
    check(&container(SCHEMA, "zstandard", 1, &[1, 2, 3]), "a block cannot be decompressed");
    let own = r#"{"type": "record", "name": "r", "fields": [{"name": "a", "type": "r"}]}"#;
    check(&container(own, "null", 1, &[]), "values that are nested so deep");
    let large = r#"{"type": "record", "name": "r", "fields":
        [{"name": "a", "type": {"type": "fixed", "name": "f", "size": 2147483647}}]}"#;
    check(&container(large, "null", 1, &[0]), "it ends too early");
}

/// Each of these would take more memory than the file has bytes by far.
#[test]
fn what_is_large_in_memory_is_refused() {
    let check = |bytes: &[u8], expected: &str| {
        let error = read(bytes).expect_err(expected);
        assert_eq!((error.kind(), error.to_string().as_str()), (ErrorKind::TooLarge, expected));
    };
    let schema = r#"{"type": "record", "name": "r", "fields": [{"name": "a",
        "type": {"type": "array", "items": "boolean"}}]}"#;
    let flags = |count: usize| [zigzag(count as i64), vec![1; count], zigzag(0)].concat();
    assert!(read(&container(schema, "null", 1, &flags((1 << 20) - 1))).is_ok());
    check(&container(schema, "null", 1, &flags(1 << 20)), "a record of more than 1048576 values");
    let long = format!("{SCHEMA}{}", " ".repeat(1 << 20));
    check(&container(&long, "null", 0, &[]), "an Avro schema of more than 1048576 bytes");
    let pairs = (0..1025).map(|at: i32| [text(&at.to_be_bytes()), text(&[])].concat());
    let pairs = pairs.collect::<Vec<_>>().concat();
    check(&[b"Obj\x01".to_vec(), zigzag(1025), pairs].concat(), "a head of more than 1024 pairs");
}

#[test]
fn blocks_are_decompressed_up_to_a_limit() {
    use std::io::Write;
    let block = [zigzag(5), zigzag(0)].concat();
    let expected = Ok(vec![vec![(1, Datum::Whole(5)), (2, Datum::Null)]]);
    let deflated = |bytes: &[u8]| {
        let mut encoder = flate2::write::DeflateEncoder::new(vec![], flate2::Compression::fast());
        encoder.write_all(bytes).and_then(|()| encoder.finish()).expect("memory")
    };
    assert_eq!(read(&container(SCHEMA, "deflate", 1, &deflated(&block))), expected);
    // A piece at a time.
    let large = container(SCHEMA, "deflate", 4 << 20, &deflated(&vec![0; 8 << 20]));
    let mut opened = Container::open(&large).expect("a container");
    let mut pieces = 0;
    while let Ok(Next::More) = opened.next() {
        pieces += 1;
        assert!(opened.plain_bytes() <= pieces << 20, "{} {pieces}", opened.plain_bytes());
    }
    assert_eq!((pieces, opened.plain_bytes()), (10, 8 << 20));
    let bomb = container(SCHEMA, "deflate", 1, &deflated(&vec![0; (64 << 20) + 1]));
    assert_eq!(read(&bomb).map_err(|error| error.kind()), Err(ErrorKind::TooLarge));
    let zipped = zstd::bulk::compress(&block, 1).expect("memory");
    assert_eq!(read(&container(SCHEMA, "zstandard", 1, &zipped)), expected);
    let mut snapped = snap::raw::Encoder::new().compress_vec(&block).expect("short");
    let mut crc = flate2::Crc::new();
    crc.update(&block);
    snapped.extend(crc.sum().to_be_bytes());
    assert_eq!(read(&container(SCHEMA, "snappy", 1, &snapped)), expected);
    *snapped.last_mut().expect("a checksum") ^= 1;
    assert!(read(&container(SCHEMA, "snappy", 1, &snapped)).is_err());
}
