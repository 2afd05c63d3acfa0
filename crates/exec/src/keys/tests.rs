//! Byte keys: what was encoded is decoded, and keys are equal where rows are.

use std::sync::Arc;

use arrow_array::{
    Array, ArrayRef, BooleanArray, Date32Array, Decimal128Array, Float64Array, Int16Array,
    Int64Array, StringViewArray, TimestampMicrosecondArray,
};
use arrow_row::{RowConverter, SortField};
use stdx::Prng;

use super::{KeyCoder, Keys};

const ROWS: usize = 200;

fn columns(random: &mut Prng) -> Vec<ArrayRef> {
    let nulls = random.below(3) as f64 * 0.2;
    let mut number = || {
        let value = random.below(4) as i64 - 1;
        (!random.chance(nulls)).then_some(value)
    };
    let mut numbers = || (0..ROWS).map(|_| number()).collect::<Vec<Option<i64>>>();
    let texts = ["", "b", "a text of twelve and more", "a text of twelve and less"];
    let text = |v: Option<i64>| v.map(|v| texts[(v + 1) as usize]);
    let decimals =
        Decimal128Array::from(numbers().iter().map(|v| v.map(i128::from)).collect::<Vec<_>>());
    let floats =
        numbers().into_iter().map(|v| v.map(|v| if v == -1 { f64::NAN } else { v as f64 * -0.5 }));
    vec![
        Arc::new(Int64Array::from(numbers())),
        Arc::new(StringViewArray::from_iter(numbers().into_iter().map(text))),
        Arc::new(decimals.with_precision_and_scale(20, 3).unwrap()),
        Arc::new(numbers().into_iter().map(|v| v.map(|v| v > 0)).collect::<BooleanArray>()),
        Arc::new(numbers().into_iter().map(|v| v.map(|v| v as i16)).collect::<Int16Array>()),
        Arc::new(StringViewArray::from_iter(numbers().into_iter().map(text))),
        Arc::new(floats.collect::<Float64Array>()),
        Arc::new(numbers().into_iter().map(|v| v.map(|v| v as i32)).collect::<Date32Array>()),
        Arc::new(TimestampMicrosecondArray::from(numbers()).with_timezone("UTC")),
    ]
}

/// Some of the columns, in some order, one of them perhaps twice.
fn chosen(random: &mut Prng) -> Vec<ArrayRef> {
    let all = columns(random);
    let count = 1 + random.below(all.len() as u64);
    (0..count).map(|_| all[random.below(all.len() as u64) as usize].clone()).collect()
}

/// Keys come back, and are equal where rows are.
fn check(columns: &[ArrayRef], seed: u64) -> Keys {
    let types: Vec<_> = columns.iter().map(|c| c.data_type().clone()).collect();
    let coder = KeyCoder::new(types.clone(), true).unwrap();
    let batch = coder.encode(columns).unwrap();
    let canonical: Vec<ArrayRef> = columns.iter().map(super::canonical).collect();
    assert_eq!(coder.decode(&batch.keys, None).unwrap(), canonical, "seed {seed}");
    let fields = types.into_iter().map(SortField::new).collect();
    let rows = RowConverter::new(fields).unwrap().convert_columns(&canonical).unwrap();
    for (i, j) in (0..ROWS).flat_map(|i| (0..ROWS).map(move |j| (i, j))) {
        let same = batch.keys.equal(i, &batch.keys, j);
        assert_eq!(same, rows.row(i) == rows.row(j), "rows {i} and {j}, seed {seed}");
        assert!(!same || batch.hashes[i] == batch.hashes[j], "rows {i} and {j}, seed {seed}");
    }
    batch.keys
}

#[test]
fn keys_of_any_columns() {
    (0..200).for_each(|seed| drop(check(&chosen(&mut Prng::new(seed)), seed)));
}

#[test]
fn keys_of_two_and_three_integers_are_words() {
    let mut wide = 0;
    for seed in 0..100 {
        let random = &mut Prng::new(seed);
        let all = columns(random);
        let ints = [&all[0], &all[4], &all[7]];
        let count = 2 + random.below(2);
        let mut one = || Arc::clone(ints[random.below(3) as usize]);
        let columns: Vec<ArrayRef> = (0..count).map(|_| one()).collect();
        wide += usize::from(matches!(check(&columns, seed), Keys::Wide(_)));
    }
    // Three of 64 bits are too long.
    assert!((60..100).contains(&wide), "{wide} of 100");
}

#[test]
fn no_rows_have_no_keys() {
    let columns: Vec<ArrayRef> = columns(&mut Prng::new(0)).iter().map(|c| c.slice(0, 0)).collect();
    let types = columns.iter().map(|c| c.data_type().clone()).collect();
    let batch = KeyCoder::new(types, false).unwrap().encode(&columns).unwrap();
    assert!(matches!(batch.keys, Keys::Bytes(keys) if keys.len() == 0));
}
