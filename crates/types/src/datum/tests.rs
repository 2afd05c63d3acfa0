//! Each type in both formats: null, least and greatest values, wrong lengths, what is no value.

use proptest::prelude::*;

use super::*;
use crate::binary;
use crate::error::SqlState;
use crate::oid;

/// A value as its text and as its bytes say it.
fn check(number: u32, text: &str, bytes: &[u8], expected: &Datum) {
    let ty = oid::parameter(number, Some(text)).expect("a type of ours");
    assert_eq!(&Datum::read(ty, text).unwrap(), expected, "{ty} {text}");
    assert_eq!(&binary::datum(number, bytes).unwrap(), expected, "{ty} {text}");
    assert!(expected.is_of(ty), "{ty} {text}");
    // The shown form is read as the same value.
    let shown = expected.text(Some(ty)).unwrap();
    assert_eq!(&Datum::read(ty, &shown).unwrap(), expected, "{ty} {shown}");
    let mut parser = ColumnParser::new(&Column { name: String::new(), ty, nullable: true });
    parser.push(Some(text)).unwrap();
    assert_eq!(*expected.vector(ty).unwrap(), *parser.finish(), "{ty} {text}");
}

fn refused(number: u32, text: &str) -> SqlState {
    let ty = oid::parameter(number, Some(text)).expect("a type of ours");
    Datum::read(ty, text).expect_err(text).state
}

#[test]
fn least_and_greatest_numbers() {
    let all = [i16::MIN, -1, 0, i16::MAX];
    for n in all {
        check(oid::INT2, &n.to_string(), &n.to_be_bytes(), &Datum::Int(n.into()));
    }
    for n in [i32::MIN, -1, 0, i32::MAX] {
        check(oid::INT4, &n.to_string(), &n.to_be_bytes(), &Datum::Int(n.into()));
    }
    for n in [i64::MIN, -1, 0, i64::MAX] {
        check(oid::INT8, &format!(" {n} "), &n.to_be_bytes(), &Datum::Int(n));
    }
    for n in [0, u32::MAX] {
        check(oid::OID, &n.to_string(), &n.to_be_bytes(), &Datum::Int(n.into()));
    }
    for n in [f32::MIN, f32::MIN_POSITIVE, -0.0, 0.1, f32::MAX, f32::INFINITY, f32::NEG_INFINITY] {
        let text = float(n.into(), true);
        check(oid::FLOAT4, &text, &n.to_be_bytes(), &Datum::Float(n.into()));
    }
    for n in [f64::MIN, f64::MIN_POSITIVE, -0.0, 0.1, f64::MAX, f64::INFINITY, f64::NEG_INFINITY] {
        check(oid::FLOAT8, &float(n, false), &n.to_be_bytes(), &Datum::Float(n));
    }
    let nan = binary::datum(oid::FLOAT8, &f64::NAN.to_be_bytes()).unwrap();
    assert_eq!(nan.text(Some(LogicalType::Float64)).unwrap(), "NaN");
}

#[test]
fn truths_texts_and_bytes() {
    check(oid::BOOL, "f", &[0], &Datum::Bool(false));
    check(oid::BOOL, " yes ", &[7], &Datum::Bool(true));
    for text in ["", "it's", "\u{10ffff}", "null"] {
        check(oid::TEXT, text, text.as_bytes(), &Datum::Text(text.into()));
    }
    check(oid::BYTEA, "", &[], &Datum::Bytes(vec![]));
    check(oid::BYTEA, "\\x00ff", &[0, 255], &Datum::Bytes(vec![0, 255]));
    let nil = "00000000-0000-0000-0000-000000000000";
    check(oid::UUID, nil, &[0; 16], &Datum::Uuid([0; 16]));
    let greatest = "FFFFFFFF-ffff-ffff-ffff-ffffffffffff";
    check(oid::UUID, greatest, &[255; 16], &Datum::Uuid([255; 16]));
}

