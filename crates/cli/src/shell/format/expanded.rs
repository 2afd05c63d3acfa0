//! psql's expanded display: one line a column, a rule between records.

use super::super::backend::Table;
use super::{count_line, pad_right, width};

/// All records; a blank line ends them.
pub fn text(table: &Table, tuples_only: bool) -> String {
    if table.rows.is_empty() {
        return if tuples_only { "\n".to_string() } else { format!("{}\n", count_line(0)) };
    }
    let name_width = table.columns.iter().map(|heading| width(&heading.name)).max().unwrap_or(0);
    let cells = table.rows.iter().flatten();
    let value_width = cells.filter_map(|cell| cell.as_deref()).map(width).max().unwrap_or(0);
    let rule = format!("{}+{}", "-".repeat(name_width + 1), "-".repeat(value_width + 1));
    let mut out = String::new();
    for (position, row) in table.rows.iter().enumerate() {
        if !tuples_only {
            out.push_str(&record_rule(&rule, position + 1));
        } else if position > 0 {
            out.push_str(&format!("{rule}\n"));
        }
        for (heading, cell) in table.columns.iter().zip(row) {
            push_field(&mut out, &heading.name, cell, name_width, value_width);
        }
    }
    out.push('\n');
    out
}

/// The rule with `-[ RECORD n ]` written over its beginning.
fn record_rule(rule: &str, record: usize) -> String {
    let label = format!("-[ RECORD {record} ]");
    let rest = rule.get(label.len()..).unwrap_or_default();
    format!("{label}{rest}\n")
}

fn push_field(
    out: &mut String,
    name: &str,
    cell: &Option<String>,
    name_width: usize,
    value_width: usize,
) {
    let lines: Vec<&str> = cell.as_deref().unwrap_or_default().split('\n').collect();
    for (position, line) in lines.iter().enumerate() {
        let name = pad_right(if position == 0 { name } else { "" }, name_width);
        let goes_on = position + 1 < lines.len();
        let value =
            if goes_on { format!("{}+", pad_right(line, value_width)) } else { line.to_string() };
        out.push_str(&format!("{name} | {value}\n"));
    }
}
