//! What the page tells about the server and its database.

use engine::{Database, Session, Statement, Template};
use serde_json::{Value, json};

use super::Sample;

/// Samples made up for a database that has none of its own.
const TABLE_COUNT_MAX: usize = 5;

/// The server in a few figures.
pub(crate) fn info(
    db: &Database,
    writes: bool,
    measures_device: bool,
    device_reads_per_s: Option<f64>,
) -> Value {
    json!({
        "version": env!("CARGO_PKG_VERSION"),
        "database": db.path().file_stem().map(|name| name.to_string_lossy()),
        "workers": db.worker_count(),
        "ring": db.file_backend(),
        "pool_bytes": db.pool().frames * db.page_bytes(),
        "file_bytes": db.page_count() * db.page_bytes() as u64,
        "writes": writes,
        "measures_device": measures_device,
        "device_reads_per_s": device_reads_per_s,
    })
}

/// The tables with their columns.
pub(crate) fn schema(db: &Database) -> Value {
    let table = |table: &engine::TableDef| {
        let column = |(at, column): (usize, &types::Column)| {
            let key = table.primary_columns().contains(&at);
            json!({ "name": column.name, "type": column.ty.to_string(), "key": key })
        };
        let columns: Vec<Value> = table.schema.columns.iter().enumerate().map(column).collect();
        let indexes: Vec<&str> = table.indexes.iter().map(|index| index.name.as_str()).collect();
        let rows = table.statistics.row_count;
        json!({ "name": table.name, "columns": columns, "indexes": indexes, "rows": rows })
    };
    Value::Array(db.tables().iter().map(|def| table(def)).collect())
}

/// The queries to begin with that can be planned here; a few simple ones when there are none.
pub(crate) async fn samples(session: &Session, samples: &[Sample]) -> Value {
    let mut found: Vec<Sample> = vec![];
    for sample in samples {
        if let Some(Statement::Query(query)) = one(&sample.sql)
            && session.describe(&query).await.is_ok()
        {
            found.push(sample.clone());
        }
    }
    if found.is_empty() {
        let tables = session.database().tables();
        found.extend(tables.iter().take(TABLE_COUNT_MAX).map(|table| Sample {
            title: format!("Rows of {}", table.name),
            sql: format!("select count(*) from \"{}\"", table.name.replace('"', "\"\"")),
        }));
    }
    let value = |sample: &Sample| json!({ "title": sample.title, "sql": sample.sql });
    Value::Array(found.iter().map(value).collect())
}

fn one(sql: &str) -> Option<Statement> {
    Template::all(sql).ok()?.pop()?.bind(&[]).ok()
}
