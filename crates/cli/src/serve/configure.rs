//! Where a server's settings come from: a file in TOML, then the environment, then flags.

use std::ffi::OsString;
use std::path::Path;

use engine::{Configuration, Origin, SqlError, SqlResult, SqlState};
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::flags::Flags;

/// Variables of the environment begin so.
const PREFIX: &str = "DOVETAIL_";

/// The file, when no flag names one.
pub const FILE_VARIABLE: &str = "DOVETAIL_CONFIG";

/// Variables that others read: of the shell, and of tests.
const OTHERS: [&str; 3] = [FILE_VARIABLE, "DOVETAIL_HISTORY", "DOVETAIL_SEEDS"];

/// What file, environment and flags say together.
///
/// # Errors
/// What is wrong with one of them, and where; F0000 for a file that cannot be read or is no TOML.
pub fn configuration(
    file: Option<&Path>,
    environment: impl IntoIterator<Item = (OsString, OsString)>,
    flags: &Flags,
) -> SqlResult<Configuration> {
    let mut configuration = Configuration::default();
    if let Some(path) = file {
        let text = std::fs::read_to_string(path).map_err(|error| {
            let message =
                format!("could not open configuration file \"{}\": {error}", path.display());
            SqlError::new(SqlState("F0000"), message)
        })?;
        take_file(&mut configuration, path, &text)?;
    }
    for (variable, value) in environment {
        take_variable(&mut configuration, &variable, &value)?;
    }
    for (name, value) in &flags.0 {
        configuration.give(name, value, Origin::Flag)?;
    }
    Ok(configuration)
}

fn take_file(configuration: &mut Configuration, path: &Path, text: &str) -> SqlResult<()> {
    let shown = path.display();
    let table = DeTable::parse(text).map_err(|error| {
        let line = line_of(text, error.span().map_or(0, |span| span.start));
        let message = format!("syntax error in file \"{shown}\" line {line}: {}", error.message());
        SqlError::new(SqlState("F0000"), message)
    })?;
    for (name, value) in table.get_ref() {
        let line = line_of(text, name.span().start);
        let given = value_text(value).and_then(|value| {
            configuration.give(name.get_ref(), &value, Origin::File(path.to_owned(), line))
        });
        given.map_err(|error| SqlError {
            message: format!("{} in file \"{shown}\" line {line}", error.message),
            ..error
        })?;
    }
    Ok(())
}

fn line_of(text: &str, at: usize) -> usize {
    text.bytes().take(at).filter(|byte| *byte == b'\n').count() + 1
}

/// A value as a flag would have it.
fn value_text(value: &Spanned<DeValue<'_>>) -> SqlResult<String> {
    match value.get_ref() {
        DeValue::String(text) => Ok(text.to_string()),
        DeValue::Integer(number) => Ok(number.to_string()),
        DeValue::Float(number) => Ok(number.to_string()),
        DeValue::Boolean(flag) => Ok(flag.to_string()),
        DeValue::Array(items) => {
            let items = items.iter().map(value_text).collect::<SqlResult<Vec<_>>>()?;
            Ok(items.join(","))
        }
        DeValue::Datetime(_) | DeValue::Table(_) => {
            let message = "a setting is a text, a number, true, false or an array of texts";
            Err(SqlError::new(SqlState::INVALID_PARAMETER_VALUE, message))
        }
    }
}

fn take_variable(
    configuration: &mut Configuration,
    variable: &OsString,
    value: &OsString,
) -> SqlResult<()> {
    let Some(variable) = variable.to_str() else { return Ok(()) };
    let Some(name) = variable.strip_prefix(PREFIX) else { return Ok(()) };
    if OTHERS.contains(&variable) || is_service_link(name) {
        return Ok(());
    }
    let value = value.to_str().ok_or_else(|| {
        let message = format!("the environment variable {variable} is not UTF-8");
        SqlError::new(SqlState::INVALID_PARAMETER_VALUE, message)
    })?;
    let given = configuration.give(&name.to_ascii_lowercase(), value, Origin::Environment);
    given.map_err(|error| SqlError {
        message: format!("{} in the environment variable {variable}", error.message),
        ..error
    })
}

/// Kubernetes tells every container where a service named `dovetail` is: `DOVETAIL_PORT_5432_TCP`.
fn is_service_link(name: &str) -> bool {
    name == "PORT" || name.starts_with("PORT_") || name.starts_with("SERVICE_")
}

#[cfg(test)]
mod tests;
