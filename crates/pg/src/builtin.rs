//! Rows that are the same in every database: built-in types, operators and the like, as exported from
//! PostgreSQL in the text form of `COPY`.

use std::sync::LazyLock;

use sql::SystemValue;
use types::LogicalType;

use crate::relation::{Relation, RelationColumn};
use crate::rows::Row;

const TABLES: &[(&str, &str)] = &[
    ("pg_am", include_str!("data/pg_am.tsv")),
    ("pg_cast", include_str!("data/pg_cast.tsv")),
    ("pg_collation", include_str!("data/pg_collation.tsv")),
    ("pg_get_keywords", include_str!("data/pg_get_keywords.tsv")),
    ("pg_language", include_str!("data/pg_language.tsv")),
    ("pg_opclass", include_str!("data/pg_opclass.tsv")),
    ("pg_operator", include_str!("data/pg_operator.tsv")),
    ("pg_opfamily", include_str!("data/pg_opfamily.tsv")),
    ("pg_proc", include_str!("data/pg_proc.tsv")),
    ("pg_tablespace", include_str!("data/pg_tablespace.tsv")),
    ("pg_type", include_str!("data/pg_type.tsv")),
];

/// Whether rows of this relation are built in.
pub(crate) fn has(name: &str) -> bool {
    TABLES.iter().any(|(table, _)| *table == name)
}

/// The built-in rows of a relation.
pub(crate) fn rows(relation: &Relation) -> Vec<Row> {
    let table = TABLES.iter().find(|(name, _)| *name == relation.name);
    table.map_or(vec![], |(_, text)| text.lines().map(|line| row(relation, line)).collect())
}

fn row(relation: &Relation, line: &str) -> Row {
    let values = line.split('\t').zip(&relation.columns);
    values.map(|(text, column)| value(text, column)).collect()
}

fn value(text: &str, column: &RelationColumn) -> SystemValue {
    if text == "\\N" {
        return SystemValue::Null;
    }
    match column.ty {
        LogicalType::Array(element) => array(text, *element),
        LogicalType::Bool => SystemValue::Bool(text == "t"),
        LogicalType::Text => SystemValue::Text(text.replace("\\\\", "\\")),
        LogicalType::Float32 | LogicalType::Float64 => {
            SystemValue::Float(text.parse().unwrap_or_default())
        }
        _ => SystemValue::Int(text.parse().unwrap_or_default()),
    }
}

/// The elements of `{a,b}`; none of the exported arrays needs quotes.
fn array(text: &str, element: LogicalType) -> SystemValue {
    let inside = text.trim_start_matches('{').trim_end_matches('}');
    let elements = inside.split(',').filter(|e| !e.is_empty());
    let value = |e: &str| match element {
        LogicalType::Text => SystemValue::from(e.trim_matches('"')),
        _ => e.parse().map_or(SystemValue::Null, SystemValue::Int),
    };
    SystemValue::List(elements.map(value).collect())
}

/// Built-in functions, oid and name: those that are listed, and those that types and operators are
/// made of.
pub(crate) static PROCEDURES: LazyLock<Vec<(i64, &'static str)>> = LazyLock::new(|| {
    let lists = [include_str!("data/pg_proc.tsv"), include_str!("data/procedures.tsv")];
    let entry = |line: &'static str| {
        let mut fields = line.split('\t');
        Some((fields.next()?.parse().ok()?, fields.next()?))
    };
    lists.iter().flat_map(|list| list.lines()).filter_map(entry).collect()
});

/// A built-in type.
#[derive(Debug)]
pub(crate) struct BuiltinType {
    pub(crate) oid: i64,
    pub(crate) name: &'static str,
    pub(crate) length: i64,
    pub(crate) by_value: bool,
    pub(crate) category: &'static str,
    pub(crate) align: &'static str,
    pub(crate) storage: &'static str,
    pub(crate) collation: i64,
    pub(crate) element: i64,
    pub(crate) array: i64,
}

/// All built-in types.
pub(crate) static TYPES: LazyLock<Vec<BuiltinType>> = LazyLock::new(|| {
    include_str!("data/pg_type.tsv")
        .lines()
        .map(|line| {
            let fields: Vec<&'static str> = line.split('\t').collect();
            let field = |name: &str| {
                let relation = crate::relation::find("pg_catalog", "pg_type");
                relation.and_then(|r| r.ordinal(name)).map_or("", |i| fields[i])
            };
            let number = |name: &str| field(name).parse().unwrap_or_default();
            BuiltinType {
                oid: number("oid"),
                name: field("typname"),
                length: number("typlen"),
                by_value: field("typbyval") == "t",
                category: field("typcategory"),
                align: field("typalign"),
                storage: field("typstorage"),
                collation: number("typcollation"),
                element: number("typelem"),
                array: number("typarray"),
            }
        })
        .collect()
});

/// The built-in type with this oid.
pub(crate) fn type_by_oid(oid: i64) -> Option<&'static BuiltinType> {
    TYPES.iter().find(|t| t.oid == oid)
}

/// The built-in type with this internal name, such as `int4`.
pub(crate) fn type_by_name(name: &str) -> Option<&'static BuiltinType> {
    TYPES.iter().find(|t| t.name == name)
}
