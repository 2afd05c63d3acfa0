//! Privileges: there is one role, which owns everything but the system's relations.

use sql::SystemValue;
use types::{LogicalType, SqlError, SqlResult, SqlState};

use super::Definition;
use crate::system::objects::Object;
use crate::system::{View, names};

const BOOL: LogicalType = LogicalType::Bool;

pub(super) const FUNCTIONS: &[Definition] = &[
    Definition("has_table_privilege", BOOL, 2, 3, true, table),
    Definition("has_column_privilege", BOOL, 3, 4, true, granted),
    Definition("has_any_column_privilege", BOOL, 2, 3, true, table),
    Definition("has_schema_privilege", BOOL, 2, 3, true, granted),
    Definition("has_database_privilege", BOOL, 2, 3, true, granted),
    Definition("has_function_privilege", BOOL, 2, 3, true, granted),
    Definition("has_language_privilege", BOOL, 2, 3, true, granted),
    Definition("has_sequence_privilege", BOOL, 2, 3, true, granted),
    Definition("has_tablespace_privilege", BOOL, 2, 3, true, granted),
    Definition("has_type_privilege", BOOL, 2, 3, true, granted),
    Definition("has_foreign_data_wrapper_privilege", BOOL, 2, 3, true, granted),
    Definition("has_server_privilege", BOOL, 2, 3, true, granted),
    Definition("has_parameter_privilege", BOOL, 2, 3, true, granted),
    Definition("pg_has_role", BOOL, 2, 3, true, granted),
    Definition("row_security_active", BOOL, 1, 1, true, denied),
];

fn granted(_view: &View, _arguments: &[SystemValue]) -> SqlResult<SystemValue> {
    Ok(true.into())
}

fn denied(_view: &View, _arguments: &[SystemValue]) -> SqlResult<SystemValue> {
    Ok(false.into())
}

/// `has_table_privilege([role,] table, privileges)`.
fn table(view: &View, arguments: &[SystemValue]) -> SqlResult<SystemValue> {
    let object = &arguments[arguments.len() - 2];
    let privileges = arguments[arguments.len() - 1].text().unwrap_or_default().to_lowercase();
    let object = match object.int() {
        Some(oid) => match view.object(oid) {
            Some(object) => object,
            None => return Ok(SystemValue::Null),
        },
        None => {
            let name = object.text().unwrap_or_default();
            view.object_named(&names::parse(name)?).ok_or_else(|| {
                let message = format!("relation \"{name}\" does not exist");
                SqlError::new(SqlState::UNDEFINED_TABLE, message)
            })?
        }
    };
    let reads = privileges.split(',').any(|p| p.trim().starts_with("select"));
    Ok((reads || !matches!(object, Object::System(_))).into())
}
