//! Table definitions as bytes: JSON, types by their SQL names, values by their text.

use std::sync::Arc;

use datafusion_common::ScalarValue;
use datafusion_sql::sqlparser::dialect::PostgreSqlDialect;
use datafusion_sql::sqlparser::parser::Parser;
use plan::catalog::{
    ColumnStatistics, IndexDef, IndexId, IndexMethod, KeyOrder, TableDef, TableId, TableStatistics,
    TableStorage,
};
use plan::constraints::{Constraints, Deferral};
use serde::{Deserialize, Serialize};
use types::parse::ColumnParser;
use types::text::format_value;
use types::{Column, LogicalType, Schema, SqlError, SqlResult, SqlState};

/// Versions of the form; a file of a later one is refused. The second has included columns, the third hash
/// indexes, the fourth indexes that uphold primary keys and deferrable constraints; each is written for tables
/// that have some, so that earlier programs read all others.
const PLAIN: u32 = 1;
const INCLUDING: u32 = 2;
const HASHING: u32 = 3;
const KEYED: u32 = 4;

#[derive(Serialize, Deserialize)]
struct Table {
    version: u32,
    id: u32,
    name: String,
    columns: Vec<StoredColumn>,
    primary_key: Vec<usize>,
    indexes: Vec<StoredIndex>,
    row_count: u64,
    leaf_pages: u64,
    index_leaf_pages: Vec<u64>,
    statistics: Vec<Statistics>,
    #[serde(default, skip_serializing_if = "Constraints::is_empty")]
    constraints: Constraints,
}

#[derive(Serialize, Deserialize)]
struct StoredColumn {
    name: String,
    #[serde(rename = "type")]
    ty: String,
    nullable: bool,
}

#[derive(Serialize, Deserialize)]
struct StoredIndex {
    id: u32,
    name: String,
    columns: Vec<usize>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    included: Vec<usize>,
    unique: bool,
    /// Whether it is a hash index. One that earlier programs made `USING hash` is none.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    hash: bool,
    /// Whether it upholds the primary key.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    primary: bool,
    #[serde(default, skip_serializing_if = "Deferral::is_never")]
    deferral: Deferral,
    /// How the statement wants key columns ordered, as numbers of `pg_index.indoption`. Nothing
    /// else depends on it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    orders: Vec<u8>,
}

#[derive(Serialize, Deserialize)]
struct Statistics {
    null_fraction: f64,
    distinct_count: f64,
    min: Option<String>,
    max: Option<String>,
    histogram: Vec<String>,
    most_common: Vec<(String, f64)>,
    width: f64,
    correlation: f64,
}

/// The stored form of a table's definition and statistics.
pub fn encode_table(table: &TableDef) -> Vec<u8> {
    let columns = table.schema.columns.iter().map(|c| StoredColumn {
        name: c.name.clone(),
        ty: c.ty.to_string(),
        nullable: c.nullable,
    });
    let indexes = table.indexes.iter().map(|i| StoredIndex {
        id: i.id.0,
        name: i.name.clone(),
        columns: i.columns.clone(),
        included: i.included.clone(),
        unique: i.unique,
        hash: i.is_hash(),
        primary: i.primary,
        deferral: i.deferral,
        orders: i.orders.iter().map(|order| order.bits()).collect(),
    });
    let statistics = &table.statistics;
    let stored = Table {
        version: table.indexes.iter().map(|i| version_of(i)).max().unwrap_or(PLAIN),
        id: table.id.0,
        name: table.name.clone(),
        columns: columns.collect(),
        primary_key: table.primary_key.clone(),
        indexes: indexes.collect(),
        row_count: statistics.row_count,
        leaf_pages: statistics.leaf_pages,
        index_leaf_pages: statistics.index_leaf_pages.clone(),
        statistics: statistics.columns.iter().map(encode_statistics).collect(),
        constraints: (*table.constraints).clone(),
    };
    serde_json::to_vec(&stored).expect("plain structures of text and finite numbers encode")
}

/// The first version that has such an index.
fn version_of(index: &IndexDef) -> u32 {
    match () {
        () if index.primary || index.deferral != Deferral::Never => KEYED,
        () if index.is_hash() => HASHING,
        () if !index.included.is_empty() => INCLUDING,
        () => PLAIN,
    }
}

