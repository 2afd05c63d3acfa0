//! Functions over arrays. The system relations have their arrays in text form, `{a,b}`.

use sql::SystemValue;
use types::{LogicalType, SqlResult};

use super::Definition;
use crate::system::View;

const TEXT: LogicalType = LogicalType::Text;
const BOOL: LogicalType = LogicalType::Bool;
const INT: LogicalType = LogicalType::Int32;

pub(super) const FUNCTIONS: &[Definition] = &[
    Definition("array_to_string", TEXT, 2, 3, false, to_string),
    Definition("array_or_empty", TEXT, 1, 1, false, or_empty),
    Definition("any_equal", BOOL, 2, 2, true, any_equal),
    Definition("array_upper", INT, 2, 2, true, upper),
    Definition("array_length", INT, 2, 2, true, upper),
];

/// The elements of an array or of its text form; `None` is null.
fn elements(value: &SystemValue) -> Vec<Option<String>> {
    match value {
        SystemValue::List(items) => items.iter().map(text_of).collect(),
        SystemValue::Text(text) => match text.strip_prefix('{').and_then(|t| t.strip_suffix('}')) {
            Some(inside) => split(inside),
            // A vector: numbers between blanks.
            None => text.split_whitespace().map(|word| Some(word.to_owned())).collect(),
        },
        _ => vec![],
    }
}

/// Splits at commas outside of quotes.
fn split(inside: &str) -> Vec<Option<String>> {
    let (mut found, mut item, mut quoted, mut was_quoted) = (vec![], String::new(), false, false);
    let mut finish = |item: &mut String, was_quoted: &mut bool| {
        let text = std::mem::take(item);
        let null = !std::mem::take(was_quoted) && text.eq_ignore_ascii_case("null");
        found.push((!null).then_some(text));
    };
    let mut letters = inside.chars();
    while let Some(letter) = letters.next() {
        match letter {
            '\\' => item.extend(letters.next()),
            '"' => (quoted, was_quoted) = (!quoted, true),
            ',' if !quoted => finish(&mut item, &mut was_quoted),
            other => item.push(other),
        }
    }
    if !inside.is_empty() {
        finish(&mut item, &mut was_quoted);
    }
    found
}

fn text_of(value: &SystemValue) -> Option<String> {
    match value {
        SystemValue::Null => None,
        SystemValue::Bool(v) => Some(if *v { "t" } else { "f" }.to_owned()),
        SystemValue::Int(v) => Some(v.to_string()),
        SystemValue::Float(v) => Some(v.to_string()),
        SystemValue::Text(v) => Some(v.clone()),
        SystemValue::List(items) => Some(array_text(items)),
    }
}

/// The text form of an array.
fn array_text(items: &[SystemValue]) -> String {
    let item = |value: &SystemValue| match text_of(value) {
        None => "NULL".to_owned(),
        Some(text) => {
            let special = |c: char| c.is_whitespace() || "{},\"\\".contains(c);
            let plain = !text.is_empty() && !text.contains(special);
            if plain && !text.eq_ignore_ascii_case("null") {
                text
            } else {
                format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""))
            }
        }
    };
    format!("{{{}}}", items.iter().map(item).collect::<Vec<_>>().join(","))
}

/// Null elements are left out, unless the third argument stands for them.
fn to_string(_view: &View, arguments: &[SystemValue]) -> SqlResult<SystemValue> {
    let Some(separator) = arguments[1].text() else { return Ok(SystemValue::Null) };
    if arguments[0] == SystemValue::Null {
        return Ok(SystemValue::Null);
    }
    let instead = arguments.get(2).and_then(SystemValue::text);
    let items = elements(&arguments[0]).into_iter();
    let items = items.filter_map(|item| item.or_else(|| instead.map(str::to_owned)));
    Ok(items.collect::<Vec<_>>().join(separator).into())
}

/// What `ARRAY(subquery)` is: an aggregate over no rows is null, the array is empty.
fn or_empty(_view: &View, arguments: &[SystemValue]) -> SqlResult<SystemValue> {
    Ok(text_of(&arguments[0]).unwrap_or_else(|| "{}".to_owned()).into())
}

/// `value = ANY (array)`: null when no element is equal and one is null.
fn any_equal(_view: &View, arguments: &[SystemValue]) -> SqlResult<SystemValue> {
    let value = text_of(&arguments[0]);
    let items = elements(&arguments[1]);
    if items.contains(&value) {
        return Ok(true.into());
    }
    Ok(if items.contains(&None) { SystemValue::Null } else { false.into() })
}

/// Arrays have one dimension and begin at 1.
fn upper(_view: &View, arguments: &[SystemValue]) -> SqlResult<SystemValue> {
    let count = elements(&arguments[0]).len() as i64;
    let one = arguments[1].int() == Some(1);
    Ok((one && count > 0).then_some(count).into())
}
