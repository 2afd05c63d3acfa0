//! Exact arithmetic, error codes, and aggregates through update, state and merge.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{
    Array, ArrayRef, BooleanArray, Date32Array, Decimal128Array, Float64Array, Int32Array,
    Int64Array, RecordBatch, StringViewArray,
};
use arrow_cast::display::array_value_to_string;
use plan::expr::GroupRows;
use types::SqlResult;

use crate::analyze::expression::{parse_aggregate, parse_expr};

mod totals;

fn batch() -> RecordBatch {
    let decimals = Decimal128Array::from(vec![Some(100), Some(250), None, Some(-1)]);
    let columns: Vec<(&str, ArrayRef)> = vec![
        ("a", Arc::new(Int64Array::from(vec![1, 2, 2, i64::MAX]))),
        ("b", Arc::new(Int32Array::from(vec![Some(10), None, Some(0), Some(7)]))),
        ("x", Arc::new(Float64Array::from(vec![2.5, 0.0, -3.5, 1e300]))),
        ("d", Arc::new(decimals.with_precision_and_scale(15, 2).unwrap())),
        ("s", Arc::new(StringViewArray::from(vec!["foo", "Bar", "foo", "a longer text than 12"]))),
        ("day", Arc::new(Date32Array::from(vec![0, 365, 10_000, 1]))),
    ];
    RecordBatch::try_from_iter_with_nullable(columns.into_iter().map(|(n, c)| (n, c, true)))
        .unwrap()
}

fn show(array: &ArrayRef) -> String {
    let cell = |i| match array.is_null(i) {
        true => "null".to_string(),
        false => array_value_to_string(array, i).unwrap(),
    };
    (0..array.len()).map(cell).collect::<Vec<_>>().join(" ")
}

fn value(text: &str) -> SqlResult<String> {
    let batch = batch();
    let expr = parse_expr(text, &batch.schema())?;
    let array = expr.evaluate(&batch)?;
    assert_eq!(array.len(), batch.num_rows(), "{text}");
    assert_eq!(array.data_type(), expr.data_type(), "{text}");
    Ok(show(&array))
}

fn check(text: &str, expected: &str) {
    let got = match value(text) {
        Ok(values) => values,
        Err(error) => error.state.to_string(),
    };
    assert_eq!(got, expected, "{text}: {:?}", value(text));
}

#[test]
fn arithmetic_is_exact() {
    check("1", "1 1 1 1");
    check("b * 2", "20 null 0 14");
    check("a + 1", "22003");
    check("b + 2147483647", "22003");
    check("a * 2", "22003");
    check("-a - 2", "22003");
    check("-(-a - 1)", "22003");
    check("10 / b", "22012");
    check("10 % b", "22012");
    check("x / x", "22012");
    check("case when b = 0 then -1 else 10 / b end", "1 null -1 1");
    check("d / 3", "0.33333333333333333333 0.83333333333333333333 null -0.00333333333333333333");
    check(
        "2.00 / 3",
        "0.66666666666666666667 0.66666666666666666667 0.66666666666666666667 0.66666666666666666667",
    );
    check("d / 0", "22012");
    check("d * 1.5", "1.500 3.750 null -0.015");
    check("cast(d as int)", "1 3 null 0");
    check("cast(x / 10 as int)", "22003");
    check("cast(2.5 as bigint)", "3 3 3 3");
    check("cast(s as int)", "22P02");
    check("cast(a as int)", "22003");
}

#[test]
fn functions_of_tpch() {
    check("extract(year from day)", "1970 1971 1997 1970");
    check("substring(s from 1 for 2)", "fo Ba fo a ");
    check("s like '%oo'", "true false true false");
    check("day < date '1971-01-01'", "true false false true");
    check(
        "day + interval '1' year",
        "1971-01-01T00:00:00 1972-01-01T00:00:00 1998-05-19T00:00:00 1971-01-02T00:00:00",
    );
    check("nothing + 1", "42703");
    check("frobnicate(a)", "42883");
    check("s + 1 > 2", "42883");
}

#[test]
fn columns_and_literals_know_themselves() {
    let batch = batch();
    let b = parse_expr("b", &batch.schema()).unwrap();
    assert_eq!(b.is_column(), Some(1));
    assert_eq!(b.text(), "b");
    let sum = parse_expr("b + 1", &batch.schema()).unwrap();
    assert_eq!(sum.is_column(), None);
    assert_eq!(sum.text(), "(b + 1)");
}

/// Runs an aggregate in two halves by two groups (even and odd rows), merged.
fn aggregate(text: &str) -> SqlResult<String> {
    let batch = batch();
    let expr = parse_aggregate(text, &batch.schema())?;
    let mut whole = expr.accumulator()?;
    for half in [batch.slice(0, 2), batch.slice(2, 2)] {
        let mut part = expr.accumulator()?;
        let args = expr.args.iter().map(|a| a.evaluate(&half)).collect::<SqlResult<Vec<_>>>()?;
        let filter = expr.filter.as_ref().map(|f| f.evaluate(&half)).transpose()?;
        let filter: Option<&BooleanArray> = filter.as_ref().map(|f| f.as_boolean());
        part.update(&args, &GroupRows::new(&[0, 1], 2), filter)?;
        // Merged the other way round, to see that the indices are obeyed.
        whole.merge(&part.state()?, &[1, 0], 2)?;
    }
    let result = whole.evaluate()?;
    assert_eq!(result.data_type(), &expr.data_type(), "{text}");
    Ok(show(&result))
}

fn check_aggregate(text: &str, expected: &str) {
    let got = aggregate(text).unwrap_or_else(|error| error.to_string());
    assert_eq!(got, expected, "{text}");
}

#[test]
fn aggregates_merge() {
    check_aggregate("count(*)", "2 2");
    check_aggregate("count(*) filter (where a = 2)", "1 1");
    check_aggregate("count(b)", "1 2");
    check_aggregate("sum(b)", "7 10");
    check_aggregate("sum(a)", "9223372036854775809 3");
    check_aggregate("avg(d)", "1.24500000000000000000 1.00000000000000000000");
    check_aggregate("min(s)", "Bar foo");
    check_aggregate("max(day)", "1971-01-01 1997-05-19");
    check_aggregate("count(distinct s)", "2 1");
    check_aggregate("sum(distinct d)", "2.49 1.00");
    check_aggregate("avg(distinct d)", "1.24500000000000000000 1.00000000000000000000");
    check_aggregate("count(distinct b) filter (where b > 0)", "1 1");
    check_aggregate("bool_and(b > 5)", "true false");
}

#[test]
fn averages_round() {
    let values = Decimal128Array::from(vec![1, 1, 0]).with_precision_and_scale(15, 2).unwrap();
    let batch = RecordBatch::try_from_iter([("d", Arc::new(values) as ArrayRef)]).unwrap();
    let expr = parse_aggregate("avg(d)", &batch.schema()).unwrap();
    let mut state = expr.accumulator().unwrap();
    state.update(&[batch.column(0).clone()], &GroupRows::new(&[0, 0, 0], 1), None).unwrap();
    // 0.02 / 3 = 0.00666...: the last digit is rounded up.
    let average = types::text::format_value(&state.evaluate().unwrap(), 0);
    assert_eq!(average.as_deref(), Some("0.00666666666666666667"));
}
