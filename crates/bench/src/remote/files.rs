//! The tables as Parquet, by the library and not by `COPY`, which keeps its row groups small; and one with a
//! single row group against the same rows in many.

use std::fs::File;
use std::path::Path;

use arrow_schema::SchemaRef;
use engine::{SqlError, SqlResult};
use parquet::arrow::ArrowWriter;
use parquet::basic::Compression;
use parquet::errors::ParquetError;
use parquet::file::properties::{EnabledStatistics, WriterProperties};

use super::queries::{ratios, timed};
use super::sides::{BUCKET, Side, Sides};
use super::{Wish, failed, wrong};
use crate::figure::Figure;
use crate::tpch::{self, TABLES, TableSchema};

/// Rows of a group of DuckDB's own files.
const GROUP_ROWS: usize = 122_880;

/// Groups of the file that the single one is compared with.
const GROUPS: usize = 300;

/// Writes all tables; the name of each and that of its object.
pub(super) fn write_all(
    scale: f64,
    side: &Side,
    objects: &Path,
) -> SqlResult<Vec<(String, String)>> {
    std::fs::create_dir_all(objects.join("parquet")).map_err(failed)?;
    let mut written = vec![];
    for table in &TABLES {
        let name = format!("parquet/{}.parquet", table.name);
        write(table, scale, side, &objects.join(&name), properties(GROUP_ROWS, true))?;
        written.push((table.name.to_owned(), name));
    }
    Ok(written)
}

/// Files with an index of their pages, or without one, as most writers leave them.
fn properties(group_rows: usize, is_indexed: bool) -> WriterProperties {
    let statistics = match is_indexed {
        true => EnabledStatistics::Page,
        false => EnabledStatistics::Chunk,
    };
    WriterProperties::builder()
        .set_compression(Compression::SNAPPY)
        .set_max_row_group_row_count(Some(group_rows.max(1)))
        .set_statistics_enabled(statistics)
        .set_offset_index_disabled(!is_indexed)
        .build()
}

fn write(
    table: &TableSchema,
    scale: f64,
    side: &Side,
    path: &Path,
    properties: WriterProperties,
) -> SqlResult<()> {
    let def = side.db.tables().into_iter().find(|def| def.name == table.name);
    let def = def.ok_or_else(|| SqlError::internal("the table was loaded"))?;
    let schema: SchemaRef = def.schema.arrow();
    let told = |error: ParquetError| wrong(error.to_string());
    let file = File::create(path).map_err(failed)?;
    let mut writer = ArrowWriter::try_new(file, schema.clone(), Some(properties)).map_err(told)?;
    tpch::generate(table.table, scale, (1, 1), &schema, |batch| writer.write(&batch))
        .map_err(told)?;
    writer.close().map(drop).map_err(told)
}

/// Whether all files have the rows of the local table.
pub(super) fn run(
    wish: &Wish,
    sides: &mut Sides,
    objects: &Path,
    emit: &mut impl FnMut(Figure),
) -> SqlResult<bool> {
    std::fs::create_dir_all(objects.join("groups")).map_err(failed)?;
    let table = TABLES.iter().find(|table| table.name == "lineitem");
    let table = table.ok_or_else(|| SqlError::internal("there is a lineitem"))?;
    let rows = tpch::row_count(table.table, wish.scale) as usize;
    let many = ("many", rows.div_ceil(GROUPS), true);
    let files = [many, ("one", usize::MAX, true), ("one_without_index", usize::MAX, false)];
    for (name, group_rows, is_indexed) in files {
        let path = objects.join(format!("groups/{name}.parquet"));
        write(table, wish.scale, &sides.local, &path, properties(group_rows, is_indexed))?;
    }
    let mut right = true;
    for number in [1, 6] {
        let text = tpch::query(number, wish.scale);
        let text = text.ok_or_else(|| SqlError::internal("the query exists"))?;
        let mut times = [vec![], vec![], vec![]];
        for turn in 0..=wish.runs {
            let (expected, _) = timed(&mut sides.local.session, &text)?;
            for ((name, ..), times) in files.iter().zip(&mut times) {
                let object = format!("'s3://{BUCKET}/groups/{name}.parquet'");
                let text = text.replace("lineitem", &object);
                let (found, run) = timed(&mut sides.remote.session, &text)?;
                if found != expected {
                    eprintln!("FAILED  q{number:02} of {name}.parquet: other rows");
                    right = false;
                }
                if turn > 0 {
                    times.push(run.ms);
                }
            }
        }
        let [many, others @ ..] = &times;
        let figure = |name: &str, unit, values: &[f64]| {
            Figure::of(format!("parquet.q{number:02}.{name}"), unit, values)
        };
        emit(figure("many", "ms", many).with_detail(format!("{GROUPS} row groups")));
        for ((name, ..), times) in files[1..].iter().zip(others) {
            emit(figure(name, "ms", times));
            let over = figure(&format!("{name}.over_many"), "x", &ratios(times, many));
            emit(over.with_detail("bound 1.3"));
        }
    }
    Ok(right)
}
