//! The comparison passes what is equal and fails what is not; the answers are whole.

use super::{Mismatch, Rows, Scale, compare, order_columns, reference};

fn rows(text: &str) -> Rows {
    let cell = |s: &str| (!s.is_empty()).then(|| s.to_string());
    let mut lines = text.lines();
    let header = lines.next().unwrap_or_default().split('|').map(str::to_string).collect();
    Rows { header, rows: lines.map(|line| line.split('|').map(cell).collect()).collect() }
}

fn check(reference: &str, order: &[usize], actual: &str) -> Result<(), Mismatch> {
    compare(reference, order, &rows(actual))
}

#[test]
fn equal_rows_pass() {
    assert_eq!(check("k|v\na|1.50\nb|\n", &[0], "k|v\na|1.50\nb|\n"), Ok(()));
}

#[test]
fn exact_numbers_may_gain_zeros_but_lose_no_digit() {
    assert_eq!(check("v\n1.50\n", &[], "v\n1.5000\n"), Ok(()));
    assert!(check("v\n1.50\n", &[], "v\n1.5\n").is_err());
    assert!(check("v\n1.50\n", &[], "v\n1.5001\n").is_err());
    assert!(check("v\n53758257134.8700\n", &[], "v\n53758257134.87\n").is_err());
}

#[test]
fn quotients_are_rounded_to_our_digits_half_away_from_zero() {
    let third = "v\n-0.6666666666666666666666666\n";
    assert_eq!(check(third, &[], "v\n-0.666667\n"), Ok(()));
    assert_eq!(check(third, &[], "v\n-0.6666666666666667\n"), Ok(()));
    assert_eq!(check(third, &[], "v\n-0.66666666666666666666666666667\n"), Ok(()));
    assert!(check(third, &[], "v\n-0.666666\n").is_err(), "half a unit, nothing looser");
    assert!(check(third, &[], "v\n-0.66667\n").is_err(), "too few digits");
    let half = "v\n0.0000005000000000000000000\n";
    assert_eq!(check(half, &[], "v\n0.000001\n"), Ok(()));
    assert!(check(half, &[], "v\n0.000000\n").is_err());
}

#[test]
fn order_counts_except_within_ties() {
    let reference = "k|v\na|1\na|2\nb|3\n";
    assert_eq!(check(reference, &[0], "k|v\na|2\na|1\nb|3\n"), Ok(()));
    assert!(check(reference, &[0], "k|v\na|1\nb|3\na|2\n").is_err());
    assert!(check(reference, &[0, 1], "k|v\na|2\na|1\nb|3\n").is_err());
    assert!(check(reference, &[0], "k|v\na|1\na|1\nb|3\n").is_err(), "rows are counted");
}

#[test]
fn shape_text_and_nulls_count() {
    assert_eq!(check("a|b\n", &[], "a\n"), Err(Mismatch::ColumnCount { expected: 2, actual: 1 }));
    assert_eq!(
        check("a\n1\n2\n", &[], "a\n1\n"),
        Err(Mismatch::RowCount { expected: 2, actual: 1 })
    );
    assert!(check("a\nx \n", &[], "a\nx\n").is_err());
    assert!(check("a\n0\n", &[], "a\n\n").is_err());
    assert!(check("a\n\n", &[], "a\n0\n").is_err());
    assert!(check("a\n1e3\n", &[], "a\n1000\n").is_err());
}

#[test]
fn every_answer_is_its_own_answer() {
    for scale in [Scale::Hundredth, Scale::One] {
        for query in 1..=22 {
            let text = reference(query, scale).expect("22 answers");
            let order = order_columns(query).expect("22 orders");
            assert_eq!(compare(text, order, &rows(text)), Ok(()), "Q{query}");
        }
    }
    assert_eq!(reference(0, Scale::One), None);
    assert_eq!(reference(23, Scale::One), None);
}

/// Values that the specification's own answer set gives for scale factor 1.
#[test]
fn the_answers_are_those_of_the_specification() {
    let revenue = rows(reference(6, Scale::One).expect("Q6"));
    assert_eq!(revenue.rows[0][0].as_deref(), Some("123141078.2283"));
    let pricing = rows(reference(1, Scale::One).expect("Q1"));
    assert_eq!(pricing.rows[0][2].as_deref(), Some("37734107.00"));
    assert_eq!(pricing.rows[0][9].as_deref(), Some("1478493"));
}
