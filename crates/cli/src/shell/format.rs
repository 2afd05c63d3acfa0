//! Rows as text: psql's table, expanded records, separated values, JSON.

mod aligned;
mod expanded;
mod json;
mod separated;
#[cfg(test)]
mod tests;

use unicode_width::UnicodeWidthStr;

use super::backend::Table;
use super::settings::{Mode, Settings};

/// What stands around the rows of a table.
#[derive(Clone, Copy, Debug, Default)]
pub struct Frame<'a> {
    /// A centred line above.
    pub title: Option<&'a str>,
    /// Lines below, instead of the count of rows.
    pub footers: Option<&'a [String]>,
}

/// The text of a result.
pub fn table_text(table: &Table, frame: Frame<'_>, settings: &Settings) -> String {
    match (settings.mode, settings.expanded) {
        (Mode::Aligned, false) => aligned::text(table, frame, settings.tuples_only),
        (Mode::Aligned, true) => expanded::text(table, settings.tuples_only),
        (Mode::Unaligned, false) => separated::unaligned(table, frame, settings.tuples_only),
        (Mode::Unaligned, true) => separated::unaligned_records(table),
        (Mode::Csv, false) => separated::csv(table, settings.tuples_only),
        (Mode::Csv, true) => separated::csv_records(table),
        (Mode::Json, _) => json::text(table),
    }
}

/// `(1 row)`, `(2 rows)`.
fn count_line(row_count: usize) -> String {
    if row_count == 1 { "(1 row)\n".to_string() } else { format!("({row_count} rows)\n") }
}

/// Columns of the terminal that a text takes; of its widest line when it has several.
fn width(text: &str) -> usize {
    text.split('\n').map(UnicodeWidthStr::width).max().unwrap_or(0)
}

/// The text followed by blanks up to `target` columns.
fn pad_right(text: &str, target: usize) -> String {
    format!("{text}{}", " ".repeat(target.saturating_sub(width(text))))
}

/// The text behind blanks up to `target` columns.
fn pad_left(text: &str, target: usize) -> String {
    format!("{}{text}", " ".repeat(target.saturating_sub(width(text))))
}

/// The text in the middle of `target` columns; the odd blank goes to the right.
fn centred(text: &str, target: usize) -> String {
    let blank_count = target.saturating_sub(width(text));
    let left = " ".repeat(blank_count / 2);
    format!("{left}{text}{}", " ".repeat(blank_count - blank_count / 2))
}
