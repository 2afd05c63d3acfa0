//! Sizes of tables, indexes and the database.

use sql::SystemValue;
use types::{LogicalType, SqlResult};

use super::definition::Definition;
use crate::objects::Object;
use crate::view::View;

const BIGINT: LogicalType = LogicalType::Int64;
const TEXT: LogicalType = LogicalType::Text;

pub(super) const FUNCTIONS: &[Definition] = &[
    Definition("pg_relation_size", BIGINT, 1, 2, true, relation),
    Definition("pg_table_size", BIGINT, 1, 1, true, relation),
    Definition("pg_indexes_size", BIGINT, 1, 1, true, indexes),
    Definition("pg_total_relation_size", BIGINT, 1, 1, true, total),
    Definition("pg_database_size", BIGINT, 1, 1, true, database),
    Definition("pg_tablespace_size", BIGINT, 1, 1, true, database),
    Definition("pg_size_pretty", TEXT, 1, 1, true, pretty),
    Definition("pg_relation_filenode", LogicalType::Oid, 1, 1, true, file_number),
    Definition("pg_stat_get_live_tuples", BIGINT, 1, 1, true, live_rows),
];

/// Pages of a table or index by its oid or name.
fn pages(view: &View, argument: &SystemValue) -> SqlResult<Option<(u64, u64)>> {
    let object = match argument.int() {
        Some(oid) => view.object(oid),
        None => view.object_named(&sql::parse_name(argument.text().unwrap_or_default())?),
    };
    Ok(object.map(|object| match object {
        Object::Table(table) => {
            let counts = view.counts(table);
            (counts.leaf_pages, counts.index_leaf_pages.iter().sum())
        }
        Object::Index(table, index) => (view.counts(table).pages_of(&index), 0),
        Object::View(..) | Object::Sequence(_) | Object::System(_) => (0, 0),
    }))
}

/// Each relation that is stored has a number of its own, which is its oid.
fn file_number(view: &View, arguments: &[SystemValue]) -> SqlResult<SystemValue> {
    let object = arguments[0].int().and_then(|oid| view.object(oid));
    let stored = object.filter(|o| matches!(o, Object::Table(_) | Object::Index(..)));
    Ok(stored.map(|o| o.oid()).into())
}

fn live_rows(view: &View, arguments: &[SystemValue]) -> SqlResult<SystemValue> {
    Ok(match arguments[0].int().and_then(|oid| view.object(oid)) {
        Some(Object::Table(table)) => (view.counts(table).row_count as i64).into(),
        _ => 0.into(),
    })
}

fn sized(
    view: &View,
    arguments: &[SystemValue],
    count: fn((u64, u64)) -> u64,
) -> SqlResult<SystemValue> {
    let bytes = |pages| (count(pages) * view.page_bytes()) as i64;
    Ok(pages(view, &arguments[0])?.map(bytes).into())
}

fn relation(view: &View, arguments: &[SystemValue]) -> SqlResult<SystemValue> {
    sized(view, arguments, |(own, _)| own)
}

fn indexes(view: &View, arguments: &[SystemValue]) -> SqlResult<SystemValue> {
    sized(view, arguments, |(_, indexes)| indexes)
}

fn total(view: &View, arguments: &[SystemValue]) -> SqlResult<SystemValue> {
    sized(view, arguments, |(own, indexes)| own + indexes)
}

fn database(view: &View, _arguments: &[SystemValue]) -> SqlResult<SystemValue> {
    let pages = |table: &plan::catalog::TableDef| {
        let counts = view.counts(table);
        counts.leaf_pages + counts.index_leaf_pages.iter().sum::<u64>()
    };
    let pages: u64 = view.tables().map(|table| pages(table)).sum();
    Ok(((pages * view.page_bytes()) as i64).into())
}

/// `1234 kB`: PostgreSQL goes to the next unit from 10 of it on, and rounds half up.
fn pretty(_view: &View, arguments: &[SystemValue]) -> SqlResult<SystemValue> {
    let bytes = match &arguments[0] {
        SystemValue::Float(v) => *v,
        other => other.int().unwrap_or_default() as f64,
    };
    let mut value = bytes;
    for unit in ["bytes", "kB", "MB", "GB", "TB"] {
        if value.abs() < 10_240.0 {
            return Ok(format!("{} {unit}", value.round()).into());
        }
        value /= 1024.0;
    }
    Ok(format!("{} PB", value.round()).into())
}
