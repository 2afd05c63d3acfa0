//! Objects by oid and by name, and their definitions as text.

use sql::SystemValue;
use types::{LogicalType, SqlError, SqlResult, SqlState};

use super::definition::Definition;
use crate::objects::{self, Object, namespace_name, namespace_oid};
use crate::pg_catalog::comments::{self, Described};
use crate::sequences::Sequence;
use crate::view::View;
use crate::{builtin, relation, type_names};

const OID: LogicalType = LogicalType::Oid;
const TEXT: LogicalType = LogicalType::Text;
const BOOL: LogicalType = LogicalType::Bool;

pub(super) const FUNCTIONS: &[Definition] = &[
    Definition("regclassin", OID, 1, 1, true, regclass_in),
    Definition("regclassout", TEXT, 1, 1, true, regclass_out),
    Definition("to_regclass", OID, 1, 1, true, to_regclass),
    Definition("regtypein", OID, 1, 1, true, regtype_in),
    Definition("regtypeout", TEXT, 1, 1, true, regtype_out),
    Definition("to_regtype", OID, 1, 1, true, to_regtype),
    Definition("regtype_names", LogicalType::Array(&TEXT), 1, 1, true, regtype_names),
    Definition("regnamespacein", OID, 1, 1, true, regnamespace_in),
    Definition("regnamespaceout", TEXT, 1, 1, true, regnamespace_out),
    Definition("to_regnamespace", OID, 1, 1, true, to_regnamespace),
    Definition("regrolein", OID, 1, 1, true, regrole_in),
    Definition("regroleout", TEXT, 1, 1, true, regrole_out),
    Definition("regprocin", OID, 1, 1, true, regproc_in),
    Definition("regprocout", TEXT, 1, 1, true, regproc_out),
    Definition("regprocedurein", OID, 1, 1, true, regproc_in),
    Definition("regprocedureout", TEXT, 1, 1, true, regproc_out),
    Definition("to_regproc", OID, 1, 1, true, to_regproc),
    Definition("format_type", TEXT, 2, 2, false, format_type),
    Definition("pg_get_indexdef", TEXT, 1, 3, true, index_definition),
    Definition("pg_get_constraintdef", TEXT, 1, 2, true, constraint_definition),
    Definition("pg_get_expr", TEXT, 2, 3, true, stored_expression),
    Definition("pg_get_viewdef", TEXT, 1, 2, true, view_definition),
    Definition("pg_get_ruledef", TEXT, 1, 2, true, nothing),
    Definition("pg_get_triggerdef", TEXT, 1, 2, true, nothing),
    Definition("pg_get_partkeydef", TEXT, 1, 1, true, nothing),
    Definition("pg_get_function_arguments", TEXT, 1, 1, true, function_arguments),
    Definition("pg_get_function_identity_arguments", TEXT, 1, 1, true, function_arguments),
    Definition("pg_get_function_result", TEXT, 1, 1, true, function_result),
    Definition("pg_get_function_sqlbody", TEXT, 1, 1, true, nothing),
    Definition("pg_get_functiondef", TEXT, 1, 1, true, nothing),
    Definition("pg_get_statisticsobjdef_columns", TEXT, 1, 1, true, nothing),
    Definition("pg_get_serial_sequence", TEXT, 2, 2, true, serial_sequence),
    Definition("obj_description", TEXT, 1, 2, true, described),
    Definition("col_description", TEXT, 2, 2, true, described_column),
    Definition("shobj_description", TEXT, 2, 2, true, described),
    Definition("pg_get_userbyid", TEXT, 1, 1, true, role_name),
    Definition("quote_ident", TEXT, 1, 1, true, quote_ident),
    Definition("pg_table_is_visible", BOOL, 1, 1, true, relation_is_visible),
    Definition("pg_type_is_visible", BOOL, 1, 1, true, always),
    Definition("pg_function_is_visible", BOOL, 1, 1, true, always),
    Definition("pg_operator_is_visible", BOOL, 1, 1, true, always),
    Definition("pg_opclass_is_visible", BOOL, 1, 1, true, always),
    Definition("pg_opfamily_is_visible", BOOL, 1, 1, true, always),
    Definition("pg_collation_is_visible", BOOL, 1, 1, true, always),
    Definition("pg_conversion_is_visible", BOOL, 1, 1, true, always),
    Definition("pg_statistics_obj_is_visible", BOOL, 1, 1, true, always),
    Definition("pg_ts_config_is_visible", BOOL, 1, 1, true, always),
    Definition("pg_ts_dict_is_visible", BOOL, 1, 1, true, always),
    Definition("pg_ts_parser_is_visible", BOOL, 1, 1, true, always),
    Definition("pg_ts_template_is_visible", BOOL, 1, 1, true, always),
    Definition("pg_relation_is_publishable", BOOL, 1, 1, true, is_user_table),
];

