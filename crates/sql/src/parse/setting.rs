//! `SET`, `SHOW` and `RESET`.

use datafusion_sql::sqlparser::ast::{
    ContextModifier, Expr, Ident, Reset, Set, TransactionAccessMode, TransactionIsolationLevel,
    TransactionMode, Value,
};
use types::{SqlError, SqlResult};

use crate::parse::object_name::identifier;
use crate::parse::statement::Statement;
use crate::parse::statement::transaction::{Modes, Transaction};

pub(super) fn set(set: Set) -> SqlResult<Statement> {
    match set {
        Set::SingleAssignment { scope, hivevar: false, variable, values } => {
            let name = variable.to_string().to_lowercase();
            let words: Vec<String> = values.iter().map(word).collect();
            let value = words.join(", ");
            let default = matches!(values.as_slice(), [Expr::Identifier(i)] if is_default(i));
            let value = (!default).then_some(value);
            Ok(assignment(scope == Some(ContextModifier::Local), name, value))
        }
        Set::SetNames { charset_name, collation_name: None } => {
            let (name, value) = ("client_encoding".to_owned(), identifier(&charset_name));
            Ok(Statement::Set { name, value: Some(value) })
        }
        Set::SetNamesDefault {} => {
            Ok(Statement::Set { name: "client_encoding".to_owned(), value: None })
        }
        Set::SetTimeZone { local: until_end, value } => {
            let name = "timezone".to_owned();
            let local = matches!(&value, Expr::Identifier(i) if identifier(i) == "local");
            let default = local || matches!(&value, Expr::Identifier(i) if is_default(i));
            Ok(assignment(until_end, name, (!default).then(|| zone(&value))))
        }
        Set::SetTransaction { modes, snapshot: None, session } => self::modes(&modes, session),
        other => Err(SqlError::unsupported(other.to_string())),
    }
}

/// The levels of isolation. What `read uncommitted` would let be seen is not seen, as in PostgreSQL.
pub const ISOLATION_LEVELS: &[&str] =
    &["serializable", "repeatable read", "read committed", "read uncommitted"];

fn isolation(level: TransactionIsolationLevel) -> SqlResult<String> {
    let name = level.to_string();
    let found = ISOLATION_LEVELS.iter().find(|level| level.eq_ignore_ascii_case(&name));
    let unknown = || SqlError::unsupported(format!("the isolation level {name}"));
    found.map(|level| (*level).to_owned()).ok_or_else(unknown)
}

/// `SET`, or `SET LOCAL`.
fn assignment(local: bool, name: String, value: Option<String>) -> Statement {
    match local {
        true => Statement::SetLocal { name, value },
        false => Statement::Set { name, value },
    }
}

/// `BEGIN` with its modes.
///
/// Errors: 0A000 for an isolation level that is none of PostgreSQL's.
pub(super) fn begin(modes: &[TransactionMode], is_start: bool) -> SqlResult<Transaction> {
    let mut begun = Modes { is_start, ..Modes::default() };
    for mode in modes {
        match mode {
            TransactionMode::AccessMode(mode) => {
                begun.read_only = Some(*mode == TransactionAccessMode::ReadOnly);
            }
            TransactionMode::IsolationLevel(level) => {
                begun.isolation = Some(isolation(*level)?);
            }
        }
    }
    Ok(Transaction::Begin(begun))
}

/// `SET TRANSACTION` and `SET SESSION CHARACTERISTICS AS TRANSACTION`: a setting for each mode.
fn modes(modes: &[TransactionMode], session: bool) -> SqlResult<Statement> {
    let whose = if session { "default_transaction" } else { "transaction" };
    let setting = |mode: &TransactionMode| {
        let (name, value) = match mode {
            TransactionMode::IsolationLevel(level) => ("isolation", isolation(*level)?),
            TransactionMode::AccessMode(TransactionAccessMode::ReadOnly) => {
                ("read_only", "on".to_owned())
            }
            TransactionMode::AccessMode(TransactionAccessMode::ReadWrite) => {
                ("read_only", "off".to_owned())
            }
        };
        Ok((format!("{whose}_{name}"), value))
    };
    modes.iter().map(setting).collect::<SqlResult<_>>().map(Statement::SetTransaction)
}

fn is_default(ident: &Ident) -> bool {
    ident.quote_style.is_none() && ident.value.eq_ignore_ascii_case("default")
}

/// A zone as the setting takes it; an interval is so many hours to the east.
fn zone(value: &Expr) -> String {
    match value {
        Expr::Interval(interval) => match interval.value.as_ref() {
            Expr::Value(value) => match &value.value {
                Value::SingleQuotedString(text) => hours(text),
                other => other.to_string(),
            },
            other => other.to_string(),
        },
        other => word(other),
    }
}

/// `-08:30` in hours.
fn hours(clock: &str) -> String {
    let (hours, minutes) = clock.split_once(':').unwrap_or((clock, "0"));
    let (Ok(hours), Ok(minutes)) = (hours.parse::<f64>(), minutes.parse::<f64>()) else {
        return clock.to_owned();
    };
    let sign = if clock.trim_start().starts_with('-') { -1.0 } else { 1.0 };
    (hours + sign * minutes / 60.0).to_string()
}

/// A value as plain text: `'x'`, `x` and `"x"` all mean x.
fn word(expr: &Expr) -> String {
    match expr {
        Expr::Identifier(ident) => identifier(ident),
        Expr::Value(value) => match &value.value {
            Value::SingleQuotedString(s) | Value::DoubleQuotedString(s) => s.clone(),
            other => other.to_string(),
        },
        other => other.to_string(),
    }
}

pub(super) fn show(variable: &[Ident]) -> Statement {
    let name: Vec<String> = variable.iter().map(identifier).collect();
    let name = name.join(".");
    // Settings that the standard's words name.
    let name = match name.to_lowercase().as_str() {
        "transaction.isolation.level" => "transaction_isolation".to_owned(),
        "time.zone" => "TimeZone".to_owned(),
        "session.authorization" => "session_authorization".to_owned(),
        _ => name,
    };
    Statement::Show { name }
}

pub(super) fn reset(reset: &Reset) -> SqlResult<Statement> {
    Ok(match reset {
        Reset::ALL => Statement::Reset { name: None },
        Reset::ConfigurationParameter(name) => {
            Statement::Reset { name: Some(name.to_string().to_lowercase()) }
        }
    })
}
