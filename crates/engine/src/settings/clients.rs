//! Settings that clients of PostgreSQL make when they connect. Those that would change what the
//! engine does take only the values that it has; the others are kept for whoever asks.

use super::{Setting, Settings};

/// A setting whose values are kept and change nothing that a client could see in a result.
macro_rules! kept {
    ($name:literal, $default:literal, $description:literal) => {
        Setting {
            name: $name,
            description: $description,
            get: |s| kept(s, $name, $default),
            set: |s, v| keep(s, $name, v),
        }
    };
}

/// A setting of which the engine has one value, under several names.
macro_rules! fixed {
    ($name:literal, $shown:literal, $accepted:expr, $description:literal) => {
        Setting {
            name: $name,
            description: $description,
            get: |_| $shown.into(),
            set: |_, v| only($shown, &$accepted, v),
        }
    };
}

fn kept(settings: &Settings, name: &'static str, default: &str) -> String {
    settings.kept.get(name).cloned().unwrap_or_else(|| default.to_owned())
}

fn keep(settings: &mut Settings, name: &'static str, value: &str) -> Result<(), String> {
    settings.kept.insert(name, value.to_owned());
    Ok(())
}

fn only(shown: &str, accepted: &[&str], value: &str) -> Result<(), String> {
    // PostgreSQL looks at letters and digits only: clients send `'utf-8'` and `UTF8`.
    let significant = |c: &char| c.is_ascii_alphanumeric() || matches!(c, ',' | '.');
    let value: String = value.to_ascii_lowercase().chars().filter(significant).collect();
    match accepted.contains(&value.as_str()) {
        true => Ok(()),
        false => Err(format!("Dovetail has only {shown}.")),
    }
}

fn timeout_ms(text: &str) -> Result<u64, String> {
    let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic() || c == ' ');
    let unit = match text[digits.len()..].trim() {
        "" | "ms" => 1,
        "s" => 1_000,
        "min" => 60_000,
        "h" => 3_600_000,
        "d" => 86_400_000,
        other => return Err(format!("the unit \"{other}\" is none of ms, s, min, h, d")),
    };
    let number: u64 = digits.trim().parse().map_err(|_| "it must be a time like 500ms or 30s")?;
    number.checked_mul(unit).filter(|ms| *ms <= i32::MAX as u64).ok_or("it is too long".to_owned())
}

fn show_ms(ms: u64) -> String {
    match ms {
        0 => "0".to_owned(),
        ms if ms.is_multiple_of(60_000) => format!("{}min", ms / 60_000),
        ms if ms.is_multiple_of(1_000) => format!("{}s", ms / 1_000),
        ms => format!("{ms}ms"),
    }
}

/// Ordered by name.
pub(super) const CLIENT_SETTINGS: &[Setting] = &[
    fixed!("bytea_output", "hex", ["hex"], "Text form of bytea."),
    fixed!("client_encoding", "UTF8", ["utf8", "unicode"], "Encoding of the client."),
    kept!("client_min_messages", "notice", "Least severity of messages that are sent."),
    fixed!(
        "datestyle",
        "ISO, MDY",
        ["iso", "iso,mdy", "iso,dmy", "iso,ymd"],
        "Text form of dates."
    ),
    fixed!(
        "default_transaction_isolation",
        "read committed",
        ["readcommitted", "repeatableread", "serializable"],
        "Isolation of transactions: each statement reads one snapshot."
    ),
    kept!("extra_float_digits", "1", "Digits of floats: always the shortest exact form."),
    kept!("idle_in_transaction_session_timeout", "0", "Longest pause within a transaction."),
    fixed!("integer_datetimes", "on", ["on"], "Times are integers."),
    fixed!("intervalstyle", "postgres", ["postgres"], "Text form of intervals."),
    kept!("lock_timeout", "0", "Longest wait for a lock; statements wait for none."),
    fixed!("max_identifier_length", "63", ["63"], "Longest name."),
    fixed!("password_encryption", "scram-sha-256", ["scramsha256"], "How passwords are kept."),
    fixed!("server_encoding", "UTF8", ["utf8"], "Encoding of the database."),
    fixed!(
        "server_version",
        "15.0",
        ["15.0"],
        "The version of PostgreSQL whose behaviour this is."
    ),
    fixed!("server_version_num", "150000", ["150000"], "The same as a number."),
    fixed!("standard_conforming_strings", "on", ["on"], "Backslashes in strings are plain."),
    Setting {
        name: "statement_timeout",
        description: "Longest time of a statement; 0 is no limit.",
        get: |s| show_ms(s.statement_timeout_ms),
        set: |s, v| timeout_ms(v).map(|ms| s.statement_timeout_ms = ms),
    },
    kept!("search_path", "\"$user\", public", "Schemas in which names are looked up."),
    kept!("timezone", "UTC", "Time zone of the session."),
    fixed!(
        "transaction_isolation",
        "read committed",
        ["readcommitted", "repeatableread", "serializable"],
        "Isolation of this transaction."
    ),
];
