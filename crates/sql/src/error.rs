//! The library's errors as SQL errors: every failure gets the SQLSTATE a client expects.

use arrow_schema::ArrowError;
use datafusion_common::{DataFusionError, SchemaError};
use types::{SqlError, SqlState};

mod wording;
mod words;

/// An error of the logical library.
pub(crate) fn from_library(error: DataFusionError) -> SqlError {
    match error {
        DataFusionError::ArrowError(inner, _) => from_arrow(*inner),
        DataFusionError::NotImplemented(message) => {
            let text = tidy(&message);
            let plain = || SqlError::new(SqlState::FEATURE_NOT_SUPPORTED, text.clone());
            let known = wording::reworded(&text).or_else(|| words::meant(&text));
            wording::from_inside(known.unwrap_or_else(plain))
        }
        DataFusionError::SchemaError(inner, _) => from_schema(*inner),
        DataFusionError::Context(_, inner) | DataFusionError::Diagnostic(_, inner) => {
            from_library(*inner)
        }
        DataFusionError::Collection(mut all) if !all.is_empty() => from_library(all.swap_remove(0)),
        DataFusionError::Shared(inner) => from_message(&inner.to_string()),
        DataFusionError::External(inner) => match inner.downcast::<SqlError>() {
            Ok(ours) => *ours,
            Err(other) => from_message(&other.to_string()),
        },
        DataFusionError::Internal(message) => internal(&message),
        other => from_message(&other.strip_backtrace()),
    }
}

/// What the library thinks cannot happen: XX000, unless its words tell what the statement did.
fn internal(message: &str) -> SqlError {
    let error = from_message(message);
    if error.state != SqlState::SYNTAX_ERROR && error.state != SqlState::INTERNAL_ERROR {
        return error;
    }
    SqlError::internal("the planner failed on this query")
        .with_detail(error.message)
        .with_hint("please report the query; a simpler form of it may work")
}

/// An error of a vector kernel.
pub(crate) fn from_arrow(error: ArrowError) -> SqlError {
    match error {
        ArrowError::DivideByZero => division_by_zero(),
        ArrowError::ArithmeticOverflow(message) => out_of_range(&message),
        ArrowError::ExternalError(inner) => match inner.downcast::<DataFusionError>() {
            Ok(library) => from_library(*library),
            Err(other) => from_message(&other.to_string()),
        },
        other => from_message(&other.to_string()),
    }
}

/// 22012.
pub(crate) fn division_by_zero() -> SqlError {
    SqlError::new(SqlState::DIVISION_BY_ZERO, "division by zero")
}

/// 22003.
pub(crate) fn out_of_range(detail: &str) -> SqlError {
    let error = |message: String| SqlError::new(SqlState::NUMERIC_VALUE_OUT_OF_RANGE, message);
    if let Some(ty) = overflown(detail) {
        return error(format!("{ty} out of range"));
    }
    if let Some(limits) = too_many_digits(detail) {
        return error("numeric field overflow".into()).with_detail(limits);
    }
    let error = error("numeric value out of range".into());
    match detail.is_empty() || wording::is_inside(detail) {
        true => error,
        false => error.with_detail(tidy(detail)),
    }
}

/// The type of whole numbers that a sum, a product or a cast left.
fn overflown(detail: &str) -> Option<&'static str> {
    if let Some((_, cast)) = detail.split_once("cast value ") {
        return ["Int16", "Int32", "Int64"]
            .into_iter()
            .zip(["smallint", "integer", "bigint"])
            .find_map(|(theirs, ours)| cast.contains(theirs).then_some(ours));
    }
    let lower = detail.to_lowercase();
    let (_, operation) = lower.split_once("overflow happened on: ")?;
    let sides: Option<Vec<i64>> =
        operation.split(' ').step_by(2).map(|side| side.parse().ok()).collect();
    let narrow = sides?.into_iter().all(|side| i32::try_from(side).is_ok());
    Some(if narrow { "integer" } else { "bigint" })
}

