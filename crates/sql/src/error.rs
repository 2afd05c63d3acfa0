//! The library's errors as SQL errors: every failure gets the SQLSTATE a client expects.

use arrow_schema::ArrowError;
use datafusion_common::{DataFusionError, SchemaError};
use types::{SqlError, SqlState};

use crate::quote::unspelled::shown;

pub(crate) mod guarded;
mod message;
mod wording;

use message::{from_message, known, tidy};

/// An error of the logical library.
pub(crate) fn from_library(error: DataFusionError) -> SqlError {
    let mut error = with_state(error);
    let texts = [Some(&mut error.message), error.detail.as_mut(), error.hint.as_mut()];
    texts.into_iter().flatten().for_each(|text| *text = shown(text).into_owned());
    error
}

fn with_state(error: DataFusionError) -> SqlError {
    match error {
        DataFusionError::ArrowError(inner, _) => from_arrow(*inner),
        DataFusionError::NotImplemented(message) => {
            let text = tidy(&message);
            let plain = || SqlError::new(SqlState::FEATURE_NOT_SUPPORTED, text.clone());
            wording::from_inside(known(&text).unwrap_or_else(plain))
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
    let scale = most
        .split_once('.')
        .map_or(0, |(_, digits)| digits.trim_end_matches(types::blanks::is_blank).len());
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
            match stdx::nearest(&field.name, names) {
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
