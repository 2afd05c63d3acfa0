//! Metadata files, whole and damaged.

use super::TableMetadata;
use crate::fault::ErrorKind;
use crate::schema::Type;
use crate::transform::Transform;

const V1: &str = r#"{"format-version": 1, "location": "s3://b/t/", "schema": {"fields": [
    {"id": 1, "name": "a", "type": "decimal(9, 2)", "required": true},
    {"id": 2, "name": "l", "type": {"type": "list", "element": "int"}}]},
  "partition-spec": [{"source-id": 1, "name": "p", "transform": "truncate[10]"}],
  "current-snapshot-id": -1,
  "properties": {"schema.name-mapping.default": "[{\"field-id\": 1, \"names\": [\"a\", \"A\"]}]"}}"#;

#[test]
fn tables_of_version_1_are_read() {
    let table = TableMetadata::parse(V1.as_bytes()).expect("good");
    assert_eq!(table.location, "s3://b/t");
    let schema = table.schema_of(None).expect("there");
    assert_eq!(schema.fields[0].ty, Type::Decimal { precision: 9, scale: 2 });
    assert_eq!(schema.fields[1].ty, Type::Unreadable("list".to_owned()));
    let spec = table.spec(0).expect("there");
    assert_eq!(
        (spec.fields[0].field_id, &spec.fields[0].transform),
        (1000, &Transform::Truncate(10))
    );
    assert_eq!(table.current_snapshot(), Ok(None));
    assert_eq!(table.name_mapping().id("A"), Some(1));
}

#[test]
fn snapshots_are_found_by_number_and_time() {
    let table = r#"{"format-version": 2, "location": "/t", "current-snapshot-id": 2,
      "schemas": [{"schema-id": 0, "fields": []}], "current-schema-id": 0,
      "snapshots": [{"snapshot-id": 1, "timestamp-ms": 10, "manifest-list": "a"},
                    {"snapshot-id": 2, "timestamp-ms": 20, "manifest-list": "b"}],
      "snapshot-log": [{"timestamp-ms": 10, "snapshot-id": 1}, {"timestamp-ms": 20, "snapshot-id": 2},
                       {"timestamp-ms": 30, "snapshot-id": 3}]}"#;
    let table = TableMetadata::parse(table.as_bytes()).expect("good");
    assert_eq!(table.current_snapshot().ok().flatten().map(|s| s.id), Some(2));
    let at = |ms| table.snapshot_at(ms).map(|snapshot| snapshot.id).map_err(|e| e.kind());
    assert_eq!(at(9), Err(ErrorKind::Absent));
    assert_eq!((at(10), at(19), at(29)), (Ok(1), Ok(1), Ok(2)));
    // It is not kept any more.
    assert_eq!(at(30), Err(ErrorKind::Absent));
    assert_eq!(table.snapshot_of_id(7).map_err(|e| e.kind()), Err(ErrorKind::Absent));
}

#[test]
fn what_is_wrong_is_said() {
    let check = |from: &str, to: &str, expected: &str| {
        let changed = V1.replace(from, to);
        assert_ne!(changed, V1, "{from}");
        let error = TableMetadata::parse(changed.as_bytes()).expect_err(expected);
        assert_eq!(error.to_string(), expected);
    };
    check("\"format-version\": 1", "\"format-version\": 3", "Iceberg of version 3");
    check("\"format-version\": 1, ", "", "\"format-version\" is missing");
    check("\"id\": 2", "\"id\": 1", "two columns have the same id");
    check("\"id\": 2", "\"id\": \"2\"", "\"id\" is no whole number");
    check("\"id\": 2", "\"id\": 2147483648", "\"id\" is no number of 32 bits");
    check("decimal(9, 2)", "decimal(9)", "\"decimal(9)\" is no type");
    check("decimal(9, 2)", "decimal(39, 2)", "\"decimal(39, 2)\" is no type");
    check("\"schema\"", "\"x\"", "schema 0 is missing");
    let error = TableMetadata::parse(b"{").expect_err("short");
    assert!(error.to_string().starts_with("it is no JSON: "));
    let error = TableMetadata::parse(&[0x1f, 0x8b, 1]).expect_err("short");
    assert_eq!(error.to_string(), "it cannot be decompressed");
}
