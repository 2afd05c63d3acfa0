//! Reference answers of TPC-H, and the comparison of our rows with them.
//!
//! The answers were made by an independent engine (`tests/tpch/README.md`). The comparison forgives
//! only what SQL leaves open: the order of rows that the query's ORDER BY does not tell apart, and
//! the number of digits of a quotient beyond the sixth.

mod decimal;
mod embedded;
#[cfg(test)]
mod tests;

use std::fmt;

use decimal::Decimal;

pub use embedded::{Scale, order_columns, reference};

/// Digits after the point that a quotient must have at least; exact values have all of theirs.
const QUOTIENT_SCALE_MIN: u32 = 6;
/// Digits after the point at which the reference cuts a quotient off.
const QUOTIENT_SCALE: u32 = 25;

/// A query's result in text form, null being `None`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Rows {
    /// The names of the columns.
    pub header: Vec<String>,
    /// The rows, each with as many cells as the header.
    pub rows: Vec<Vec<Option<String>>>,
}

/// The first difference between a result and its reference.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Mismatch {
    /// Other numbers of columns.
    ColumnCount {
        /// Columns of the reference.
        expected: usize,
        /// Columns of the result.
        actual: usize,
    },
    /// Other numbers of rows.
    RowCount {
        /// Rows of the reference.
        expected: usize,
        /// Rows of the result.
        actual: usize,
    },
    /// A row of the reference that the result has not, or not in its place.
    Row {
        /// Position from 1.
        row: usize,
        /// The reference's row.
        expected: String,
        /// The row that stands there instead.
        actual: String,
    },
}

impl fmt::Display for Mismatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Mismatch::ColumnCount { expected, actual } => {
                write!(f, "{actual} columns instead of {expected}")
            }
            Mismatch::RowCount { expected, actual } => {
                write!(f, "{actual} rows instead of {expected}")
            }
            Mismatch::Row { row, expected, actual } => {
                write!(f, "row {row} is {actual} instead of {expected}")
            }
        }
    }
}

impl std::error::Error for Mismatch {}

/// Compares a result with a reference answer (a header line, then rows; `|` between columns; null
/// empty). `order` lists the columns by which the query orders: rows that are equal in them may
/// come in any order among themselves, all others may not. Names of columns are not compared.
pub fn compare(reference: &str, order: &[usize], actual: &Rows) -> Result<(), Mismatch> {
    let mut lines = reference.lines();
    let width = lines.next().unwrap_or_default().split('|').count();
    let expected: Vec<Vec<&str>> = lines.map(|line| line.split('|').collect()).collect();
    if actual.header.len() != width {
        return Err(Mismatch::ColumnCount { expected: width, actual: actual.header.len() });
    }
    if actual.rows.len() != expected.len() {
        return Err(Mismatch::RowCount { expected: expected.len(), actual: actual.rows.len() });
    }
    let mut start = 0;
    while start < expected.len() {
        let tied = |row: &&Vec<&str>| order.iter().all(|&c| row[c] == expected[start][c]);
        let end = start + expected[start..].iter().take_while(tied).count();
        compare_tied(&expected[start..end], &actual.rows[start..end], start)?;
        start = end;
    }
    Ok(())
}

/// Compares rows that may come in any order: each expected row takes one equal actual row.
fn compare_tied(
    expected: &[Vec<&str>],
    actual: &[Vec<Option<String>>],
    start: usize,
) -> Result<(), Mismatch> {
    let mut left: Vec<&Vec<Option<String>>> = actual.iter().collect();
    for (position, row) in expected.iter().enumerate() {
        let Some(found) = left.iter().position(|candidate| same_row(row, candidate)) else {
            return Err(Mismatch::Row {
                row: start + position + 1,
                expected: row.join("|"),
                actual: show(left[0]),
            });
        };
        left.remove(found);
    }
    Ok(())
}

fn show(row: &[Option<String>]) -> String {
    row.iter().map(|cell| cell.as_deref().unwrap_or_default()).collect::<Vec<_>>().join("|")
}

fn same_row(expected: &[&str], actual: &[Option<String>]) -> bool {
    expected.len() == actual.len() && expected.iter().zip(actual).all(|(e, a)| same_cell(e, a))
}

/// No column of TPC-H holds an empty text, so an empty reference cell is a null.
fn same_cell(expected: &str, actual: &Option<String>) -> bool {
    let Some(actual) = actual else { return expected.is_empty() };
    match (Decimal::parse(expected), Decimal::parse(actual)) {
        (Some(e), Some(a)) => same_number(e, a),
        _ => !expected.is_empty() && expected == actual,
    }
}

/// Equal after rounding the reference to our digits, of which there must be enough.
fn same_number(expected: Decimal, actual: Decimal) -> bool {
    let cut_off = expected.scale == QUOTIENT_SCALE;
    let scale_min = if cut_off { QUOTIENT_SCALE_MIN } else { expected.scale };
    if actual.scale < scale_min {
        return false;
    }
    let comparable = if cut_off { actual.truncated(QUOTIENT_SCALE) } else { actual };
    expected.rounded(comparable.scale) == Some(comparable)
}
