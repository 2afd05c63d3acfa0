//! Tables of types, operators and functions, from the files that list them.
//!
//! In such a file `##` begins a group, `#=` lists how a thing is written, with types in place of
//! values, and `#:` says what it does; the record below is its example.

use std::collections::BTreeSet;

use crate::planned::Probe;
use crate::records::{self, Record};

/// What a file lists.
#[derive(Clone, Copy, PartialEq)]
pub enum Kind {
    /// Names of types, of which the first is the usual one.
    Types,
    /// Expressions.
    Expressions,
}

/// The tables of a file, one for each group.
pub fn tables(file: &str, kind: Kind, probe: &Probe) -> String {
    let (mut text, mut rows_of_tables) = (String::new(), false);
    for record in records::of(file) {
        if let Some(group) = comment(&record, "## ").first() {
            rows_of_tables = *group == "Rows";
            text += &format!("{}### {group}\n\n{}", gap(&text), head(kind));
        }
        if !comment(&record, "#= ").is_empty() {
            if text.is_empty() {
                text += head(kind);
            }
            text += &row(&record, kind, rows_of_tables, probe);
        }
    }
    text
}

/// The names that a file lists, of functions and whatever else.
pub fn names(file: &str) -> BTreeSet<String> {
    let records = records::of(file);
    let ways = records.iter().flat_map(|record| comment(record, "#= "));
    let calls = ways.flat_map(|way| way.split("; "));
    calls.filter_map(|call| call.split(['(', ' ']).next()).map(str::to_owned).collect()
}

fn gap(text: &str) -> &'static str {
    if text.is_empty() { "" } else { "\n" }
}

fn head(kind: Kind) -> &'static str {
    match kind {
        Kind::Types => "| type | what | example | shows as |\n|---|---|---|---|\n",
        Kind::Expressions => {
            "| written | gives | what | example | result |\n|---|---|---|---|---|\n"
        }
    }
}

fn row(record: &Record, kind: Kind, from_clause: bool, probe: &Probe) -> String {
    let ways: Vec<&str> = comment(record, "#= ").into_iter().flat_map(|w| w.split("; ")).collect();
    let written: Vec<String> = ways.iter().map(|way| code(way)).collect();
    let what = comment(record, "#: ").join(" ");
    let example = record.sql.strip_prefix("select ").unwrap_or(&record.sql);
    let example = if example.is_empty() { String::new() } else { code(example) };
    let rows: Vec<String> = record.rows.iter().map(|row| code(row)).collect();
    let shown = rows.join(", ");
    match kind {
        Kind::Types => {
            let types = ways.iter().map(|way| probe.type_of(&format!("select null::{way}")));
            let types: BTreeSet<Option<String>> = types.collect();
            assert!(types.len() == 1 && !types.contains(&None), "{ways:?} are {types:?}");
            format!("| {} | {what} | {example} | {shown} |\n", written.join(", "))
        }
        Kind::Expressions => {
            let mut given: Vec<String> =
                ways.iter().map(|way| probe.result(way, from_clause)).collect();
            if given.iter().all(|one| *one == given[0]) {
                given.truncate(1);
            }
            let (written, given) = (written.join("<br>"), given.join("<br>"));
            format!("| {written} | {given} | {what} | {example} | {shown} |\n")
        }
    }
}

/// The text behind a mark of the record's comments.
fn comment<'a>(record: &'a Record, mark: &str) -> Vec<&'a str> {
    record.comments.iter().filter_map(|line| line.strip_prefix(mark)).collect()
}

/// Text of a table's cell, as it is.
fn code(text: &str) -> String {
    let text = text.replace('\n', " ").replace('|', "\\|");
    if text.contains('`') { format!("`` {text} ``") } else { format!("`{text}`") }
}
