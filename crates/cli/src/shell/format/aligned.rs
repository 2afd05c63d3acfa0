//! psql's table with `border 1`.

use super::super::backend::{Heading, Kind, Table};
use super::{Frame, centred, count_line, pad_left, pad_right, width};

/// A table with a header, a line below it, rows, and a count; a blank line ends it.
pub fn text(table: &Table, frame: Frame<'_>, tuples_only: bool) -> String {
    let widths = widths(table);
    let mut out = String::new();
    if !tuples_only {
        out.push_str(&head(table, &widths, frame.title));
    }
    for row in &table.rows {
        push_row(&mut out, table, row, &widths);
    }
    match frame.footers {
        _ if tuples_only => {}
        Some(lines) => lines.iter().for_each(|line| out.push_str(&format!("{line}\n"))),
        None => out.push_str(&count_line(table.rows.len())),
    }
    out.push('\n');
    out
}

/// The names count even when they are not shown, as in psql.
fn widths(table: &Table) -> Vec<usize> {
    let column = |(i, heading): (usize, &Heading)| {
        let cells = table.rows.iter().filter_map(|row| row[i].as_deref());
        cells.map(width).max().unwrap_or(0).max(width(&heading.name))
    };
    table.columns.iter().enumerate().map(column).collect()
}

fn head(table: &Table, widths: &[usize], title: Option<&str>) -> String {
    let names = table.columns.iter().zip(widths);
    let names: Vec<String> =
        names.map(|(heading, &w)| format!(" {} ", centred(&heading.name, w))).collect();
    let lines: Vec<String> = widths.iter().map(|w| "-".repeat(w + 2)).collect();
    let names = names.join("|");
    let rule = if lines.is_empty() { "--".to_string() } else { lines.join("+") };
    let title = title.map(|title| {
        let left = rule.len().saturating_sub(width(title)) / 2;
        format!("{}{title}\n", " ".repeat(left))
    });
    let names = if lines.is_empty() { String::new() } else { format!("{names}\n") };
    format!("{}{names}{rule}\n", title.unwrap_or_default())
}

/// A row takes as many lines as its tallest cell; `+` marks a cell that goes on.
fn push_row(out: &mut String, table: &Table, row: &[Option<String>], widths: &[usize]) {
    let cells: Vec<Vec<&str>> =
        row.iter().map(|cell| cell.as_deref().unwrap_or_default().split('\n').collect()).collect();
    let height = cells.iter().map(Vec::len).max().unwrap_or(0);
    for line in 0..height {
        let last = cells.len() - 1;
        let parts: Vec<String> = cells
            .iter()
            .enumerate()
            .map(|(i, lines)| {
                let right = table.columns[i].kind == Kind::Number;
                part(lines, line, widths[i], right, i == last)
            })
            .collect();
        out.push_str(&parts.join("|"));
        out.push('\n');
    }
}

fn part(lines: &[&str], line: usize, width: usize, right: bool, last: bool) -> String {
    let text = lines.get(line).copied().unwrap_or_default();
    let goes_on = line + 1 < lines.len();
    let ends_here = last && !goes_on;
    let padded = match (right, ends_here) {
        (true, _) if !(text.is_empty() && ends_here) => pad_left(text, width),
        (_, true) => text.to_string(),
        _ => pad_right(text, width),
    };
    let after = match (goes_on, last) {
        (true, _) => "+",
        (false, true) => "",
        (false, false) => " ",
    };
    format!(" {padded}{after}")
}