#[test]
fn dates_and_times() {
    const DAY: i64 = 86_400_000_000;
    let date = |days: i32| (days - 10_957).to_be_bytes();
    check(oid::DATE, "1970-01-01", &date(0), &Datum::Date(0));
    check(oid::DATE, "4713-01-01 BC", &date(-2_440_550), &Datum::Date(-2_440_550));
    check(oid::DATE, "infinity", &i32::MAX.to_be_bytes(), &Datum::Date(i32::MAX));
    check(oid::DATE, "-infinity", &i32::MIN.to_be_bytes(), &Datum::Date(i32::MIN));
    let moment = |micros: i64| (micros - 10_957 * DAY).to_be_bytes();
    for (number, zone) in [(oid::TIMESTAMP, ""), (oid::TIMESTAMPTZ, "+00")] {
        let at = |text: &str| format!("{text}{zone}");
        check(number, &at("1970-01-01 00:00:00.000001"), &moment(1), &Datum::Timestamp(1));
        check(number, &at("1969-12-31 23:59:59.999999"), &moment(-1), &Datum::Timestamp(-1));
        let late = 9_200_000_000_000_000_000;
        let shown = Datum::Timestamp(late).text(oid::parameter(number, None)).unwrap().into_owned();
        check(number, &shown, &moment(late), &Datum::Timestamp(late));
        check(number, "infinity", &i64::MAX.to_be_bytes(), &Datum::Timestamp(i64::MAX));
        check(number, "-infinity", &i64::MIN.to_be_bytes(), &Datum::Timestamp(i64::MIN));
    }
    check(oid::TIME, "00:00", &0_i64.to_be_bytes(), &Datum::Time(0));
    check(oid::TIME, "24:00:00", &DAY.to_be_bytes(), &Datum::Time(DAY));
    let interval = IntervalMonthDayNano { months: -14, days: 3, nanoseconds: -14_706_000_007_000 };
    let mut bytes = (interval.nanoseconds / 1000).to_be_bytes().to_vec();
    bytes.extend(interval.days.to_be_bytes());
    bytes.extend(interval.months.to_be_bytes());
    let text = "-1 years -2 mons +3 days -04:05:06.000007";
    check(oid::INTERVAL, text, &bytes, &Datum::Interval(interval));
}

#[test]
fn what_depends_on_the_moment_or_says_its_digits_stays_a_text() {
    for (ty, text) in [
        (LogicalType::Timestamp, "now"),
        (LogicalType::TimestampTz, "Tomorrow"),
        (LogicalType::Date, "today"),
        (LogicalType::Decimal { precision: 38, scale: 2 }, "1.50"),
        (LogicalType::Int32.array_of(), "{1,2}"),
    ] {
        assert_eq!(Datum::read(ty, text).unwrap(), Datum::Text(text.into()));
    }
    let numeric = [0, 1, 0, 0, 0, 0, 0, 2, 0, 1];
    assert_eq!(binary::datum(oid::NUMERIC, &numeric).unwrap(), Datum::Text("1.00".into()));
}

#[test]
fn wrong_lengths_are_refused() {
    for (number, length) in [
        (oid::BOOL, 1),
        (oid::INT2, 2),
        (oid::INT4, 4),
        (oid::INT8, 8),
        (oid::OID, 4),
        (oid::FLOAT4, 4),
        (oid::FLOAT8, 8),
        (oid::DATE, 4),
        (oid::TIME, 8),
        (oid::TIMESTAMP, 8),
        (oid::TIMESTAMPTZ, 8),
        (oid::INTERVAL, 16),
        (oid::UUID, 16),
        (oid::NUMERIC, 8),
    ] {
        for wrong in [0, length - 1, length + 1, 3 * length] {
            let error = binary::datum(number, &vec![0; wrong]).expect_err("a wrong length");
            assert_eq!(error.state, SqlState::BAD_BINARY, "{number} with {wrong} bytes");
        }
        assert!(binary::datum(number, &vec![0; length]).is_ok(), "{number}");
    }
    let mut array = [0, 0, 23, 0, 0].map(i32::to_be_bytes).concat();
    array[..12].copy_from_slice(&[1, 0, 23].map(i32::to_be_bytes).concat());
    assert_eq!(binary::datum(1007, &array).unwrap(), Datum::Text("{}".into()));
    array.push(0);
    assert_eq!(binary::datum(1007, &array).unwrap_err().state, SqlState::BAD_BINARY);
}

