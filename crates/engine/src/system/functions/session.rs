//! Who and where: the session, the server, their settings.

use sql::SystemValue;
use types::{LogicalType, SqlError, SqlResult, SqlState};

use super::Definition;
use crate::system::View;

const TEXT: LogicalType = LogicalType::Text;
const TEXTS: LogicalType = LogicalType::Array(&LogicalType::Text);
const BOOL: LogicalType = LogicalType::Bool;
const INT: LogicalType = LogicalType::Int32;
const BIGINT: LogicalType = LogicalType::Int64;

/// The release of PostgreSQL whose catalogs and behaviour the engine follows.
const POSTGRES_RELEASE: &str = "15.0";

/// Settings that clients ask for and that can not be changed: name, value, description.
pub(crate) const PRESETS: &[(&str, &str, &str)] = &[
    ("block_size", "4096", "Bytes of a page."),
    ("client_encoding", "UTF8", "Encoding of text that clients send."),
    ("client_min_messages", "notice", "Least severe message that is sent."),
    ("DateStyle", "ISO, MDY", "How dates are read and printed."),
    ("default_table_access_method", "heap", "How tables are kept."),
    ("default_tablespace", "", "Where tables are kept."),
    ("default_transaction_isolation", "serializable", "Statements run one after the other."),
    ("in_hot_standby", "off", "Whether the server only replays a log."),
    ("integer_datetimes", "on", "Whether times are whole microseconds."),
    ("is_superuser", "on", "Whether the session's role may do everything."),
    ("IntervalStyle", "postgres", "How intervals are printed."),
    ("jit", "off", "Whether queries are compiled to machine code."),
    ("lc_collate", "C", "Order of text: by bytes."),
    ("lc_ctype", "C", "Classes of characters."),
    ("max_identifier_length", "63", "Longest name, in bytes."),
    ("max_index_keys", "32", "Most columns of an index."),
    ("server_encoding", "UTF8", "Encoding of text in the database."),
    ("server_version", "15.0", "The release of PostgreSQL that the server follows."),
    ("server_version_num", "150000", "The same as a number."),
    ("standard_conforming_strings", "on", "Whether a backslash in a text is a letter."),
    ("TimeZone", "UTC", "The zone of instants when read and printed."),
    ("transaction_isolation", "serializable", "Isolation of this transaction."),
    ("wal_level", "minimal", "What a log would be good for."),
];

pub(super) const FUNCTIONS: &[Definition] = &[
    Definition("version", TEXT, 0, 0, false, version),
    Definition("current_database", TEXT, 0, 0, false, current_database),
    Definition("current_catalog", TEXT, 0, 0, false, current_database),
    Definition("current_user", TEXT, 0, 0, false, current_user),
    Definition("session_user", TEXT, 0, 0, false, session_user),
    Definition("current_role", TEXT, 0, 0, false, current_user),
    Definition("user", TEXT, 0, 0, false, current_user),
    Definition("current_schema", TEXT, 0, 0, false, current_schema),
    Definition("current_schemas", TEXTS, 1, 1, true, current_schemas),
    Definition("current_setting", TEXT, 1, 2, true, current_setting),
    Definition("set_config", TEXT, 3, 3, true, set_config),
    Definition("pg_backend_pid", INT, 0, 0, false, backend_pid),
    Definition("pg_encoding_to_char", TEXT, 1, 1, true, encoding_name),
    Definition("pg_char_to_encoding", INT, 1, 1, true, encoding_number),
    Definition("getdatabaseencoding", TEXT, 0, 0, false, encoding),
    Definition("pg_client_encoding", TEXT, 0, 0, false, encoding),
    Definition("pg_is_in_recovery", BOOL, 0, 0, false, no),
    Definition("pg_is_wal_replay_paused", BOOL, 0, 0, false, no),
    Definition("pg_is_other_temp_schema", BOOL, 1, 1, true, no),
    Definition("pg_my_temp_schema", BIGINT, 0, 0, false, zero),
    Definition("pg_tablespace_location", TEXT, 1, 1, true, empty),
    Definition("inet_server_addr", TEXT, 0, 0, false, null),
    Definition("inet_client_addr", TEXT, 0, 0, false, null),
    Definition("inet_server_port", INT, 0, 0, false, null),
    Definition("inet_client_port", INT, 0, 0, false, null),
];

