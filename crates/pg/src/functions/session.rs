//! Who and where: the session, the server, their settings.

use engine::Setting;
use engine::system::SettingChange;
use sql::SystemValue;
use types::{LogicalType, SqlResult};

use super::definition::Definition;
use crate::view::View;

const TEXT: LogicalType = LogicalType::Text;
const TEXTS: LogicalType = LogicalType::Array(&LogicalType::Text);
const BOOL: LogicalType = LogicalType::Bool;
const INT: LogicalType = LogicalType::Int32;
const BIGINT: LogicalType = LogicalType::Int64;

/// The release of PostgreSQL whose catalogs and behaviour the engine follows.
const POSTGRES_RELEASE: &str = "15.0";

/// What changes the session.
pub(super) const EFFECTS: &[Definition] = &[Definition("set_config", TEXT, 3, 3, true, set_config)];

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
    Definition("pg_backend_pid", INT, 0, 0, false, backend_pid),
    Definition("pg_encoding_to_char", TEXT, 1, 1, true, encoding_name),
    Definition("pg_char_to_encoding", INT, 1, 1, true, encoding_number),
    Definition("getdatabaseencoding", TEXT, 0, 0, false, encoding),
    Definition("pg_client_encoding", TEXT, 0, 0, false, encoding),
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
    Ok(view.database().into())
}

fn current_user(view: &View, _arguments: &[SystemValue]) -> SqlResult<SystemValue> {
    Ok(view.user().into())
}

fn session_user(view: &View, _arguments: &[SystemValue]) -> SqlResult<SystemValue> {
    Ok(view.session_user().into())
}

/// The schema of the search path in which things are made; null where it has none.
fn current_schema(view: &View, _arguments: &[SystemValue]) -> SqlResult<SystemValue> {
    Ok(view.finds_public().then_some("public").into())
}

fn current_schemas(view: &View, arguments: &[SystemValue]) -> SqlResult<SystemValue> {
    let system = (arguments[0] == SystemValue::Bool(true)).then_some("pg_catalog");
    let public = view.finds_public().then_some("public");
    let schemas = system.into_iter().chain(public).map(SystemValue::from);
    Ok(SystemValue::List(schemas.collect()))
}

fn current_setting(view: &View, arguments: &[SystemValue]) -> SqlResult<SystemValue> {
    let name = arguments[0].text().unwrap_or_default();
    let missing_ok = arguments.get(1) == Some(&SystemValue::Bool(true));
    if let Ok(setting) = Setting::find(name) {
        view.examine(setting)?;
    }
    match view.settings().show(name) {
        Ok(value) => Ok(value.into()),
        Err(_) if missing_ok => Ok(SystemValue::Null),
        Err(error) => Err(error),
    }
}

/// Changes a setting once the statement is done; for the transaction only, if the third argument says so.
fn set_config(view: &View, arguments: &[SystemValue]) -> SqlResult<SystemValue> {
    let text = |i: usize| arguments[i].text().unwrap_or_default().to_owned();
    let (name, value) = (text(0), text(1));
    let is_local = match &arguments[2] {
        SystemValue::Bool(is_local) => *is_local,
        other => other.text().is_some_and(|text| text.starts_with(['t', 'T', 'y', 'Y', '1'])),
    };
    view.settings().clone().set(&name, &value)?;
    // Outside of a block the transaction is this statement.
    if !is_local || view.in_block() {
        view.change_setting(SettingChange { name, value: value.clone(), is_local });
    }
    Ok(value.into())
}

fn backend_pid(view: &View, _arguments: &[SystemValue]) -> SqlResult<SystemValue> {
    Ok(i64::from(view.pid()).into())
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
