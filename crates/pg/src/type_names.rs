//! Types by oid and modifier, and their names in SQL.

use types::{ANY_LENGTH, LogicalType};

use crate::builtin::{BuiltinType, type_by_name, type_by_oid};

/// Bytes that PostgreSQL counts in front of a variable-length value; part of type modifiers.
const HEADER: i64 = 4;

/// The names of types in SQL where they differ from the internal ones.
const SQL_NAMES: [(&str, &str); 13] = [
    ("bool", "boolean"),
    ("int2", "smallint"),
    ("int4", "integer"),
    ("int8", "bigint"),
    ("float4", "real"),
    ("float8", "double precision"),
    ("varchar", "character varying"),
    ("bpchar", "character"),
    ("timestamp", "timestamp without time zone"),
    ("timestamptz", "timestamp with time zone"),
    ("time", "time without time zone"),
    ("timetz", "time with time zone"),
    ("char", "\"char\""),
];

/// Other spellings that casts accept.
const ALIASES: [(&str, &str); 5] = [
    ("int", "int4"),
    ("decimal", "numeric"),
    ("varchar", "varchar"),
    ("timestamp", "timestamp"),
    ("float", "float8"),
];

/// Types of columns that clients are told as they are, though the engine has others in their place.
const TOLD: [&str; 10] = [
    "name",
    "\"char\"",
    "pg_node_tree",
    "regproc",
    "regtype",
    "xid",
    "name[]",
    "\"char\"[]",
    "aclitem[]",
    "regtype[]",
];

/// The type that clients are told of a relation's column where the engine has another one: names and letters
/// are `text` here, functions and types are numbers.
pub(crate) fn told_oid(type_name: &str) -> Option<u32> {
    // Domains are told as what they are made of.
    let name = match type_name {
        "information_schema.sql_identifier" => "name",
        "information_schema.character_data" | "information_schema.yes_or_no" => "varchar",
        known if TOLD.contains(&known) => known,
        _ => return None,
    };
    u32::try_from(of_name(name)).ok()
}

/// Oid and modifier (-1 for none) of a column's type.
pub(crate) fn of(ty: LogicalType) -> (i64, i64) {
    let modifier = match ty {
        LogicalType::Decimal { precision, scale } => {
            (i64::from(precision) << 16 | i64::from(scale) & 0x7ff) + HEADER
        }
        LogicalType::Varchar(ANY_LENGTH) => -1,
        LogicalType::Varchar(n) | LogicalType::Char(n) => i64::from(n) + HEADER,
        LogicalType::Rounded(moment, digits) => {
            i64::from(types::oid::moment_modifier(moment, digits))
        }
        LogicalType::Array(element) => of(*element).1,
        _ => -1,
    };
    let oid = match ty {
        LogicalType::Array(element) => type_by_oid(of(*element).0).map_or(0, |t| t.array),
        plain => by_sql_name(&plain.plain().to_string()).map_or(0, |t| t.oid),
    };
    (oid, modifier)
}

/// The oid of a type that a relation's definition names, blanks as underscores.
pub(crate) fn of_name(type_name: &str) -> i64 {
    let plain = type_name.replace('_', " ");
    let element = plain.strip_suffix("[]");
    let name = match element.unwrap_or(&plain) {
        "information schema.cardinal number" => "integer",
        "pg node tree" => "pg_node_tree",
        "pg lsn" => "pg_lsn",
        "pg ndistinct" => "pg_ndistinct",
        "pg dependencies" => "pg_dependencies",
        "pg mcv list" => "pg_mcv_list",
        "pg statistic" => "pg_statistic",
        name if name.starts_with("information schema.") => "name",
        name => name,
    };
    let Some(found) = by_sql_name(name) else { return 0 };
    if element.is_some() { found.array } else { found.oid }
}

/// A type by the name that SQL or the catalog gives it.
pub(crate) fn by_sql_name(name: &str) -> Option<&'static BuiltinType> {
    if let Some(element) = name.strip_suffix("[]") {
        let array = by_sql_name(element)?.array;
        return type_by_oid(array);
    }
    let name = name.split('(').next().unwrap_or(name).trim();
    let known = SQL_NAMES.iter().find(|(_, sql)| *sql == name).map(|(internal, _)| *internal);
    let alias = || ALIASES.iter().find(|(alias, _)| *alias == name).map(|(_, internal)| *internal);
    type_by_name(known.or_else(alias).unwrap_or(name))
}

/// The name of a type in SQL, with its modifier; `???` of an unknown one, `-` of none.
pub(crate) fn format_type(oid: i64, modifier: i64) -> String {
    if oid == 0 {
        return "-".to_owned();
    }
    let Some(found) = type_by_oid(oid) else { return "???".to_owned() };
    if found.category == "A" && found.element != 0 && found.length == -1 {
        return format!("{}[]", format_type(found.element, modifier));
    }
    let known = SQL_NAMES.iter().find(|(internal, _)| *internal == found.name);
    let name = known.map_or(found.name, |(_, sql)| *sql);
    let length = modifier - HEADER;
    match found.name {
        "numeric" if modifier >= HEADER => {
            format!("numeric({},{})", length >> 16, length & 0x7ff)
        }
        "varchar" | "bpchar" if modifier >= HEADER => format!("{name}({length})"),
        "bpchar" if modifier < 0 => "bpchar".to_owned(),
        "timestamp" | "timestamptz" | "time" | "interval" if modifier >= 0 => {
            let digits = modifier & 0xffff;
            match name.split_once(' ') {
                Some((word, zone)) => format!("{word}({digits}) {zone}"),
                None => format!("{name}({digits})"),
            }
        }
        _ => name.to_owned(),
    }
}
