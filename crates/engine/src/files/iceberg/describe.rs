//! The columns of a table of Iceberg.

use std::sync::Arc;

use iceberg::{Content as Kind, DataFile, Deletes};
use plan::catalog::TableStatistics;
use runtime::sync::Cancel;
use sql::FileCall;
use types::SqlResult;

use super::file::TableFile;
use super::lake::{Lake, Reader};
use crate::files::columns::{ColumnType, FileColumn, Origin};
use crate::files::file::{Content, Described, File};
use crate::files::options;
use crate::system::view::SessionView;

pub(crate) const OPTIONS: [&str; 8] = [
    "allow_moved_paths",
    "catalog",
    "catalog_prefix",
    "snapshot_from_id",
    "snapshot_from_timestamp",
    "vended_credentials",
    "version",
    "warehouse",
];

/// The columns and data files of a table.
///
/// # Errors
/// 58P01 for files that are missing, XX001 for damaged ones, 0A000 for what is not read, 22023 for a snapshot that
/// there is not, 53200 when there is no memory for the metadata, 54000 when it is more than is read.
pub(crate) async fn describe(
    call: &FileCall,
    view: &SessionView,
    cancel: &Cancel,
) -> SqlResult<Described> {
    options::check_known(call, &OPTIONS)?;
    let memory = view.governor.without_plan().reserve("metadata of a table of Iceberg");
    let (snapshot, vended) = (view.snapshot.clone(), Arc::default());
    let reader = Reader { snapshot, vended, memory, cancel };
    let mut lake = super::versions::open(call, &reader).await?;
    let reader = Reader { vended: lake.vended.clone(), ..reader };
    let mut data = vec![];
    if let Some(list) = lake.manifest_list.clone() {
        let files = super::planning::files_of(&lake, &list, &reader).await?;
        let (deletes, rows): (Vec<_>, Vec<_>) =
            files.into_iter().partition(|file| file.content != Kind::Data);
        lake.deletes = Deletes::new(deletes, &lake.metadata).map_err(|e| lake.fault(&list, &e))?;
        data = rows;
    }
    let lake = Arc::new(lake);
    let columns = columns(&lake);
    let row_count = data.iter().map(|file| file.record_count).fold(0, u64::saturating_add);
    let statistics = TableStatistics { row_count, ..TableStatistics::default() };
    let file = |data: DataFile| {
        let path = lake.resolve(&data.path)?;
        let file = TableFile { lake: lake.clone(), data, path };
        Ok(File { parts: vec![], content: Content::Iceberg(Box::new(file)) })
    };
    let files = data.into_iter().map(file).collect::<SqlResult<Vec<_>>>()?;
    Ok(Described { columns, files, statistics })
}

pub(crate) fn columns(lake: &Lake) -> Vec<FileColumn> {
    let column = |(number, field): (usize, &iceberg::Field)| FileColumn {
        name: field.name.clone(),
        ty: match super::values::logical(&field.ty) {
            Ok(ty) => ColumnType::Known(ty),
            Err(stored) => ColumnType::Unknown(stored.to_owned()),
        },
        origin: Origin::Stored(number),
    };
    lake.schema.fields.iter().enumerate().map(column).collect()
}
