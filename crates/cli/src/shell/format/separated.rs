//! Values between separators: psql's unaligned output and CSV (RFC 4180).

use super::super::backend::Table;
use super::{Frame, count_line};

const UNALIGNED_SEPARATOR: &str = "|";

/// `a|b`, with header and count.
pub fn unaligned(table: &Table, frame: Frame<'_>, tuples_only: bool) -> String {
    let mut out = String::new();
    if !tuples_only {
        frame.title.iter().for_each(|title| out.push_str(&format!("{title}\n")));
        out.push_str(&names(table).join(UNALIGNED_SEPARATOR));
        out.push('\n');
    }
    for row in &table.rows {
        out.push_str(&cells(row).join(UNALIGNED_SEPARATOR));
        out.push('\n');
    }
    match frame.footers {
        _ if tuples_only => {}
        Some(lines) => lines.iter().for_each(|line| out.push_str(&format!("{line}\n"))),
        None => out.push_str(&count_line(table.rows.len())),
    }
    out
}

/// `name|value` lines, a blank line between records.
pub fn unaligned_records(table: &Table) -> String {
    let record = |row: &Vec<Option<String>>| {
        let fields = names(table).into_iter().zip(cells(row));
        fields.map(|(name, value)| format!("{name}{UNALIGNED_SEPARATOR}{value}\n")).collect()
    };
    table.rows.iter().map(record).collect::<Vec<String>>().join("\n")
}

/// CSV with a header line; null is an empty field.
pub fn csv(table: &Table, tuples_only: bool) -> String {
    let head = (!tuples_only).then(|| csv_line(&names(table)));
    let rows = table.rows.iter().map(|row| csv_line(&cells(row)));
    head.into_iter().chain(rows).collect()
}

/// `name,value` lines.
pub fn csv_records(table: &Table) -> String {
    let fields = table.rows.iter().flat_map(|row| names(table).into_iter().zip(cells(row)));
    fields.map(|(name, value)| csv_line(&[name, value])).collect()
}

fn csv_line(fields: &[&str]) -> String {
    let fields: Vec<String> = fields.iter().map(|field| csv_field(field)).collect();
    format!("{}\n", fields.join(","))
}

/// Quoted when it must be; `\.` too, which would end the data of a `COPY`.
fn csv_field(field: &str) -> String {
    if field.contains([',', '"', '\n', '\r']) || field == "\\." {
        return format!("\"{}\"", field.replace('"', "\"\""));
    }
    field.to_string()
}

fn names(table: &Table) -> Vec<&str> {
    table.columns.iter().map(|heading| heading.name.as_str()).collect()
}

fn cells(row: &[Option<String>]) -> Vec<&str> {
    row.iter().map(|cell| cell.as_deref().unwrap_or_default()).collect()
}