#[test]
fn what_is_no_value_has_the_state_that_postgresql_gives() {
    for number in [oid::BOOL, oid::INT2, oid::INT4, oid::INT8, oid::FLOAT4, oid::FLOAT8, oid::UUID]
    {
        for text in ["", "x", "1 2"] {
            assert_eq!(refused(number, text), SqlState::INVALID_TEXT_REPRESENTATION, "{number}");
        }
    }
    for (number, text) in [
        (oid::INT2, "32768"),
        (oid::INT4, "-2147483649"),
        (oid::INT8, "9223372036854775808"),
        (oid::FLOAT4, "1e39"),
        (oid::FLOAT8, "1e309"),
    ] {
        assert_eq!(refused(number, text), SqlState::NUMERIC_VALUE_OUT_OF_RANGE, "{text}");
    }
    for number in [oid::DATE, oid::TIME, oid::TIMESTAMP, oid::TIMESTAMPTZ, oid::INTERVAL] {
        assert_eq!(refused(number, "x"), SqlState::INVALID_DATETIME_FORMAT, "{number}");
    }
    assert_eq!(refused(oid::DATE, "2024-02-30"), SqlState::DATETIME_FIELD_OVERFLOW);
    let late = binary::datum(oid::TIME, &(-1_i64).to_be_bytes());
    assert_eq!(late.unwrap_err().state, SqlState::DATETIME_FIELD_OVERFLOW);
    for bytes in [&[0xff][..], b"a\0b"] {
        let error = binary::datum(oid::TEXT, bytes).unwrap_err();
        assert_eq!(error.state, SqlState::CHARACTER_NOT_IN_REPERTOIRE);
    }
}

#[test]
fn a_value_of_another_type_becomes_a_text() {
    let check = |value: Datum, ty, expected: Datum| assert_eq!(value.of_type(Some(ty)), expected);
    check(Datum::Int(5), LogicalType::Int16, Datum::Int(5));
    check(Datum::Int(40_000), LogicalType::Int16, Datum::Text("40000".into()));
    check(Datum::Int(5), LogicalType::Text, Datum::Text("5".into()));
    check(Datum::Float(0.1), LogicalType::Float32, Datum::Text("0.1".into()));
    check(Datum::Bool(true), LogicalType::Text, Datum::Text("true".into()));
    check(Datum::Null, LogicalType::Int16, Datum::Null);
    assert_eq!(Datum::Uuid([0; 16]).of_type(None).text(None).unwrap().len(), 36);
}

proptest! {
    #[test]
    fn moments_and_intervals_are_read_as_they_are_shown(
        micros in -60_000_000_000_000_000_i64..200_000_000_000_000_000,
        months in -10_000_i32..10_000,
        days in -10_000_i32..10_000,
    ) {
        let nanoseconds = micros % 1_000_000_000_000 * 1000;
        let interval = IntervalMonthDayNano { months, days, nanoseconds };
        for (value, ty) in [
            (Datum::Timestamp(micros), LogicalType::Timestamp),
            (Datum::Timestamp(micros), LogicalType::TimestampTz),
            (Datum::Interval(interval), LogicalType::Interval),
            (Datum::Date(days * 50), LogicalType::Date),
        ] {
            let text = value.text(Some(ty)).unwrap().into_owned();
            prop_assert_eq!(Datum::read(ty, &text).unwrap(), value, "{}", text);
        }
    }
}