/// Reads the stored form. Errors: XX001 for bytes that are no table of a known version.
pub fn decode_table(bytes: &[u8]) -> SqlResult<TableDef> {
    let stored: Table = serde_json::from_slice(bytes).map_err(|e| damaged(&e.to_string()))?;
    if ![PLAIN, INCLUDING, HASHING, KEYED].contains(&stored.version) {
        return Err(damaged(&format!("version {} is not known", stored.version)));
    }
    let columns = stored.columns.into_iter().map(decode_column).collect::<SqlResult<Vec<_>>>()?;
    let known = |ordinal: &usize| *ordinal < columns.len();
    let of_indexes = stored.indexes.iter().flat_map(|i| [&i.columns, &i.included]);
    let keys = of_indexes.chain([&stored.primary_key]);
    if !keys.into_iter().flatten().all(known) {
        return Err(damaged("a key names a column that does not exist"));
    }
    if stored.indexes.iter().any(|i| i.hash && (i.columns.len() != 1 || i.unique)) {
        return Err(damaged("a hash index has one column and is not unique"));
    }
    let is_key = |i: &StoredIndex| i.primary || i.deferral != Deferral::Never;
    if stored.indexes.iter().any(|i| is_key(i) && !i.unique) {
        return Err(damaged("the index of a key is not unique"));
    }
    let primary = stored.indexes.iter().filter(|i| i.primary).count();
    if primary + usize::from(!stored.primary_key.is_empty()) > 1 {
        return Err(damaged("a table has two primary keys"));
    }
    let pairs = columns.iter().zip(stored.statistics);
    let statistics = TableStatistics {
        row_count: stored.row_count,
        leaf_pages: stored.leaf_pages,
        index_leaf_pages: stored.index_leaf_pages,
        column_bytes: vec![],
        is_remote: false,
        columns: pairs.map(|(c, s)| decode_statistics(c, s)).collect::<SqlResult<_>>()?,
    };
    let index = |i: StoredIndex| {
        let StoredIndex { id, name, columns, included, unique, hash, primary, deferral, orders } =
            i;
        let (id, method) = (IndexId(id), if hash { IndexMethod::Hash } else { IndexMethod::Tree });
        let orders = orders.into_iter().map(KeyOrder::of_bits).collect();
        Arc::new(IndexDef {
            id,
            name,
            columns,
            included,
            unique,
            method,
            primary,
            deferral,
            orders,
        })
    };
    Ok(TableDef {
        storage: TableStorage::Row,
        id: TableId(stored.id),
        name: stored.name,
        schema: Schema { columns },
        primary_key: stored.primary_key,
        indexes: stored.indexes.into_iter().map(index).collect(),
        statistics: Arc::new(statistics),
        constraints: Arc::new(stored.constraints),
    })
}

fn damaged(why: &str) -> SqlError {
    SqlError::new(SqlState::DATA_CORRUPTED, format!("the definition of a table is damaged: {why}"))
}

fn decode_column(column: StoredColumn) -> SqlResult<Column> {
    let parser = Parser::new(&PostgreSqlDialect {}).try_with_sql(&column.ty);
    let ty = parser.and_then(|mut p| p.parse_data_type()).map_err(|e| damaged(&e.to_string()))?;
    let ty = crate::parse::column_type(&ty)?;
    Ok(Column { name: column.name, ty, nullable: column.nullable })
}

/// JSON has no infinity and no NaN.
fn finite(number: f64) -> f64 {
    if number.is_finite() { number } else { 0.0 }
}

fn encode_statistics(statistics: &ColumnStatistics) -> Statistics {
    let common = statistics.most_common.iter();
    Statistics {
        null_fraction: finite(statistics.null_fraction),
        distinct_count: finite(statistics.distinct_count),
        min: statistics.min.as_ref().and_then(encode_value),
        max: statistics.max.as_ref().and_then(encode_value),
        histogram: statistics.histogram.iter().filter_map(encode_value).collect(),
        most_common: common.filter_map(|(v, s)| Some((encode_value(v)?, finite(*s)))).collect(),
        width: finite(statistics.width),
        correlation: finite(statistics.correlation),
    }
}

fn encode_value(value: &ScalarValue) -> Option<String> {
    let array = value.to_array().ok()?;
    format_value(&array, 0)
}

fn decode_statistics(column: &Column, stored: Statistics) -> SqlResult<ColumnStatistics> {
    let value = |text: String| decode_value(column, &text);
    let common = stored.most_common.into_iter();
    Ok(ColumnStatistics {
        null_fraction: stored.null_fraction,
        distinct_count: stored.distinct_count,
        min: stored.min.map(value).transpose()?,
        max: stored.max.map(value).transpose()?,
        histogram: stored.histogram.into_iter().map(value).collect::<SqlResult<_>>()?,
        most_common: common.map(|(v, s)| Ok((value(v)?, s))).collect::<SqlResult<_>>()?,
        width: stored.width,
        correlation: stored.correlation,
    })
}

fn decode_value(column: &Column, text: &str) -> SqlResult<ScalarValue> {
    // A value was checked against its column's length when it was stored.
    let ty = match column.ty {
        LogicalType::Varchar(_) | LogicalType::Char(_) => LogicalType::Text,
        other => other,
    };
    let mut parser = ColumnParser::new(&Column { ty, ..column.clone() });
    parser.push(Some(text)).map_err(|e| damaged(&e.message))?;
    let array = parser.finish();
    ScalarValue::try_from_array(&array, 0).map_err(crate::error::from_library)
}