fn nothing(_view: &View, _arguments: &[SystemValue]) -> SqlResult<SystemValue> {
    Ok(SystemValue::Null)
}

/// The comment on an object, of the relation that is named if one is.
fn described(view: &View, arguments: &[SystemValue]) -> SqlResult<SystemValue> {
    let class = arguments.get(1).and_then(SystemValue::text);
    let class = class.and_then(|name| relation::find("pg_catalog", name)).map(|r| r.oid);
    let is_meant = |c: &&Described<'_>| {
        Some(c.object) == arguments[0].int() && c.column == 0 && class.is_none_or(|k| k == c.class)
    };
    Ok(comments::all(view).iter().find(is_meant).map_or(SystemValue::Null, |c| c.text.into()))
}

fn described_column(view: &View, arguments: &[SystemValue]) -> SqlResult<SystemValue> {
    let (object, column) = (arguments[0].int(), arguments[1].int());
    let is_meant =
        |c: &&Described<'_>| Some(c.object) == object && Some(c.column) == column && c.column > 0;
    Ok(comments::all(view).iter().find(is_meant).map_or(SystemValue::Null, |c| c.text.into()))
}

fn always(_view: &View, _arguments: &[SystemValue]) -> SqlResult<SystemValue> {
    Ok(true.into())
}

/// A name or an oid as an oid; `-` is none. Errors: what `missing` says of a name.
fn oid_of(
    argument: &SystemValue,
    find: impl Fn(&[String]) -> Option<i64>,
    missing: impl Fn(&str) -> SqlError,
) -> SqlResult<SystemValue> {
    if let Some(oid) = argument.int() {
        return Ok(oid.into());
    }
    let text = argument.text().unwrap_or_default();
    if text == "-" {
        return Ok(0.into());
    }
    find(&sql::parse_name(text)?).map(SystemValue::Int).ok_or_else(|| missing(text))
}

/// The name of an oid, or its digits where nothing has it; `-` is none.
fn name_of(argument: &SystemValue, find: impl Fn(i64) -> Option<String>) -> SystemValue {
    match argument.int() {
        Some(0) => "-".into(),
        Some(oid) => find(oid).unwrap_or_else(|| oid.to_string()).into(),
        None => SystemValue::Null,
    }
}

/// The same without an error for what is missing.
fn or_null(found: SqlResult<SystemValue>) -> SqlResult<SystemValue> {
    match found {
        Err(error) if error.state != SqlState("42602") => Ok(SystemValue::Null),
        other => other,
    }
}

fn regclass_in(view: &View, arguments: &[SystemValue]) -> SqlResult<SystemValue> {
    let missing = |name: &str| {
        let message = format!("relation \"{name}\" does not exist");
        SqlError::new(SqlState::UNDEFINED_TABLE, message)
    };
    oid_of(&arguments[0], |parts| view.object_named(parts).map(|o| o.oid()), missing)
}

fn regclass_out(view: &View, arguments: &[SystemValue]) -> SqlResult<SystemValue> {
    Ok(name_of(&arguments[0], |oid| view.object(oid).map(|o| o.display_name(view))))
}