fn version(_view: &View, _arguments: &[SystemValue]) -> SqlResult<SystemValue> {
    let (package, machine) = (env!("CARGO_PKG_VERSION"), std::env::consts::ARCH);
    Ok(format!("PostgreSQL {POSTGRES_RELEASE} (Dovetail {package}) on {machine}").into())
}

fn current_database(view: &View, _arguments: &[SystemValue]) -> SqlResult<SystemValue> {
    Ok(view.session.database.as_str().into())
}

fn current_user(view: &View, _arguments: &[SystemValue]) -> SqlResult<SystemValue> {
    Ok(view.session.user.as_str().into())
}

fn session_user(view: &View, _arguments: &[SystemValue]) -> SqlResult<SystemValue> {
    Ok(view.session.session_user.as_str().into())
}

fn current_schema(_view: &View, _arguments: &[SystemValue]) -> SqlResult<SystemValue> {
    Ok("public".into())
}

fn current_schemas(_view: &View, arguments: &[SystemValue]) -> SqlResult<SystemValue> {
    let system = (arguments[0] == SystemValue::Bool(true)).then_some("pg_catalog");
    let schemas = system.into_iter().chain(["public"]).map(SystemValue::from);
    Ok(SystemValue::List(schemas.collect()))
}

fn current_setting(view: &View, arguments: &[SystemValue]) -> SqlResult<SystemValue> {
    let name = arguments[0].text().unwrap_or_default();
    let missing_ok = arguments.get(1) == Some(&SystemValue::Bool(true));
    match view.settings.show(name) {
        Ok(value) => Ok(value.into()),
        Err(error) => match preset(name) {
            Some(value) => Ok(value.into()),
            None if missing_ok => Ok(SystemValue::Null),
            None => Err(error),
        },
    }
}

/// The value of a setting that can not be changed.
pub(crate) fn preset(name: &str) -> Option<&'static str> {
    PRESETS
        .iter()
        .find(|(preset, ..)| preset.eq_ignore_ascii_case(name))
        .map(|(_, value, _)| *value)
}

/// Changes a setting once the statement is done. What can not be changed may be set to what it is,
/// and `jit`, which clients switch off and on around their own queries, to anything.
fn set_config(view: &View, arguments: &[SystemValue]) -> SqlResult<SystemValue> {
    let text = |i: usize| arguments[i].text().unwrap_or_default().to_owned();
    let (name, value) = (text(0), text(1));
    if let Some(fixed) = preset(&name)
        && view.settings.show(&name).is_err()
    {
        if fixed.eq_ignore_ascii_case(&value) || name.eq_ignore_ascii_case("jit") {
            return Ok(value.into());
        }
        let message = format!("parameter \"{name}\" cannot be changed");
        return Err(SqlError::new(SqlState("55P02"), message));
    }
    view.settings.clone().set(&name, &value)?;
    let mut changes = view.changes.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    changes.push((name, value.clone()));
    Ok(value.into())
}

fn backend_pid(view: &View, _arguments: &[SystemValue]) -> SqlResult<SystemValue> {
    Ok(i64::from(view.session.pid).into())
}

/// The encodings that PostgreSQL counts; there is one here.
fn encoding_name(_view: &View, arguments: &[SystemValue]) -> SqlResult<SystemValue> {
    Ok(if arguments[0].int() == Some(6) { "UTF8" } else { "" }.into())
}

fn encoding_number(_view: &View, arguments: &[SystemValue]) -> SqlResult<SystemValue> {
    let name = arguments[0].text().unwrap_or_default().to_lowercase().replace('-', "");
    Ok(if name == "utf8" || name == "unicode" { 6 } else { -1 }.into())
}

fn encoding(_view: &View, _arguments: &[SystemValue]) -> SqlResult<SystemValue> {
    Ok("UTF8".into())
}

fn no(_view: &View, _arguments: &[SystemValue]) -> SqlResult<SystemValue> {
    Ok(false.into())
}

fn zero(_view: &View, _arguments: &[SystemValue]) -> SqlResult<SystemValue> {
    Ok(0.into())
}

fn empty(_view: &View, _arguments: &[SystemValue]) -> SqlResult<SystemValue> {
    Ok("".into())
}

fn null(_view: &View, _arguments: &[SystemValue]) -> SqlResult<SystemValue> {
    Ok(SystemValue::Null)
}
