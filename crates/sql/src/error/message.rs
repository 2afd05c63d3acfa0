//! What the library says only in words, as SQL errors: the one place where its texts are matched.

use types::{SqlError, SqlState};

use super::wording::{from_inside, type_in_sql, types_in_sql};
use super::{division_by_zero, out_of_range};

/// What the library says only in words.
pub(super) fn from_message(message: &str) -> SqlError {
    let text = tidy(message);
    if let Some(known) = known(&text) {
        return from_inside(known);
    }
    let lower = text.to_lowercase();
    let has = |needles: &[&str]| needles.iter().any(|n| lower.contains(n));
    let state = if has(&["divide by zero", "division by zero"]) {
        return division_by_zero();
    } else if has(&["subquery returned more than one row", "more than one row"]) {
        return SqlError::new(
            SqlState::CARDINALITY_VIOLATION,
            "more than one row returned by a subquery used as an expression",
        );
    } else if has(&["overflow", "can't cast value", "is too large to store", "out of range"]) {
        return out_of_range(&text);
    } else if has(&["group by", "must appear in the group", "not allowed in the where"])
        || has(&["aggregate functions are not allowed", "could not be resolved from available"])
    {
        SqlState::GROUPING_ERROR
    } else if has(&["cannot cast string", "error parsing", "parser error", "invalid date"]) {
        SqlState::INVALID_TEXT_REPRESENTATION
    } else if has(&["cannot coerce arithmetic", "common argument type for comparison"])
        || has(&["invalid function", "no function matches", "failed to coerce arguments"])
        || has(&["failed to match any signature", "function_signature", "user-defined coercion"])
    {
        SqlState::UNDEFINED_FUNCTION
    } else if has(&["cannot coerce", "cannot infer common", "incompatible types", "boolean"])
        || has(&["unsupported cast", "type mismatch", "unexpected type", "data type", "data_type"])
    {
        SqlState::DATATYPE_MISMATCH
    } else if has(&["ambiguous"]) {
        SqlState::AMBIGUOUS_COLUMN
    } else if has(&["duplicate", "more than once", "expressions have the same name"]) {
        SqlState::DUPLICATE_COLUMN
    } else if has(&["not supported", "unsupported", "not implemented"]) {
        SqlState::FEATURE_NOT_SUPPORTED
    } else if has(&["internal error"]) {
        return SqlError::internal(text);
    } else {
        SqlState::SYNTAX_ERROR
    };
    from_inside(SqlError::new(state, text))
}

/// Frequent errors in PostgreSQL's words.
fn frequent(text: &str) -> Option<SqlError> {
    let error = |state, message: String| Some(SqlError::new(state, message));
    if let Some((_, rest)) = text.split_once("cannot cast string '") {
        let (value, ty) = rest.split_once("' to value of ")?;
        let ty = types_in_sql(ty.strip_suffix(" type").unwrap_or(ty));
        let message = format!("invalid input syntax for type {ty}: \"{value}\"");
        return error(bad_text_state(&ty, value), message);
    }
    if let Some(rest) = text.to_lowercase().strip_prefix("order by column out of bounds, ") {
        let position = rest.trim_start_matches("specified: ").split(',').next()?.to_owned();
        let message = format!("ORDER BY position {position} is not in select list");
        return error(SqlState("42P10"), message);
    }
    if let Some((before, _)) = text.split_once(" must appear in the GROUP BY clause") {
        let column = &before[before.rfind("column ")?..];
        let message = format!(
            "{column} must appear in the GROUP BY clause or be used in an aggregate function"
        );
        return error(SqlState::GROUPING_ERROR, message);
    }
    if let Some((kind, _)) = text.split_once(" queries have different number of columns") {
        let message = format!("each {kind} query must have the same number of columns");
        return error(SqlState::SYNTAX_ERROR, message);
    }
    if let Some(rest) = text.strip_prefix("cannot coerce arithmetic expression ") {
        let operands = types_in_sql(rest.strip_suffix(" to valid types").unwrap_or(rest));
        return error(SqlState::UNDEFINED_FUNCTION, format!("operator does not exist: {operands}"));
    }
    if text.contains("failed to match any signature") {
        let name = text.split('\'').nth(1)?;
        let message = format!("function {name} does not accept arguments of these types");
        return error(SqlState::UNDEFINED_FUNCTION, message);
    }
    if let Some(name) = text.strip_prefix("invalid function '") {
        let name = name.split('\'').next()?;
        return error(SqlState::UNDEFINED_FUNCTION, format!("function {name} does not exist"));
    }
    if let Some(rest) = text.to_lowercase().strip_prefix("source table contains ") {
        let mut numbers = rest.split(' ').filter_map(|word| word.parse::<usize>().ok());
        let (there, named) = (numbers.next()?, numbers.next()?);
        let message = format!("table has {there} columns available but {named} columns specified");
        return error(SqlState("42P10"), message);
    }
    if text.starts_with("LIMIT must be >= 0") {
        return error(SqlState("2201W"), "LIMIT must not be negative".into());
    }
    if text.starts_with("OFFSET must be >=") {
        return error(SqlState("2201X"), "OFFSET must not be negative".into());
    }
    None
}

/// Dates have states of their own: 22008 for one that is written well but does not exist, else 22007.
fn bad_text_state(ty: &str, value: &str) -> SqlState {
    if !ty.starts_with("date") && !ty.starts_with("timestamp") {
        return SqlState::INVALID_TEXT_REPRESENTATION;
    }
    let written_well = value.bytes().all(|b| b.is_ascii_digit() || b"-: .".contains(&b));
    if written_well { SqlState::DATETIME_FIELD_OVERFLOW } else { SqlState("22007") }
}

