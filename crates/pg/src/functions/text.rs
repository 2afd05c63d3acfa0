//! Functions of text that the catalog's queries need.

use sql::SystemValue;
use types::{LogicalType, SqlError, SqlResult};

use super::definition::Definition;
use crate::view::View;

const TEXT: LogicalType = LogicalType::Text;
/// As many arguments as anybody writes.
const MANY: usize = 100;

pub(super) const FUNCTIONS: &[Definition] = &[
    Definition("like_pattern", TEXT, 2, 2, true, like_pattern),
    Definition("json_build_object", TEXT, 0, MANY, false, json_build_object),
];

/// A pattern whose escape is another letter, or none, as one whose escape is the backslash.
fn like_pattern(_view: &View, arguments: &[SystemValue]) -> SqlResult<SystemValue> {
    let text = |i: usize| arguments[i].text().unwrap_or_default();
    let mut escape = text(1).chars();
    let (letter, more) = (escape.next(), escape.next());
    if more.is_some() {
        let state = types::SqlState("22019");
        let error = SqlError::new(state, "invalid escape string");
        return Err(error.with_hint("Escape string must be empty or one character."));
    }
    let mut pattern = String::new();
    let mut letters = text(0).chars();
    while let Some(c) = letters.next() {
        let escaped = Some(c) == letter;
        let c = if escaped { letters.next().unwrap_or(c) } else { c };
        if escaped || c == '\\' {
            pattern.push('\\');
        }
        pattern.push(c);
    }
    Ok(pattern.into())
}

/// Keys and values in turn; the text of PostgreSQL's `json`.
fn json_build_object(_view: &View, arguments: &[SystemValue]) -> SqlResult<SystemValue> {
    if !arguments.len().is_multiple_of(2) {
        let error = SqlError::new(
            types::SqlState::INVALID_PARAMETER_VALUE,
            "argument list must have even number of elements",
        );
        return Err(error);
    }
    let pair = |pair: &[SystemValue]| format!("{} : {}", json_key(&pair[0]), json(&pair[1]));
    let pairs: Vec<String> = arguments.chunks(2).map(pair).collect();
    Ok(format!("{{{}}}", pairs.join(", ")).into())
}

fn json_key(value: &SystemValue) -> String {
    match value {
        SystemValue::Text(text) => quoted(text),
        other => quoted(&json(other)),
    }
}

fn json(value: &SystemValue) -> String {
    match value {
        SystemValue::Null => "null".to_owned(),
        SystemValue::Bool(v) => v.to_string(),
        SystemValue::Int(v) => v.to_string(),
        SystemValue::Float(v) => v.to_string(),
        SystemValue::Text(v) => quoted(v),
        SystemValue::Bytes(bytes) => {
            let digits: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
            quoted(&format!("\\x{digits}"))
        }
        SystemValue::List(items) => {
            format!("[{}]", items.iter().map(json).collect::<Vec<_>>().join(","))
        }
    }
}

fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}