fn to_regclass(view: &View, arguments: &[SystemValue]) -> SqlResult<SystemValue> {
    or_null(regclass_in(view, arguments))
}

fn regtype_in(view: &View, arguments: &[SystemValue]) -> SqlResult<SystemValue> {
    if let Some(oid) = arguments[0].int() {
        return Ok(oid.into());
    }
    let name = arguments[0].text().unwrap_or_default();
    let plain = match name.starts_with('"') {
        true => quoted_type(name)?,
        false => name.to_lowercase(),
    };
    let plain = plain.strip_prefix("pg_catalog.").unwrap_or(&plain);
    let table = |t: &&std::sync::Arc<plan::catalog::TableDef>| t.name == *name;
    let row_type = || view.tables().find(table).map(|t| objects::row_type_oid(t));
    let found = type_names::by_sql_name(plain).map(|t| t.oid).or_else(row_type);
    found.map(SystemValue::Int).ok_or_else(|| {
        let message = format!("type \"{name}\" does not exist");
        SqlError::new(SqlState::UNDEFINED_OBJECT, message)
    })
}

/// The name of a type whose parts are in quotes, without them.
fn quoted_type(name: &str) -> SqlResult<String> {
    let parts = sql::parse_name(name)?;
    match parts.as_slice() {
        [schema, _] if namespace_oid(schema).is_none() => Err(no_schema(schema)),
        _ => Ok(parts.join(".")),
    }
}

fn no_schema(name: &str) -> SqlError {
    SqlError::new(SqlState("3F000"), format!("schema \"{name}\" does not exist"))
}

fn regtype_out(_view: &View, arguments: &[SystemValue]) -> SqlResult<SystemValue> {
    let known = |oid| builtin::type_by_oid(oid).map(|_| type_names::format_type(oid, -1));
    Ok(name_of(&arguments[0], known))
}

/// The types of an array or a vector by their names.
fn regtype_names(view: &View, arguments: &[SystemValue]) -> SqlResult<SystemValue> {
    let oids = match &arguments[0] {
        SystemValue::List(items) => items.clone(),
        other => {
            let words = other.text().unwrap_or_default().split_whitespace();
            words.map(SystemValue::from).collect()
        }
    };
    let names = oids.into_iter().map(|oid| match regtype_in(view, &[oid])? {
        SystemValue::Null => Ok(SystemValue::Null),
        oid => regtype_out(view, &[oid]),
    });
    Ok(SystemValue::List(names.collect::<SqlResult<_>>()?))
}

fn to_regtype(view: &View, arguments: &[SystemValue]) -> SqlResult<SystemValue> {
    or_null(regtype_in(view, arguments))
}

fn regnamespace_in(_view: &View, arguments: &[SystemValue]) -> SqlResult<SystemValue> {
    let find = |parts: &[String]| parts.first().and_then(|name| namespace_oid(name));
    oid_of(&arguments[0], find, no_schema)
}

fn regnamespace_out(_view: &View, arguments: &[SystemValue]) -> SqlResult<SystemValue> {
    Ok(name_of(&arguments[0], |oid| namespace_name(oid).map(str::to_owned)))
}

fn to_regnamespace(view: &View, arguments: &[SystemValue]) -> SqlResult<SystemValue> {
    or_null(regnamespace_in(view, arguments))
}

fn regrole_in(view: &View, arguments: &[SystemValue]) -> SqlResult<SystemValue> {
    let missing = |name: &str| {
        SqlError::new(SqlState::UNDEFINED_OBJECT, format!("role \"{name}\" does not exist"))
    };
    let find = |parts: &[String]| match parts {
        [name] => view.access().id(name).ok().map(i64::from),
        _ => None,
    };
    oid_of(&arguments[0], find, missing)
}

/// The name of the role with this number.
fn role(view: &View, oid: i64) -> Option<&str> {
    let id = u32::try_from(oid).ok()?;
    let access = view.access();
    access.all_roles().any(|role| role.id == id).then(|| access.name(id))
}

