//! The columns of Parquet files.

use std::sync::Arc;

use arrow_schema::Field;
use parquet::basic::LogicalType as StoredType;
use parquet::schema::types::SchemaDescriptor;
use plan::catalog::TableStatistics;
use runtime::sync::Cancel;
use sql::FileCall;
use txn::waiting::{Beside, all, give_way};
use types::{LogicalType, SqlResult};

use super::footer::ParquetFile;
use crate::files::columns::{ColumnType, FileColumn, Origin};
use crate::files::file::{Content, Described, File};
use crate::files::found::Found;
use crate::files::hive::Partitions;
use crate::files::{convert, options};
use crate::objects::tally::Tally;

/// Files that are opened at once: enough to hide the round trips to a store behind each other.
pub(crate) const OPENED_AT_ONCE: usize = 32;

/// Opens the files of a call; the first one says which columns there are.
pub(crate) async fn describe(
    call: &FileCall,
    found: &[Found],
    cancel: &Cancel,
) -> SqlResult<Described> {
    options::check_known(call, &["hive_partitioning"])?;
    let partitions = Partitions::of(call, found)?;
    let (mut files, tally): (Vec<ParquetFile>, _) = (vec![], Tally::default());
    for some in found.chunks(OPENED_AT_ONCE) {
        give_way(cancel).await?;
        let open = |found| -> Beside<'_, ParquetFile> {
            Box::pin(super::footer::open(found, &tally, cancel))
        };
        for file in all(some.iter().map(open).collect()).await? {
            match files.first() {
                None => files.push(file),
                Some(first) => files.push(file.in_order_of(first)?),
            }
        }
    }
    let columns = partitions.columns(files.first().map(ParquetFile::columns).unwrap_or_default());
    let statistics = statistics(&columns, &files);
    let files = files.into_iter().zip(partitions.values());
    let files =
        files.map(|(file, parts)| File { parts, content: Content::Parquet(Arc::new(file)) });
    Ok(Described { columns, files: files.collect(), statistics })
}

pub(crate) fn statistics(columns: &[FileColumn], files: &[ParquetFile]) -> TableStatistics {
    let bytes_of = |column: &FileColumn| match column.origin {
        Origin::Path(_) => 0,
        Origin::Stored(number) => files.iter().map(|file| file.bytes_of(number)).sum(),
    };
    TableStatistics {
        row_count: files.iter().map(ParquetFile::row_count).sum(),
        column_bytes: columns.iter().map(bytes_of).collect(),
        ..TableStatistics::default()
    }
}

/// The type of a column.
pub(crate) fn type_of(field: &Field, schema: &SchemaDescriptor) -> ColumnType {
    let group = schema.root_schema().get_fields();
    let stored = group.iter().find(|stored| stored.name() == field.name());
    let is_uuid = stored.is_some_and(|stored| {
        stored.get_basic_info().logical_type_ref() == Some(&StoredType::Uuid)
    });
    match convert::logical(field.data_type()) {
        Some(LogicalType::Bytea) if is_uuid => ColumnType::Known(LogicalType::Uuid),
        Some(ty) => ColumnType::Known(ty),
        None => ColumnType::Unknown(convert::name_of_unknown(field.data_type())),
    }
}
