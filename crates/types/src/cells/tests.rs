//! Values keep what they are: from vectors to rows and back, out of entries of trees, in keys.

use std::sync::Arc;

use arrow_array::{Array, ArrayRef, LargeStringArray, RecordBatch};

use super::{Cells, has_form, is_word, value_of};
use crate::binary::encode;
use crate::key::{KeyEncoder, encode_value_of};
use crate::logical::{Column, LogicalType, Schema};
use crate::outgoing::{encode_cell, has_cell_binary, has_cell_text, write_cell};
use crate::parse::ColumnParser;
use crate::reader::RowReader;
use crate::row::RowLayout;
use crate::text::format_value;
use crate::writer::{encode_key, encode_row};

const WIDE: LogicalType = LogicalType::Decimal { precision: 30, scale: 4 };
const NARROW: LogicalType = LogicalType::Decimal { precision: 10, scale: 2 };

/// Types with some of their values, least and greatest among them.
const VALUES: [(LogicalType, &[&str]); 18] = [
    (LogicalType::Bool, &["true", "false"]),
    (LogicalType::Int16, &["-32768", "0", "32767"]),
    (LogicalType::Int32, &["-2147483648", "-1", "2147483647"]),
    (LogicalType::Int64, &["-9223372036854775808", "5", "9223372036854775807"]),
    (LogicalType::Oid, &["0", "4294967295"]),
    (LogicalType::Float32, &["-1.5", "NaN", "Infinity", "-0", "3.4e38"]),
    (LogicalType::Float64, &["1e300", "NaN", "-Infinity", "-0", "0.1"]),
    (NARROW, &["-99999999.99", "0.01", "0"]),
    (WIDE, &["-12345678901234567890123456.7891", "0.0001"]),
    (LogicalType::Numeric, &["-1e30", "0.5", "12345678901234567890123456789012345678"]),
    (LogicalType::Text, &["", "é", "a text that does not stand in its view", "b"]),
    (LogicalType::Varchar(40), &["x", "another text that is long enough"]),
    (LogicalType::Date, &["2024-02-29", "1969-12-31", "infinity", "0044-03-15 BC"]),
    (LogicalType::Time, &["00:00:00", "23:59:59.999999"]),
    (LogicalType::Timestamp, &["2024-02-29 10:00:00.000001", "1900-01-01", "-infinity"]),
    (LogicalType::TimestampTz, &["2024-02-29 10:00:00+02", "1900-01-01 00:00:00+00"]),
    (LogicalType::Bytea, &["\\x", "\\x0001ff00", "\\x00112233445566778899aabbccddeeff"]),
    (LogicalType::Uuid, &["a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11"]),
];

const INTERVALS: (LogicalType, &[&str]) =
    (LogicalType::Interval, &["1 mon -2 days 03:00:00.5", "0", "-100 years"]);

fn column(ty: LogicalType, nullable: bool) -> Column {
    Column { name: "v".to_owned(), ty, nullable }
}

/// The values, a null among them if they may be null.
fn vector(ty: LogicalType, texts: &[&str], nullable: bool) -> ArrayRef {
    let mut parser = ColumnParser::new(&column(ty, nullable));
    texts.iter().for_each(|text| parser.push(Some(text)).unwrap());
    if nullable {
        parser.push(None).unwrap();
    }
    parser.finish()
}

fn of_vector(vector: &ArrayRef) -> Cells {
    of_vectors(std::slice::from_ref(vector))
}

fn of_batch(batch: &RecordBatch) -> Cells {
    of_vectors(batch.columns())
}

fn of_vectors(vectors: &[ArrayRef]) -> Cells {
    let mut rows = Cells::new(vectors.len());
    for row in 0..vectors[0].len() {
        vectors.iter().for_each(|vector| rows.push(value_of(vector.as_ref(), row).unwrap()));
        rows.end_row();
    }
    rows
}

fn each(test: impl Fn(LogicalType, &[&str], bool)) {
    for (ty, texts) in VALUES.iter().chain([&INTERVALS]) {
        test(*ty, texts, false);
        test(*ty, texts, true);
    }
}

#[test]
fn vectors_become_rows_and_vectors_again() {
    each(|ty, texts, nullable| {
        let vector = vector(ty, texts, nullable);
        assert!(has_form(vector.data_type()), "{ty}");
        let rows = of_vector(&vector);
        assert_eq!(&rows.vector(0, vector.data_type()).unwrap(), &vector, "{ty}");
        let words =
            (0..rows.len()).all(|row| !matches!(rows.value(row, 0), super::Value::Bytes(_)));
        assert_eq!(words, is_word(vector.data_type()), "{ty}");
    });
}

#[test]
fn texts_of_aggregates_become_rows_and_vectors_again() {
    let long: ArrayRef = Arc::new(LargeStringArray::from(vec![Some("a, b"), None, Some("")]));
    assert!(has_form(long.data_type()) && !is_word(long.data_type()));
    assert_eq!(&of_vector(&long).vector(0, long.data_type()).unwrap(), &long);
}

