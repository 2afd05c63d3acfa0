//! What the library says in words of its own, about its plans and not about the statement, in PostgreSQL's.

use types::{SqlError, SqlState};

/// What a message of the library contains, in small letters, and what it means.
const MEANINGS: [(&str, SqlState, &str); 9] = [
    (
        "dot access not supported",
        SqlState::FEATURE_NOT_SUPPORTED,
        "the field of a row is not supported",
    ),
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
        "projections require unique expression names",
        SqlState::DUPLICATE_COLUMN,
        "two outputs of a query have the same name",
    ),
    (
        "not implemented yet",
        SqlState::FEATURE_NOT_SUPPORTED,
        "this statement is not supported in this place",
    ),
];

/// The error that a message stands for; `None` where its own words will do.
pub(super) fn meant(text: &str) -> Option<SqlError> {
    let lower = text.to_lowercase();
    if let Some(relation) = missing_relation(text) {
        let message = format!("missing FROM-clause entry for table \"{relation}\"");
        return Some(SqlError::new(SqlState::UNDEFINED_TABLE, message));
    }
    if let Some((before, _)) = text.split_once(" user-defined coercion failed") {
        let name = before.rsplit('\'').nth(1).unwrap_or(before);
        let message = format!("function {name} does not accept arguments of these types");
        return Some(SqlError::new(SqlState::UNDEFINED_FUNCTION, message));
    }
    let known = MEANINGS.iter().find(|(words, ..)| lower.contains(words));
    known.map(|(_, state, message)| SqlError::new(*state, *message))
}

/// The relation of a name with dots that nothing has: the part before the last.
fn missing_relation(text: &str) -> Option<&str> {
    let (_, parts) = text.split_once("ould not parse compound identifier from [")?;
    parts.trim_end_matches(']').rsplit(", ").nth(1).map(|part| part.trim_matches('"'))
}
