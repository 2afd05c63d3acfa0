//! Round trips of rows through their bytes, and the order of keys, on random values.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{Decimal128Type, Float64Type, Int32Type, Int64Type};
use arrow_array::{
    ArrayRef, BooleanArray, Decimal128Array, Float64Array, Int32Array, Int64Array, RecordBatch,
    StringViewArray,
};
use proptest::prelude::*;

use crate::key::{KeyEncoder, split_columns, successor};
use crate::logical::{Column, LogicalType, Schema};
use crate::row::batch::BatchBuilder;
use crate::row::{RowLayout, index_key_columns};

type Row = (i64, Option<i32>, Option<String>, Option<f64>, Option<i128>, Option<bool>, String);

fn schema() -> Schema {
    let column = |name: &str, ty, nullable| Column { name: name.into(), ty, nullable };
    Schema {
        columns: vec![
            column("id", LogicalType::Int64, false),
            column("n", LogicalType::Int32, true),
            column("t", LogicalType::Text, true),
            column("f", LogicalType::Float64, true),
            column("d", LogicalType::Decimal { precision: 30, scale: 2 }, true),
            column("b", LogicalType::Bool, true),
            column("s", LogicalType::Varchar(20), false),
        ],
    }
}

fn batch(rows: &[Row]) -> RecordBatch {
    let decimals = Decimal128Array::from_iter(rows.iter().map(|r| r.4));
    let arrays: Vec<ArrayRef> = vec![
        Arc::new(Int64Array::from_iter_values(rows.iter().map(|r| r.0))),
        Arc::new(Int32Array::from_iter(rows.iter().map(|r| r.1))),
        Arc::new(StringViewArray::from_iter(rows.iter().map(|r| r.2.clone()))),
        Arc::new(Float64Array::from_iter(rows.iter().map(|r| r.3))),
        Arc::new(decimals.with_precision_and_scale(30, 2).unwrap()),
        Arc::new(BooleanArray::from_iter(rows.iter().map(|r| r.5))),
        Arc::new(StringViewArray::from_iter_values(rows.iter().map(|r| r.6.clone()))),
    ];
    RecordBatch::try_new(schema().arrow(), arrays).unwrap()
}

fn row() -> impl Strategy<Value = Row> {
    let text = "[a-zé]{0,12}";
    (
        any::<i64>(),
        any::<Option<i32>>(),
        proptest::option::of(text),
        proptest::option::of(-1e9..1e9),
        proptest::option::of(-(10i128.pow(29))..10i128.pow(29)),
        any::<Option<bool>>(),
        text,
    )
}

fn keys(layout: &RowLayout, batch: &RecordBatch) -> Vec<Vec<u8>> {
    let arrays: Vec<ArrayRef> =
        layout.key.iter().map(|k| batch.column(k.ordinal).clone()).collect();
    let encoder = KeyEncoder::new(&layout.key, &arrays);
    let one = |row| {
        let mut key = vec![];
        encoder.encode(row, &mut key).unwrap();
        key
    };
    (0..batch.num_rows()).map(one).collect()
}

proptest! {
    #[test]
    fn rows_survive_their_bytes(rows in proptest::collection::vec(row(), 1..20), pk in prop_oneof![
        Just(vec![0usize]), Just(vec![6, 0]), Just(vec![2, 4, 1]), Just(vec![3, 5])]) {
        let batch = batch(&rows);
        let layout = Arc::new(RowLayout::clustered(&schema(), &pk));
        let wanted = [6, 0, 1, 2, 3, 4, 5];
        let mut builder = BatchBuilder::new(layout.clone(), &wanted, 1);
        let (keys, mut values) = (keys(&layout, &batch), vec![]);
        for (row, key) in keys.iter().enumerate() {
            let mut value = vec![];
            layout.encode_value(&batch, row, &mut value).unwrap();
            builder.push(key, &value);
            values.push(value);
        }
        let decoded = builder.finish();
        prop_assert_eq!(&decoded, &batch.project(&wanted).unwrap());
        // A leaf at a time: the first rows, then the others.
        let first = values.len() / 2;
        let values: Vec<&[u8]> = values.iter().map(Vec::as_slice).collect();
        builder.push_rows(&values[..first], |row, key| keys[row].clone_into(key));
        builder.push_rows(&values[first..], |row, key| keys[first + row].clone_into(key));
        prop_assert_eq!(builder.row_count(), batch.num_rows());
        prop_assert_eq!(builder.finish(), decoded);
    }

    #[test]
    fn keys_order_as_values(rows in proptest::collection::vec(row(), 2..20)) {
        let batch = batch(&rows);
        for ordinal in 0..7 {
            let layout = RowLayout::index(&schema(), &[0], &[ordinal], &[]);
            let keys = keys(&layout, &batch);
            for a in 0..rows.len() {
                for b in 0..rows.len() {
                    let expected = compare(&batch, ordinal, a, b).then(rows[a].0.cmp(&rows[b].0));
                    prop_assert_eq!(keys[a].cmp(&keys[b]), expected, "column {}", ordinal);
                }
            }
        }
    }
}

/// Ascending, nulls last.
fn compare(batch: &RecordBatch, ordinal: usize, a: usize, b: usize) -> std::cmp::Ordering {
    let array = batch.column(ordinal);
    match (array.is_null(a), array.is_null(b)) {
        (false, false) => {}
        (x, y) => return x.cmp(&y),
    }
    match ordinal {
        0 => array
            .as_primitive::<Int64Type>()
            .value(a)
            .cmp(&array.as_primitive::<Int64Type>().value(b)),
        1 => array
            .as_primitive::<Int32Type>()
            .value(a)
            .cmp(&array.as_primitive::<Int32Type>().value(b)),
        3 => {
            let floats = array.as_primitive::<Float64Type>();
            floats.value(a).partial_cmp(&floats.value(b)).unwrap()
        }
        4 => array
            .as_primitive::<Decimal128Type>()
            .value(a)
            .cmp(&array.as_primitive::<Decimal128Type>().value(b)),
        5 => array.as_boolean().value(a).cmp(&array.as_boolean().value(b)),
        _ => array.as_string_view().value(a).cmp(array.as_string_view().value(b)),
    }
}

#[test]
fn an_index_key_splits_into_its_columns() {
    let rows = [(7, None, Some("x".to_owned()), Some(1.5), Some(3), None, "yy".to_owned())];
    let columns = index_key_columns(&schema(), &[0, 6], &[1, 2, 6]);
    assert_eq!(columns.iter().map(|c| c.ordinal).collect::<Vec<_>>(), [1, 2, 6, 0]);
    let layout = RowLayout::index(&schema(), &[0, 6], &[1, 2, 6], &[]);
    let key = keys(&layout, &batch(&rows)).remove(0);
    let pieces = split_columns(&columns, &key);
    let expected: [&[u8]; 4] = [&[2], &[1, b'x', 0], b"yy\0", &[128, 0, 0, 0, 0, 0, 0, 7]];
    assert_eq!(pieces, expected);
}

#[test]
fn successor_carries() {
    assert_eq!(successor(&[1, 255, 255]), Some(vec![2]));
    assert_eq!(successor(&[1, 2]), Some(vec![1, 3]));
    assert_eq!(successor(&[255]), None);
    assert_eq!(successor(&[]), None);
}
