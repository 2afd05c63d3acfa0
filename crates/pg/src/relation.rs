//! The definitions of all system relations, read from the exported list once.

use std::sync::{Arc, LazyLock};

use sql::catalog::{TableDef, TableId, TableStatistics, TableStorage};
use stdx::HashMap;
use types::{Column, LogicalType, Schema};

/// What is exported from PostgreSQL, and what only this engine has.
const LISTS: [&str; 2] = [include_str!("data/relations.txt"), include_str!("data/own.txt")];

/// Relations with rows are planned as if they had this many: hash joins, no look-ups.
const ROWS_GUESSED: u64 = 1000;

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

/// A system relation.
#[derive(Debug)]
pub(crate) struct Relation {
    pub(crate) schema: &'static str,
    pub(crate) name: &'static str,
    pub(crate) oid: i64,
    /// `r` for a table, `v` for a view, `f` for a function in `FROM`.
    pub(crate) kind: &'static str,
    pub(crate) columns: Vec<RelationColumn>,
    /// As the planner sees it.
    pub(crate) def: Arc<TableDef>,
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

impl RelationColumn {
    /// The type that clients are told where the engine has another one: names and letters are
    /// `text` here, functions and types are numbers.
    pub(crate) fn told_oid(&self) -> Option<u32> {
        // Domains are told as what they are made of.
        let name = match self.type_name {
            "information_schema.sql_identifier" => "name",
            "information_schema.character_data" | "information_schema.yes_or_no" => "varchar",
            known if TOLD.contains(&known) => known,
            _ => return None,
        };
        u32::try_from(crate::type_names::of_name(name)).ok()
    }
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
    let def = Arc::new(definition(schema, name, oid, &columns));
    Relation { schema, name, oid: i64::from(oid), kind, columns, def, ordinals }
}

fn parse_column(line: &'static str) -> Option<RelationColumn> {
    let mut words = line.split(' ');
    let (name, type_name) = (words.next()?, words.next()?);
    let not_null = words.next().is_some();
    Some(RelationColumn { name, type_name, ty: logical(type_name), not_null })
}

fn definition(schema: &str, name: &str, oid: u32, columns: &[RelationColumn]) -> TableDef {
    let column =
        |c: &RelationColumn| Column { name: c.name.into(), ty: c.ty, nullable: !c.not_null };
    let filled = match schema {
        "information_schema" => crate::information_schema::has_rows(name),
        _ => crate::pg_catalog::has_rows(name),
    };
    let row_count = if filled { ROWS_GUESSED } else { 0 };
    TableDef {
        storage: TableStorage::Row,
        constraints: Arc::default(),
        id: TableId(TableId::SYSTEM + oid),
        name: name.to_owned(),
        schema: Schema { columns: columns.iter().map(column).collect() },
        primary_key: vec![],
        indexes: vec![],
        statistics: Arc::new(TableStatistics { row_count, ..TableStatistics::default() }),
    }
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
