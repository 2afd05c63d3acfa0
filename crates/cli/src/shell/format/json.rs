//! An array of objects, one a line. Numbers keep all their digits: they are written as they are.

use super::super::backend::{Heading, Kind, Table};

/// The whole array; `[]` when there are no rows.
pub fn text(table: &Table) -> String {
    let rows: Vec<String> = table.rows.iter().map(|row| object(&table.columns, row)).collect();
    format!("[{}]\n", rows.join(",\n"))
}

fn object(columns: &[Heading], row: &[Option<String>]) -> String {
    let field = |(heading, cell): (&Heading, &Option<String>)| {
        format!("{}:{}", quoted(&heading.name), value(heading.kind, cell.as_deref()))
    };
    let fields: Vec<String> = columns.iter().zip(row).map(field).collect();
    format!("{{{}}}", fields.join(","))
}

fn value(kind: Kind, cell: Option<&str>) -> String {
    match (kind, cell) {
        (_, None) => "null".to_string(),
        (Kind::Boolean, Some("t")) => "true".to_string(),
        (Kind::Boolean, Some("f")) => "false".to_string(),
        // `NaN` and `Infinity` are no JSON numbers.
        (Kind::Number, Some(text)) if text.ends_with(|c: char| c.is_ascii_digit()) => {
            text.to_string()
        }
        (_, Some(text)) => quoted(text),
    }
}

fn quoted(text: &str) -> String {
    serde_json::Value::String(text.to_string()).to_string()
}
