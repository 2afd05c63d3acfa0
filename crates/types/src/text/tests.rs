//! The expected texts are what PostgreSQL 15 prints for the same values.

use std::sync::Arc;

use arrow_array::types::IntervalMonthDayNano;
use arrow_array::{
    ArrayRef, BooleanArray, Date32Array, Decimal128Array, Float32Array, Float64Array, Int16Array,
    Int64Array, IntervalMonthDayNanoArray, NullArray, StringViewArray, TimestampMicrosecondArray,
};

use super::format_value;

#[track_caller]
fn check(array: impl Into<Option<ArrayRef>>, want: &[&str]) {
    let array: ArrayRef = array.into().expect("an array");
    let got: Vec<String> = (0..array.len())
        .map(|row| format_value(&array, row).unwrap_or_else(|| "NULL".into()))
        .collect();
    assert_eq!(got, want);
}

fn array(array: impl arrow_array::Array + 'static) -> ArrayRef {
    Arc::new(array)
}

#[test]
fn booleans_integers_text_and_nulls() {
    check(array(BooleanArray::from(vec![Some(true), Some(false), None])), &["t", "f", "NULL"]);
    check(array(Int16Array::from(vec![-32768, 7])), &["-32768", "7"]);
    check(array(Int64Array::from(vec![i64::MIN])), &["-9223372036854775808"]);
    check(array(StringViewArray::from(vec![Some(""), Some("a b"), None])), &["", "a b", "NULL"]);
    check(array(NullArray::new(1)), &["NULL"]);
}

#[test]
fn numerics_keep_their_scale() {
    let numeric = |values: Vec<i128>, scale| {
        array(Decimal128Array::from(values).with_precision_and_scale(38, scale).expect("fits"))
    };
    check(
        numeric(vec![0, 5, -5, 12345, -12345], 2),
        &["0.00", "0.05", "-0.05", "123.45", "-123.45"],
    );
    check(numeric(vec![7, -7], 0), &["7", "-7"]);
    check(numeric(vec![7, 0], -2), &["700", "0"]);
    let largest = 10i128.pow(38) - 1;
    check(numeric(vec![largest], 38), &["0.99999999999999999999999999999999999999"]);
}

#[test]
fn doubles_are_shortest_and_turn_scientific_at_15_digits() {
    let values = vec![
        0.0,
        -0.0,
        -1.5,
        1e14,
        999_999_999_999_999.0,
        1e15,
        123_456_789_012_345_678.0,
        1e-4,
        1e-5,
        1.25e-7,
        0.1 + 0.2,
        1e100,
        f64::NAN,
        f64::INFINITY,
        f64::NEG_INFINITY,
    ];
    let want = [
        "0",
        "-0",
        "-1.5",
        "100000000000000",
        "999999999999999",
        "1e+15",
        "1.2345678901234568e+17",
        "0.0001",
        "1e-05",
        "1.25e-07",
        "0.30000000000000004",
        "1e+100",
        "NaN",
        "Infinity",
        "-Infinity",
    ];
    check(array(Float64Array::from(values)), &want);
}

#[test]
fn reals_turn_scientific_at_6_digits() {
    let values = vec![0.1, 123_456.0, 1_234_567.0, 1e6, 1.5e-5, f32::MAX];
    let want = ["0.1", "123456", "1.234567e+06", "1e+06", "1.5e-05", "3.4028235e+38"];
    check(array(Float32Array::from(values)), &want);
}

#[test]
fn dates_are_iso() {
    let days = vec![0, -1, 11_016, -718_798, -735_160, 2_932_897];
    let want =
        ["1970-01-01", "1969-12-31", "2000-02-29", "0001-12-31", "0044-03-15 BC", "10000-01-01"];
    check(array(Date32Array::from(days)), &want);
}

#[test]
fn timestamps_drop_trailing_zeros() {
    let noon_bc = -735_160 * 86_400_000_000 + 43_200_000_000;
    let values = vec![1_704_164_645_600_000, -1, 0, noon_bc];
    let want = [
        "2024-01-02 03:04:05.6",
        "1969-12-31 23:59:59.999999",
        "1970-01-01 00:00:00",
        "0044-03-15 12:00:00 BC",
    ];
    check(array(TimestampMicrosecondArray::from(values)), &want);
    let utc = TimestampMicrosecondArray::from(vec![0]).with_timezone("UTC");
    check(array(utc), &["1970-01-01 00:00:00+00"]);
}

#[test]
fn intervals_have_postgres_style() {
    let of = |months, days, micros: i64| IntervalMonthDayNano::new(months, days, micros * 1_000);
    let values = vec![
        of(14, -3, 14_706_700_000),
        of(-1, 0, 0),
        of(0, 0, 0),
        of(0, 90, 0),
        of(0, 0, -5_000_000),
        of(0, 1, -1_000_000),
    ];
    let want = [
        "1 year 2 mons -3 days +04:05:06.7",
        "-1 mons",
        "00:00:00",
        "90 days",
        "-00:00:05",
        "1 day -00:00:01",
    ];
    check(array(IntervalMonthDayNanoArray::from(values)), &want);
}

#[test]
fn intervals_have_four_styles() {
    use super::interval::IntervalStyle::{Iso8601, PostgresVerbose, SqlStandard};
    let value = |months, days, micros: i64| IntervalMonthDayNano::new(months, days, micros * 1000);
    let values: ArrayRef = array(IntervalMonthDayNanoArray::from(vec![
        value(14, 3, 14_706_789_000),
        value(0, 0, 0),
        value(-14, 0, 0),
        value(1, -2, 3_600_000_000),
        value(0, 0, -1_500_000),
        value(0, 4, 60_000_000),
    ]));
    let printed = |style: super::IntervalStyle| -> Vec<String> {
        (0..values.len()).map(|row| style.format(&values, row).unwrap_or_default()).collect()
    };
    let wanted = ["P1Y2M3DT4H5M6.789S", "PT0S", "P-1Y-2M", "P1M-2DT1H", "PT-1.5S", "P4DT1M"];
    assert_eq!(printed(Iso8601), wanted);
    let wanted =
        ["+1-2 +3 +4:05:06.789", "0", "-1-2", "+0-1 -2 +1:00:00", "-0:00:01.5", "4 0:01:00"];
    assert_eq!(printed(SqlStandard), wanted);
    let wanted = [
        "@ 1 year 2 mons 3 days 4 hours 5 mins 6.789 secs",
        "@ 0",
        "@ 1 year 2 mons ago",
        "@ 1 mon -2 days 1 hour",
        "@ 1.5 secs ago",
        "@ 4 days 1 min",
    ];
    assert_eq!(printed(PostgresVerbose), wanted);
}
