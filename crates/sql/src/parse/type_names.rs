//! Names of types that the parser has no words for: those of the catalog, also in quotes and with their
//! schema, and those that PostgreSQL has besides.

use datafusion_sql::sqlparser::ast::{ArrayElemTypeDef, DataType, ObjectName};
use types::{ANY_LENGTH, LogicalType, SqlError, SqlResult, SqlState};

use crate::parse::object_name::identifier;

/// The type of a name. Errors: 0A000 for a type that PostgreSQL has, 42704 for one that nobody has.
pub(super) fn named(name: &ObjectName, modifiers: &[String]) -> SqlResult<LogicalType> {
    let parts: Vec<String> = name.0.iter().filter_map(|p| p.as_ident()).map(identifier).collect();
    let last = match parts.iter().map(String::as_str).collect::<Vec<_>>().as_slice() {
        [last] | ["pg_catalog", last] => (*last).to_owned(),
        _ => return Err(unknown_type(&parts.join("."))),
    };
    let array = last.strip_prefix('_').and_then(of_catalog).map(LogicalType::array_of);
    match of_catalog(&last).or(array) {
        Some(ty) if modifiers.is_empty() => Ok(ty),
        Some(_) => Err(SqlError::unsupported(format!("a modifier of the type {last}"))),
        None => Err(refused(&last)),
    }
}

/// The syntax of a type that the parser has no word for.
pub(super) fn of_catalog_name(name: &str) -> DataType {
    DataType::Custom(ObjectName::from(vec![name.into()]), vec![])
}

/// True if it is the name of a type in the catalog of PostgreSQL.
pub(super) fn is_known(name: &str) -> bool {
    of_catalog(name).is_some() || OTHERS.contains(&name)
}

/// The types by the names that the catalog has for them.
fn of_catalog(name: &str) -> Option<LogicalType> {
    Some(match name {
        "bool" => LogicalType::Bool,
        "int2" => LogicalType::Int16,
        "int4" => LogicalType::Int32,
        "int8" => LogicalType::Int64,
        "float4" => LogicalType::Float32,
        "float8" => LogicalType::Float64,
        "numeric" => LogicalType::Numeric,
        "varchar" => LogicalType::Varchar(ANY_LENGTH),
        "text" | "bpchar" | "name" => LogicalType::Text,
        "date" => LogicalType::Date,
        "time" => LogicalType::Time,
        "timestamp" => LogicalType::Timestamp,
        "timestamptz" => LogicalType::TimestampTz,
        "interval" => LogicalType::Interval,
        "bytea" => LogicalType::Bytea,
        "uuid" => LogicalType::Uuid,
        "oid" => LogicalType::Oid,
        _ => return None,
    })
}

/// The elements of an array type that has a name of its own, as `_int4`.
pub(crate) fn named_array(name: &ObjectName) -> Option<DataType> {
    let last = identifier(name.0.last()?.as_ident()?);
    let element = last.strip_prefix('_').filter(|element| of_catalog(element).is_some())?;
    let element = Box::new(of_catalog_name(element));
    Some(DataType::Array(ArrayElemTypeDef::SquareBracket(element, None)))
}

/// Types of PostgreSQL that are not here.
const OTHERS: [&str; 76] = [
    "aclitem",
    "any",
    "anyarray",
    "anyelement",
    "bit",
    "bit varying",
    "box",
    "char",
    "cid",
    "cidr",
    "circle",
    "cstring",
    "datemultirange",
    "daterange",
    "gtsvector",
    "inet",
    "int2vector",
    "int4multirange",
    "int4range",
    "int8multirange",
    "int8range",
    "internal",
    "json",
    "jsonb",
    "jsonpath",
    "line",
    "lseg",
    "macaddr",
    "macaddr8",
    "money",
    "nummultirange",
    "numrange",
    "oidvector",
    "path",
    "pg_lsn",
    "pg_node_tree",
    "pg_snapshot",
    "point",
    "polygon",
    "record",
    "refcursor",
    "regclass",
    "regcollation",
    "regconfig",
    "regdictionary",
    "regnamespace",
    "regoper",
    "regoperator",
    "regproc",
    "regprocedure",
    "regrole",
    "regtype",
    "tid",
    "timetz",
    "time with time zone",
    "trigger",
    "tsmultirange",
    "tsquery",
    "tsrange",
    "tstzmultirange",
    "tstzrange",
    "tsvector",
    "txid_snapshot",
    "unknown",
    "varbit",
    "void",
    "xid",
    "xid8",
    "xml",
    "smallserial",
    "serial",
    "bigserial",
    "serial2",
    "serial4",
    "serial8",
    "event_trigger",
];

/// 0A000 for a type that PostgreSQL has, 42704 for another.
pub(super) fn refused(name: &str) -> SqlError {
    let bare = name.split('(').next().unwrap_or(name).trim_end();
    let element = bare.strip_suffix("[]").unwrap_or(bare).trim_start_matches('_');
    match OTHERS.contains(&element) {
        true => SqlError::unsupported(format!("the type {bare}")),
        false => unknown_type(bare),
    }
}

fn unknown_type(name: &str) -> SqlError {
    SqlError::new(SqlState::UNDEFINED_OBJECT, format!("type \"{name}\" does not exist"))
}