/// What a decimal can hold, in PostgreSQL's words.
fn too_many_digits(detail: &str) -> Option<String> {
    let (_, rest) = detail.split_once(" of precision ")?;
    let (precision, most) = rest.split_once(". Max is ")?;
    let precision: usize = precision.parse().ok()?;
    let scale = most.split_once('.').map_or(0, |(_, digits)| digits.trim_end().len());
    let (limit, whole) = match precision.checked_sub(scale)? {
        0 => ("1".to_owned(), ""),
        digits => (digits.to_string(), "10^"),
    };
    Some(format!(
        "A field with precision {precision}, scale {scale} must round to an absolute value less than {whole}{limit}."
    ))
}

fn from_schema(error: SchemaError) -> SqlError {
    match error {
        SchemaError::FieldNotFound { field, valid_fields } => {
            if let Some(relation) = &field.relation
                && valid_fields.iter().all(|c| c.relation.as_ref() != Some(relation))
            {
                let message = format!("missing FROM-clause entry for table \"{relation}\"");
                return SqlError::new(SqlState::UNDEFINED_TABLE, message);
            }
            let name = match &field.relation {
                Some(relation) => format!("{}.{}", relation.table(), field.name),
                None => format!("\"{}\"", field.name),
            };
            let message = format!("column {name} does not exist");
            let error = SqlError::new(SqlState::UNDEFINED_COLUMN, message);
            let names: Vec<&str> = valid_fields.iter().map(|c| c.name.as_str()).collect();
            match nearest(&field.name, &names) {
                Some(near) => error.with_hint(format!("perhaps you meant the column \"{near}\"")),
                None => error,
            }
        }
        SchemaError::AmbiguousReference { field } => SqlError::new(
            SqlState::AMBIGUOUS_COLUMN,
            format!("column reference \"{}\" is ambiguous", field.name),
        ),
        SchemaError::DuplicateQualifiedField { name, .. }
        | SchemaError::DuplicateUnqualifiedField { name } => SqlError::new(
            SqlState::DUPLICATE_COLUMN,
            format!("column name \"{name}\" appears more than once"),
        )
        .with_hint("give the columns or relations different aliases"),
    }
}

/// What the library says only in words.
fn from_message(message: &str) -> SqlError {
    let text = tidy(message);
    let known = reworded(&text).or_else(|| wording::reworded(&text));
    if let Some(known) = known.or_else(|| words::meant(&text)) {
        return wording::from_inside(known);
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
    wording::from_inside(SqlError::new(state, text))
}

/// Frequent errors in PostgreSQL's words.
fn reworded(text: &str) -> Option<SqlError> {
    let error = |state, message: String| Some(SqlError::new(state, message));
    if let Some((_, rest)) = text.split_once("cannot cast string '") {
        let (value, ty) = rest.split_once("' to value of ")?;
        let ty = in_sql(ty.strip_suffix(" type").unwrap_or(ty));
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
        let operands = in_sql(rest.strip_suffix(" to valid types").unwrap_or(rest));
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

/// Operands and their operator, the library's names of types replaced by PostgreSQL's.
fn in_sql(text: &str) -> String {
    wording::types_in_sql(text)
}

/// Longest message; the library appends dumps of its trees.
const MESSAGE_CHARS_MAX: usize = 240;

/// The first line, without the library's prefixes and the punctuation at its end.
fn tidy(message: &str) -> String {
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

/// The candidate most like `name`, if it is like enough to be a slip of the finger.
pub(crate) fn nearest<'a>(name: &str, candidates: &[&'a str]) -> Option<&'a str> {
    let limit = (name.chars().count() / 3).max(1);
    let scored = candidates.iter().map(|c| (edits(name, c), *c));
    scored.filter(|(d, _)| *d <= limit).min().map(|(_, c)| c)
}

/// Levenshtein's distance in characters, ignoring case.
fn edits(a: &str, b: &str) -> usize {
    let (a, b) = (a.to_lowercase(), b.to_lowercase());
    let right: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=right.len()).collect();
    for (i, x) in a.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, y) in right.iter().enumerate() {
            let replace = diagonal + usize::from(x != *y);
            diagonal = row[j + 1];
            row[j + 1] = replace.min(row[j] + 1).min(diagonal + 1);
        }
    }
    row[right.len()]
}
