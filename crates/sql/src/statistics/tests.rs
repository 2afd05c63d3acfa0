//! Estimates from samples against known columns, and the stored form there and back.

use std::sync::Arc;

use arrow_array::{ArrayRef, Int64Array, RecordBatch, StringViewArray};
use plan::catalog::{ColumnStatistics, IndexDef, IndexId, IndexMethod};
use plan::constraints::Deferral;
use types::{Column, LogicalType, Schema};

use super::{column_statistics, decode_table, encode_table};
use crate::catalog::Catalog;
use crate::tests::tpch::Tpch;

fn numbers(batches: &[Vec<Option<i64>>], rows: u64) -> ColumnStatistics {
    let ty = LogicalType::Int64;
    let schema = Schema { columns: vec![Column { name: "a".into(), ty, nullable: true }] };
    let batch = |v: &Vec<Option<i64>>| {
        let column: ArrayRef = Arc::new(Int64Array::from(v.clone()));
        RecordBatch::try_new(schema.arrow(), vec![column]).unwrap()
    };
    let batches: Vec<RecordBatch> = batches.iter().map(batch).collect();
    column_statistics(&schema, &batches, rows).unwrap().remove(0)
}

/// A number between 0 and `n` that looks random.
fn scatter(i: i64, n: i64) -> i64 {
    let mut x = (i as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    x = (x ^ (x >> 32)).wrapping_mul(0xD6E8_FEB8_6659_FD93);
    ((x ^ (x >> 32)) % n as u64) as i64
}

/// Every `step`-th batch of `size` values of a column.
fn sample(rows: i64, size: i64, step: i64, value: impl Fn(i64) -> i64) -> Vec<Vec<Option<i64>>> {
    let batch = |b: i64| (b * size..(b + 1) * size).map(|i| Some(value(i))).collect();
    (0..rows / size).step_by(step as usize).map(batch).collect()
}

fn check_distinct(what: &str, got: f64, expected: f64) {
    assert!(got > expected * 0.7 && got < expected * 1.4, "{what}: {got}, really {expected}");
}

#[test]
fn distinct_values_are_estimated() {
    let rows = 1_000_000;
    let statistics = |value: fn(i64) -> i64| numbers(&sample(rows, 1000, 20, value), rows as u64);
    check_distinct("a key", statistics(|i| i).distinct_count, 1e6);
    check_distinct("neighbours share values", statistics(|i| i / 4).distinct_count, 250e3);
    check_distinct("few values", statistics(|i| i % 7).distinct_count, 7.0);
    check_distinct("many values", statistics(|i| scatter(i, 50_000)).distinct_count, 50e3);
    check_distinct("a scattered key", statistics(|i| (i * 7919) % 1_000_003).distinct_count, 1e6);
}

#[test]
fn histograms_and_common_values() {
    let skewed = |i: i64| if i % 2 == 0 { 42 } else { scatter(i, 10_000) };
    let statistics = numbers(&sample(1_000_000, 1000, 20, skewed), 1_000_000);
    let (value, share) = &statistics.most_common[0];
    assert_eq!(value, &datafusion_common::ScalarValue::Int64(Some(42)));
    assert!((share - 0.5).abs() < 0.01, "{share}");
    assert_eq!(statistics.histogram.len(), 101);
    assert_eq!(statistics.histogram.first(), statistics.min.as_ref());
    assert_eq!(statistics.histogram.last(), statistics.max.as_ref());
    let few = numbers(&sample(10_000, 1000, 1, |i| i % 5), 10_000);
    assert_eq!(few.most_common.len(), 5);
}

#[test]
fn nulls_and_order() {
    let column = (0..1000).map(|i| (i % 4 != 0).then_some(i)).collect();
    let statistics = numbers(&[column], 1000);
    assert!((statistics.null_fraction - 0.25).abs() < 1e-9);
    assert!(statistics.correlation > 0.999, "{}", statistics.correlation);
    let backwards = numbers(&[(0..1000).map(|i| Some(-i)).collect()], 1000);
    assert!(backwards.correlation < -0.999);
    let mixed = numbers(&[(0..1000).map(|i| Some(scatter(i, 1000))).collect()], 1000);
    assert!(mixed.correlation.abs() < 0.2, "{}", mixed.correlation);
    assert_eq!(numbers(&[vec![None; 10]], 10).null_fraction, 1.0);
    assert_eq!(numbers(&[], 0).distinct_count, 0.0);
}

#[test]
fn text_has_a_width() {
    let schema = Schema {
        columns: vec![Column { name: "s".into(), ty: LogicalType::Text, nullable: false }],
    };
    let column: ArrayRef =
        Arc::new(StringViewArray::from(vec!["a", "abc", "a long text, not inline"]));
    let batch = RecordBatch::try_new(schema.arrow(), vec![column]).unwrap();
    let statistics = column_statistics(&schema, &[batch], 3).unwrap();
    assert_eq!(statistics[0].width, 9.0);
}

fn hash_index() -> IndexDef {
    IndexDef { method: IndexMethod::Hash, ..IndexDef::new(IndexId(9), "h", vec![]) }
}

#[test]
fn definitions_survive_storage() {
    for table in Tpch::new().tables() {
        let bytes = encode_table(&table);
        let back = decode_table(&bytes).unwrap();
        assert_eq!(format!("{table:?}"), format!("{back:?}"));
    }
    let table = Tpch::new().tables().remove(0);
    let mut hashed = (*table).clone();
    let index = IndexDef { columns: vec![1], ..hash_index() };
    hashed.indexes.push(Arc::new(index));
    let bytes = encode_table(&hashed);
    assert!(bytes.starts_with(b"{\"version\":3,"), "earlier programs would search it in vain");
    assert_eq!(format!("{hashed:?}"), format!("{:?}", decode_table(&bytes).unwrap()));
    for (primary, deferral) in [(true, Deferral::Never), (false, Deferral::Initial)] {
        let mut keyed = (*table).clone();
        keyed.primary_key.clear();
        let new = IndexDef::new(IndexId(9), "k", vec![0]);
        keyed.indexes.push(Arc::new(IndexDef { unique: true, primary, deferral, ..new }));
        let bytes = encode_table(&keyed);
        assert!(
            bytes.starts_with(b"{\"version\":4,"),
            "earlier programs would take it for another"
        );
        assert_eq!(format!("{keyed:?}"), format!("{:?}", decode_table(&bytes).unwrap()));
        let damaged =
            String::from_utf8(bytes).unwrap().replace("\"unique\":true", "\"unique\":false");
        assert_eq!(decode_table(damaged.as_bytes()).unwrap_err().state.to_string(), "XX001");
    }
    for damage in ["", "{}", "[1,2", "{\"version\":9}"] {
        assert_eq!(decode_table(damage.as_bytes()).unwrap_err().state.0, "XX001", "{damage}");
    }
}
