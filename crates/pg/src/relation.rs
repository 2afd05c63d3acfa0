//! The definitions of all system relations, read from the exported list once.

use std::sync::LazyLock;

use plan::catalog::TableId;
use stdx::HashMap;
use types::{Column, LogicalType, Schema};

/// What is exported from PostgreSQL, and what only this engine has.
const LISTS: [&str; 2] = [include_str!("data/relations.txt"), include_str!("data/own.txt")];

/// Relations with what not everybody should know.
pub(crate) const SUPERUSERS_ONLY: [&str; 2] = ["pg_authid", "pg_shadow"];

/// A system relation.
#[derive(Debug)]
pub(crate) struct Relation {
    pub(crate) schema: &'static str,
    pub(crate) name: &'static str,
    pub(crate) oid: i64,
    /// `r` for a table, `v` for a view, `f` for a function in `FROM`.
    pub(crate) kind: &'static str,
    pub(crate) columns: Vec<RelationColumn>,
    /// Names and types of the columns.
    pub(crate) row_type: Schema,
    ordinals: HashMap<&'static str, usize>,
}

/// A column of a system relation.
#[derive(Debug)]
pub(crate) struct RelationColumn {
    pub(crate) name: &'static str,
    /// PostgreSQL's name of the type, blanks as underscores.
    pub(crate) type_name: &'static str,
    pub(crate) ty: LogicalType,
    pub(crate) not_null: bool,
}

static RELATIONS: LazyLock<Vec<Relation>> =
    LazyLock::new(|| LISTS.iter().flat_map(|list| parse(list)).collect());

static BY_NAME: LazyLock<HashMap<(&'static str, &'static str), usize>> =
    LazyLock::new(|| RELATIONS.iter().enumerate().map(|(i, r)| ((r.schema, r.name), i)).collect());

/// All, also those that stand for functions.
pub(crate) fn every() -> impl Iterator<Item = &'static Relation> {
    RELATIONS.iter()
}

/// All but those that stand for functions.
pub(crate) fn all() -> impl Iterator<Item = &'static Relation> {
    RELATIONS.iter().filter(|relation| relation.kind != "f")
}

/// The relation `name` of `schema`.
pub(crate) fn find(schema: &str, name: &str) -> Option<&'static Relation> {
    BY_NAME.get(&(schema, name)).map(|i| &RELATIONS[*i])
}

/// The relation that the planner knows by `id`.
pub(crate) fn by_id(id: TableId) -> Option<&'static Relation> {
    let oid = i64::from(id.0.checked_sub(TableId::SYSTEM)?);
    RELATIONS.iter().find(|r| r.oid == oid)
}

impl Relation {
    /// The position of a column.
    pub(crate) fn ordinal(&self, column: &str) -> Option<usize> {
        self.ordinals.get(column).copied()
    }
}

fn parse(list: &'static str) -> Vec<Relation> {
    let blocks = list.split("= ").skip(1);
    blocks.map(parse_relation).collect()
}

fn parse_relation(block: &'static str) -> Relation {
    let (head, body) = block.split_once('\n').unwrap_or((block, ""));
    let mut words = head.split(' ');
    let mut word = || words.next().unwrap_or_default();
    let (schema, name, oid, kind) = (word(), word(), word(), word());
    let oid: u32 = oid.parse().expect("the list has an oid for each relation");
    let columns: Vec<RelationColumn> = body.lines().filter_map(parse_column).collect();
    let ordinals = columns.iter().enumerate().map(|(i, c)| (c.name, i)).collect();
    let row_type = Schema { columns: columns.iter().map(typed).collect() };
    Relation { schema, name, oid: i64::from(oid), kind, columns, row_type, ordinals }
}

fn parse_column(line: &'static str) -> Option<RelationColumn> {
    let mut words = line.split(' ');
    let (name, type_name) = (words.next()?, words.next()?);
    let not_null = words.next().is_some();
    Some(RelationColumn { name, type_name, ty: logical(type_name), not_null })
}

fn typed(column: &RelationColumn) -> Column {
    Column { name: column.name.into(), ty: column.ty, nullable: !column.not_null }
}

/// The engine's type for a column of PostgreSQL's type.
fn logical(type_name: &str) -> LogicalType {
    // Types of a list are shown by their names.
    if type_name == "regtype[]" {
        return LogicalType::Text.array_of();
    }
    if let Some(element) = type_name.strip_suffix("[]") {
        return logical(element).array_of();
    }
    match type_name {
        "boolean" => LogicalType::Bool,
        "smallint" => LogicalType::Int16,
        "integer" | "information_schema.cardinal_number" => LogicalType::Int32,
        "real" => LogicalType::Float32,
        "double_precision" => LogicalType::Float64,
        "oid" | "regproc" | "regtype" | "xid" => LogicalType::Oid,
        "bigint" => LogicalType::Int64,
        "numeric" => LogicalType::Decimal { precision: 38, scale: 0 },
        "timestamp_with_time_zone" | "information_schema.time_stamp" => LogicalType::TimestampTz,
        _ => LogicalType::Text,
    }
}