fn regrole_out(view: &View, arguments: &[SystemValue]) -> SqlResult<SystemValue> {
    let name = |oid| role(view, oid).map(sql::quote_ident);
    Ok(name_of(&arguments[0], name))
}

/// With the types of its arguments, or without.
fn regproc_in(_view: &View, arguments: &[SystemValue]) -> SqlResult<SystemValue> {
    let name = arguments[0].text().and_then(|text| text.split('(').next());
    let argument = name.map_or_else(|| arguments[0].clone(), SystemValue::from);
    let missing = |name: &str| {
        let message = format!("function \"{name}\" does not exist");
        SqlError::new(SqlState::UNDEFINED_FUNCTION, message)
    };
    let find = |parts: &[String]| {
        let name = parts.last()?;
        builtin::PROCEDURES.iter().find(|(_, known)| known == name).map(|(oid, _)| *oid)
    };
    oid_of(&argument, find, missing)
}

fn regproc_out(_view: &View, arguments: &[SystemValue]) -> SqlResult<SystemValue> {
    let known = |oid| builtin::PROCEDURES.iter().find(|(known, _)| *known == oid);
    let name = |oid| known(oid).map(|(_, name)| (*name).to_owned());
    Ok(name_of(&arguments[0], name))
}

fn to_regproc(view: &View, arguments: &[SystemValue]) -> SqlResult<SystemValue> {
    or_null(regproc_in(view, arguments))
}

fn format_type(_view: &View, arguments: &[SystemValue]) -> SqlResult<SystemValue> {
    let Some(oid) = arguments[0].int() else { return Ok(SystemValue::Null) };
    Ok(type_names::format_type(oid, arguments[1].int().unwrap_or(-1)).into())
}

/// The query of a view by its oid or name.
fn view_definition(view: &View, arguments: &[SystemValue]) -> SqlResult<SystemValue> {
    let object = match arguments[0].int() {
        Some(oid) => view.object(oid),
        None => view.object_named(&sql::parse_name(arguments[0].text().unwrap_or_default())?),
    };
    let Some(Object::View(_, def)) = object else { return Ok(SystemValue::Null) };
    let pretty = arguments.get(1) == Some(&SystemValue::Bool(true));
    Ok(view.view_text(def, pretty).into())
}

/// The whole definition, or that of one column.
fn index_definition(view: &View, arguments: &[SystemValue]) -> SqlResult<SystemValue> {
    let oid = arguments[0].int().unwrap_or_default();
    let Some(Object::Index(table, index)) = view.object(oid) else { return Ok(SystemValue::Null) };
    let number = arguments.get(1).and_then(SystemValue::int).unwrap_or_default();
    if number == 0 {
        let pretty = arguments.get(2) == Some(&SystemValue::Bool(true));
        return Ok(index.definition(table, !pretty).into());
    }
    let columns = index.attribute_names(table);
    let column = usize::try_from(number - 1).ok().and_then(|i| columns.get(i).copied());
    Ok(column.map(sql::quote_ident).into())
}

fn constraint_definition(view: &View, arguments: &[SystemValue]) -> SqlResult<SystemValue> {
    let oid = arguments[0].int();
    let constraints = view.constraints();
    let found = constraints.iter().find(|c| Some(c.oid) == oid);
    let pretty = arguments.get(1) == Some(&SystemValue::Bool(true));
    Ok(found.map(|c| c.definition(view, pretty)).into())
}

/// Expressions are kept as text, with all parentheses.
fn stored_expression(view: &View, arguments: &[SystemValue]) -> SqlResult<SystemValue> {
    let (Some(text), Some(relation)) = (arguments[0].text(), arguments[1].int()) else {
        return Ok(arguments[0].clone());
    };
    let pretty = arguments.get(2) == Some(&SystemValue::Bool(true));
    let printed = match view.object(relation).filter(|_| pretty) {
        Some(Object::Table(table)) => sql::definition::condition(text, &table.schema, true),
        _ => None,
    };
    Ok(printed.map_or_else(|| arguments[0].clone(), SystemValue::from))
}