/// Longest message; the library appends dumps of its trees.
const MESSAGE_CHARS_MAX: usize = 240;

/// The first line, without the library's prefixes and the punctuation at its end.
pub(super) fn tidy(message: &str) -> String {
    let mut text = message.lines().next().unwrap_or_default().trim();
    let prefixes = [
        "Error during planning:",
        "Arrow error:",
        "Cast error:",
        "Compute error:",
        "Arithmetic overflow:",
        "Optimizer rule",
        "Execution error:",
        "Schema error:",
        "SQL error:",
        "This feature is not implemented:",
        "Invalid argument error:",
    ];
    while let Some(rest) = prefixes.iter().find_map(|p| text.strip_prefix(p)) {
        text = rest.trim_start();
    }
    let end = text.char_indices().nth(MESSAGE_CHARS_MAX).map_or(text.len(), |(i, _)| i);
    let text = text[..end].trim_end_matches(['.', ' ']);
    let mut letters = text.chars();
    match letters.next() {
        Some(first) if letters.clone().next().is_some_and(char::is_lowercase) => {
            first.to_lowercase().chain(letters).collect()
        }
        _ => text.to_string(),
    }
}

/// The error that a message stands for; `None` where its state must be guessed from its words.
pub(super) fn known(text: &str) -> Option<SqlError> {
    frequent(text).or_else(|| operators_and_casts(text)).or_else(|| meant(text))
}

/// Messages about operators, casts and functions, and what else has a name.
fn operators_and_casts(text: &str) -> Option<SqlError> {
    let lower = text.to_lowercase();
    let undefined = |message: String| SqlError::new(SqlState::UNDEFINED_FUNCTION, message);
    if let Some((_, rest)) = lower.split_once("result type for temporal operation ") {
        let at = lower.len() - rest.len();
        let operands = text[at..].split(':').next().unwrap_or_default();
        return Some(undefined(format!("operator does not exist: {}", types_in_sql(operands))));
    }
    if let Some((_, rest)) = lower.split_once("unsupported cast from ") {
        let (from, to) = text[lower.len() - rest.len()..].split_once(" to ")?;
        let (from, to) = (type_in_sql(from), type_in_sql(to));
        return Some(SqlError::unsupported(format!("a cast of type {from} to type {to}")));
    }
    if let Some((_, rest)) = lower.split_once("unsupported sql ")
        && let Some((_, operator)) = rest.split_once("operator ")
    {
        return Some(SqlError::unsupported(format!("the operator {operator}")));
    }
    if lower.contains("user-defined coercion failed") || lower.contains("coerce arguments") {
        let name = text.split('\'').nth(1)?;
        let message = format!("function {name} does not accept arguments of these types");
        return Some(undefined(message));
    }
    if let Some(query) = lower.strip_prefix("query ").filter(|_| lower.contains("not implemented"))
    {
        let verb = query.split(' ').next().unwrap_or_default().to_uppercase();
        return Some(SqlError::unsupported(format!("{verb} in a query")));
    }
    if lower.contains("dot access") {
        return Some(SqlError::unsupported("a field of a row"));
    }
    if lower.contains("projections require unique expression names") {
        return Some(SqlError::unsupported("two outputs of one expression"));
    }
    if lower.contains("invalid escape character") {
        return Some(
            SqlError::new(SqlState("22025"), "invalid escape string")
                .with_hint("Escape string must be empty or one character."),
        );
    }
    None
}

/// What a message of the library contains, in small letters, and what it means.
const MEANINGS: [(&str, SqlState, &str); 7] = [
    (
        "does not support logical expression wildcard",
        SqlState::UNDEFINED_FUNCTION,
        "no function but count takes *",
    ),
    (
        "does not support logical expression windowfunction",
        SqlState("42P20"),
        "window functions are not allowed in this place",
    ),
    (
        "unnest should be rewritten",
        SqlState::FEATURE_NOT_SUPPORTED,
        "a set-returning function in this place is not supported",
    ),
    (
        "aggregate function calls cannot be nested",
        SqlState::GROUPING_ERROR,
        "aggregate function calls cannot be nested",
    ),
    (
        "expressions must match initial order by",
        SqlState("42P10"),
        "SELECT DISTINCT ON expressions must match initial ORDER BY expressions",
    ),
    (
        "for select distinct, order by expressions",
        SqlState("42P10"),
        "for SELECT DISTINCT, ORDER BY expressions must appear in select list",
    ),
    (
        "not implemented yet",
        SqlState::FEATURE_NOT_SUPPORTED,
        "this statement is not supported in this place",
    ),
];

/// The error that a message stands for; `None` where its own words will do.
fn meant(text: &str) -> Option<SqlError> {
    let lower = text.to_lowercase();
    if let Some(relation) = missing_relation(text) {
        let message = format!("missing FROM-clause entry for table \"{relation}\"");
        return Some(SqlError::new(SqlState::UNDEFINED_TABLE, message));
    }
    let known = MEANINGS.iter().find(|(words, ..)| lower.contains(words));
    known.map(|(_, state, message)| SqlError::new(*state, *message))
}

/// The relation of a name with dots that nothing has: the part before the last.
fn missing_relation(text: &str) -> Option<&str> {
    let (_, parts) = text.split_once("ould not parse compound identifier from [")?;
    parts.trim_end_matches(']').rsplit(", ").nth(1).map(|part| part.trim_matches('"'))
}
