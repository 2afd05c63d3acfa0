//! A Parquet file that is read as a table.

use std::sync::Arc;

use arrow_schema::Field;
use parquet::basic::LogicalType as StoredType;
use parquet::schema::types::{SchemaDescriptor, Type};
use runtime::sync::Cancel;
use sql::FileCall;
use sql::catalog::TableStatistics;
use types::{LogicalType, SqlError, SqlResult, SqlState};

use super::footer::ParquetFile;
use crate::files::columns::{ColumnType, FileColumn, Origin};
use crate::files::file::{Content, Described, File};
use crate::files::found::Found;
use crate::files::hive::Partitions;
use crate::files::{convert, options};
use crate::objects::tally::Tally;
use crate::waiting::{Beside, all, give_way};

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

impl ParquetFile {
    /// Its columns.
    fn columns(&self) -> Vec<FileColumn> {
        let fields = self.fields().iter().enumerate();
        let column = |(number, field): (usize, &Arc<Field>)| FileColumn {
            name: field.name().clone(),
            ty: type_of(field, self.schema()),
            origin: Origin::Stored(number),
        };
        fields.map(column).collect()
    }

    /// Its columns, with the ids that they have in tables of Iceberg.
    pub(crate) fn roots(&self) -> Vec<(Option<i32>, FileColumn)> {
        let stored = self.schema().root_schema().get_fields();
        let id = |stored: &Arc<Type>| {
            let info = stored.get_basic_info();
            info.has_id().then(|| info.id())
        };
        stored.iter().map(id).zip(self.columns()).collect()
    }

    /// The file with these of its columns, in this order.
    pub(crate) fn with_columns(self, places: Vec<usize>) -> ParquetFile {
        ParquetFile { places, ..self }
    }

    /// The file with its columns in the order of another one's.
    ///
    /// # Errors
    /// 42804 when it has not all of them with the same types.
    fn in_order_of(mut self, first: &ParquetFile) -> SqlResult<ParquetFile> {
        let (own, theirs, path) = (self.columns(), first.columns(), self.found.path.clone());
        let differs = |what: String| {
            let message =
                format!("file \"{path}\" has other columns than \"{}\"", first.found.path);
            SqlError::new(SqlState("42804"), message).with_detail(what)
        };
        let place = |column: &FileColumn| {
            let found = own.iter().position(|other| other.name == column.name);
            let found =
                found.ok_or_else(|| differs(format!("It has no column \"{}\".", column.name)))?;
            match own[found].ty == column.ty {
                true => Ok(found),
                false => Err(differs(format!("Column \"{}\" has another type.", column.name))),
            }
        };
        let places = theirs.iter().map(place).collect::<SqlResult<Vec<_>>>()?;
        self.places = places;
        Ok(self)
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
