//! Manifests whose entries are written here.

use super::{DataFile, Manifest, ManifestFiles};
use crate::avro::tests::{container_with, text, zigzag};
use crate::fault::Result;
use crate::metadata::TableMetadata;

const SCHEMA: &str = r#"{"type": "record", "name": "entry", "fields": [
    {"name": "status", "type": "int", "field-id": 0},
    {"name": "number", "type": ["null", "long"], "field-id": 3},
    {"name": "file", "field-id": 2, "type": {"type": "record", "name": "file", "fields": [
        {"name": "path", "type": "string", "field-id": 100},
        {"name": "format", "type": "string", "field-id": 101},
        {"name": "partition", "type": {"type": "record", "name": "p", "fields": []}, "field-id": 102},
        {"name": "rows", "type": "long", "field-id": 103},
        {"name": "bytes", "type": "long", "field-id": 104}]}}]}"#;

fn metadata() -> TableMetadata {
    let json = r#"{"format-version": 2, "location": "/t", "current-schema-id": 0, "schemas":
        [{"schema-id": 0, "fields": []}], "partition-specs": [{"spec-id": 0, "fields": []}]}"#;
    TableMetadata::parse(json.as_bytes()).expect("good")
}

/// An entry, whose number may not be known.
fn entry(status: i64, number: Option<i64>, path: &str) -> Vec<u8> {
    let number = match number {
        None => zigzag(0),
        Some(number) => [zigzag(1), zigzag(number)].concat(),
    };
    let file = [text(path.as_bytes()), text(b"parquet"), zigzag(3), zigzag(100)].concat();
    [zigzag(status), number, file].concat()
}

/// What the steps of a manifest give. Its head says this version, and its list this number.
fn steps(
    version: Option<&str>,
    sequence_number: i64,
    entries: &[Vec<u8>],
) -> Vec<Result<Option<DataFile>>> {
    let mut head = vec![("avro.schema", SCHEMA)];
    head.extend(version.map(|version| ("format-version", version)));
    let bytes = container_with(&head, entries.len() as i64, &entries.concat());
    let manifest = Manifest {
        path: "m".to_owned(),
        spec_id: 0,
        is_of_deletes: false,
        bytes: bytes.len() as u64,
        sequence_number,
    };
    let metadata = metadata();
    let files = ManifestFiles::open(&bytes, &manifest, &metadata).expect("good");
    assert_eq!(files.own_bytes(), 0, "nothing is compressed");
    files.collect()
}

#[test]
fn each_entry_is_a_step_of_its_own() {
    let mut entries = vec![entry(2, Some(1), "gone"); 5];
    entries.push(entry(1, Some(1), "there"));
    let paths: Vec<Option<String>> = steps(Some("2"), 1, &entries)
        .into_iter()
        .map(|step| Some(step.expect("good")?.path))
        .collect();
    // One for the block, and those of the files that are gone.
    let expected = [vec![None; 6], vec![Some("there".to_owned())]].concat();
    assert_eq!(paths, expected);
}

/// By the specification, "Sequence Number Inheritance" and "Reading v1 metadata for v2".
#[test]
fn numbers_that_are_not_known_are_those_of_the_manifest() {
    const EXISTING: i64 = 0;
    const ADDED: i64 = 1;
    let damaged = Err("an entry has no sequence number");
    let cases = [
        (Some("2"), 7, ADDED, Some(3), Ok(3)),
        (Some("2"), 7, ADDED, None, Ok(7)),
        (Some("2"), 7, EXISTING, Some(3), Ok(3)),
        (Some("2"), 7, EXISTING, None, damaged),
        (None, 7, EXISTING, None, damaged),
        (Some("2"), 0, EXISTING, None, Ok(0)),
        (Some("1"), 0, ADDED, None, Ok(0)),
        (Some("1"), 0, EXISTING, None, Ok(0)),
        (Some("1"), 7, EXISTING, None, Ok(0)),
    ];
    for (version, of_manifest, status, number, expected) in cases {
        let step = steps(version, of_manifest, &[entry(status, number, "f")]).pop();
        let found = step.expect("a step").map(|file| file.expect("a file").sequence_number);
        let case = format!("{version:?} {of_manifest} {status} {number:?}");
        assert_eq!(found.map_err(|e| e.to_string()), expected.map_err(str::to_owned), "{case}");
    }
}