#[test]
fn entries_of_trees_become_rows() {
    each(|ty, texts, nullable| {
        let vector = vector(ty, texts, nullable);
        let numbers = ColumnParser::new(&column(LogicalType::Int32, false));
        let numbers = (0..vector.len()).fold(numbers, |mut numbers, row| {
            numbers.push(Some(&row.to_string())).unwrap();
            numbers
        });
        let mut numbers = numbers;
        let schema = Schema {
            columns: vec![
                Column { name: "id".to_owned(), ..column(LogicalType::Int32, false) },
                column(ty, nullable),
            ],
        };
        let batch = vec![numbers.finish(), vector.clone()];
        let batch = RecordBatch::try_new(schema.arrow(), batch).unwrap();
        let in_value = RowLayout::clustered(&schema, &[0]);
        let in_key = RowLayout::index(&schema, &[0], &[1], &[]);
        let layouts =
            if ty == LogicalType::Interval { vec![in_value] } else { vec![in_value, in_key] };
        for layout in layouts.into_iter().map(Arc::new) {
            let columns: Vec<ArrayRef> =
                layout.key.iter().map(|key| batch.column(key.ordinal).clone()).collect();
            let encoder = KeyEncoder::new(&layout.key, &columns);
            let reader = RowReader::new(layout.clone(), &[1, 0]);
            let (mut rows, whole) = (Cells::new(2), of_batch(&batch));
            for row in 0..batch.num_rows() {
                let (mut key, mut value) = (vec![], vec![]);
                encoder.encode(row, &mut key).unwrap();
                layout.encode_value(&batch, row, &mut value).unwrap();
                let (mut own_key, mut own_value) = (vec![], vec![]);
                encode_key(&layout.key, &whole, row, &mut own_key).unwrap();
                encode_row(&layout, &whole, row, &mut own_value).unwrap();
                assert_eq!((own_key, own_value), (key.clone(), value.clone()), "{ty}");
                reader.read(&key, &value, &mut rows);
            }
            let read = rows.vector(0, vector.data_type()).unwrap();
            match ty {
                // Keys have one zero only.
                LogicalType::Float32 | LogicalType::Float64 => assert_eq!(read.len(), vector.len()),
                _ => assert_eq!(&read, &vector, "{ty}"),
            }
            assert_eq!(&rows.vector(1, batch.column(0).data_type()).unwrap(), batch.column(0));
        }
    });
}

#[test]
fn keys_of_values_are_those_of_vectors() {
    each(|ty, texts, nullable| {
        let vector = vector(ty, texts, nullable);
        let schema = Schema { columns: vec![column(ty, nullable)] };
        let ordered = RowLayout::index(&schema, &[0], &[0], &[]).key[0];
        let hashed = RowLayout::hash_index(&schema, &[0], 0).key[0];
        let rows = of_vector(&vector);
        for key in [ordered, hashed] {
            if ty == LogicalType::Interval && !key.hashed {
                continue;
            }
            let encoder = KeyEncoder::new(&[key], std::slice::from_ref(&vector));
            for row in 0..vector.len() {
                let (mut of_vector, mut of_value) = (vec![], vec![]);
                encoder.encode(row, &mut of_vector).unwrap();
                encode_value_of(&key, rows.value(row, 0), &mut of_value).unwrap();
                assert_eq!(of_value, of_vector, "{ty}");
            }
        }
    });
}

#[test]
fn rows_are_taken_and_cut() {
    let vector = vector(LogicalType::Text, &["a", "b", "c"], true);
    let text = |rows: Cells| {
        let texts = (0..rows.len()).map(|row| match rows.value(row, 0) {
            super::Value::Bytes(bytes) => String::from_utf8(bytes.to_vec()).unwrap(),
            _ => "-".to_owned(),
        });
        texts.collect::<String>()
    };
    assert_eq!(text(of_vector(&vector).take(&[3, 0, 2, 0])), "-aca");
    assert_eq!(text(of_vector(&vector).slice(1, 2)), "bc");
    assert_eq!(text(of_vector(&vector).slice(3, 9)), "-");
    assert_eq!(text(of_vector(&vector).slice(9, 1)), "");
    assert_eq!(of_vector(&vector).columns(&[0, 0]).width(), 2);
}

#[test]
fn values_are_written_as_those_of_vectors() {
    each(|ty, texts, nullable| {
        let vector = vector(ty, texts, nullable);
        let (rows, arrow) = (of_vector(&vector), vector.data_type());
        assert_eq!(has_cell_text(arrow), ty != LogicalType::Interval, "{ty}");
        for row in 0..rows.len() {
            if has_cell_text(arrow) {
                let mut text = vec![];
                let is_value = write_cell(rows.value(row, 0), arrow, &mut text);
                let text = is_value.then(|| String::from_utf8(text).unwrap());
                assert_eq!(text, format_value(&vector, row), "{ty}");
            }
            if has_cell_binary(arrow) {
                let (mut own, mut of_vector) = (vec![], vec![]);
                encode_cell(&mut own, rows.value(row, 0), arrow);
                encode(&mut of_vector, &vector, row).unwrap();
                assert_eq!(own, of_vector, "{ty}");
            }
        }
    });
}