/// A column of the built-in row of a function.
fn procedure_column(oid: &SystemValue, column: &str) -> Option<SystemValue> {
    let relation = relation::find("pg_catalog", "pg_proc")?;
    let (key, ordinal) = (relation.ordinal("oid")?, relation.ordinal(column)?);
    let rows = builtin::rows(relation);
    let row = rows.into_iter().find(|row| row[key].int() == oid.int())?;
    row.into_iter().nth(ordinal)
}

fn function_arguments(_view: &View, arguments: &[SystemValue]) -> SqlResult<SystemValue> {
    let Some(types) = procedure_column(&arguments[0], "proargtypes") else {
        return Ok(SystemValue::Null);
    };
    let types = types.text().unwrap_or_default().split_whitespace();
    let names =
        types.filter_map(|oid| oid.parse().ok()).map(|oid| type_names::format_type(oid, -1));
    Ok(names.collect::<Vec<_>>().join(", ").into())
}

fn function_result(_view: &View, arguments: &[SystemValue]) -> SqlResult<SystemValue> {
    let column = |name| procedure_column(&arguments[0], name);
    let Some(oid) = column("prorettype").and_then(|v| v.int()) else {
        return Ok(SystemValue::Null);
    };
    let set = column("proretset") == Some(SystemValue::Bool(true));
    let name = type_names::format_type(oid, -1);
    Ok(if set { format!("SETOF {name}") } else { name }.into())
}

fn role_name(view: &View, arguments: &[SystemValue]) -> SqlResult<SystemValue> {
    let oid = arguments[0].int();
    Ok(match oid.and_then(|oid| role(view, oid)) {
        Some(name) => name.into(),
        None => format!("unknown (OID={})", oid.unwrap_or_default()).into(),
    })
}

fn quote_ident(_view: &View, arguments: &[SystemValue]) -> SqlResult<SystemValue> {
    Ok(arguments[0].text().map(sql::quote_ident).into())
}

/// The sequence of a column, with its schema; null where it has none.
fn serial_sequence(view: &View, arguments: &[SystemValue]) -> SqlResult<SystemValue> {
    let (table, column) = (arguments[0].text(), arguments[1].text());
    let (table, column) = (table.unwrap_or_default(), column.unwrap_or_default());
    let def = match view.object_named(&sql::parse_name(table)?) {
        Some(Object::Table(def)) => def,
        Some(Object::View(_, found)) => {
            let columns = sql::view_columns(found, view.catalog())?;
            if columns.iter().any(|found| found.name == column) {
                return Ok(SystemValue::Null);
            }
            return Err(no_column(column, &found.name));
        }
        _ => {
            let message = format!("relation \"{table}\" does not exist");
            return Err(SqlError::new(SqlState::UNDEFINED_TABLE, message));
        }
    };
    let Some(ordinal) = def.schema.ordinal(column) else {
        return Err(no_column(column, &def.name));
    };
    let mut sequences = view.sequences();
    let owner = |s: &Sequence<'_>| {
        let owner = view.owner_of_sequence(s);
        owner.is_some_and(|(table, column)| table.id == def.id && column == ordinal)
    };
    Ok(sequences.find(owner).map(|s| format!("public.{}", sql::quote_ident(&s.name))).into())
}

fn no_column(column: &str, relation: &str) -> SqlError {
    let message = format!("column \"{column}\" of relation \"{relation}\" does not exist");
    SqlError::new(SqlState::UNDEFINED_COLUMN, message)
}

/// Whether the plain name finds the relation.
fn relation_is_visible(view: &View, arguments: &[SystemValue]) -> SqlResult<SystemValue> {
    let object = arguments[0].int().and_then(|oid| view.object(oid));
    Ok(object.map(|o| namespace_name(o.namespace()) != Some("information_schema")).into())
}

fn is_user_table(view: &View, arguments: &[SystemValue]) -> SqlResult<SystemValue> {
    let object = arguments[0].int().and_then(|oid| view.object(oid));
    Ok(matches!(object, Some(Object::Table(_))).into())
}
