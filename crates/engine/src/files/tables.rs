//! The files that a statement reads, as tables.

use std::sync::{Arc, Mutex, PoisonError};

use plan::Scan;
use plan::catalog::{TableDef, TableId, TableStorage};
use runtime::sync::Cancel;
use sql::{FileCall, FileFormat};
use types::{Schema, SqlError, SqlResult, SqlState};

use super::columns::FileColumn;
use super::file::{Described, File};
use super::source::FileSource;
use crate::objects::room::Room;
use crate::system::view::SessionView;

/// Ids from this one on are those of files: no system relation and no part of a statement has so high
/// a number.
pub(crate) const FIRST_ID: u32 = TableId::SYSTEM + (3 << 29);

/// The files that a statement reads, by its calls.
#[derive(Debug, Default)]
pub(crate) struct FileTables(Mutex<Vec<(FileCall, Arc<FileTable>)>>);

/// Files that are read as one relation.
#[derive(Debug)]
pub(crate) struct FileTable {
    pub(crate) def: Arc<TableDef>,
    pub(crate) columns: Vec<FileColumn>,
    pub(crate) files: Vec<File>,
}

impl FileTables {
    /// Opens the files of a call, unless the statement has done so.
    ///
    /// # Errors
    /// 58P01 and others for files that cannot be read, 22P04 for damaged ones, 22023 for unknown options, 53200 when
    /// there is no memory for what is known of them.
    pub(crate) async fn open(
        &self,
        view: &SessionView,
        call: &FileCall,
        cancel: &Cancel,
    ) -> SqlResult<()> {
        let snapshot = &view.snapshot;
        if self.find(call).is_some() {
            return Ok(());
        }
        let found = async || super::paths::expand(&call.paths, snapshot, cancel).await;
        let described = match call.format {
            FileFormat::Parquet => {
                super::parquet::describe::describe(call, &found().await?, cancel).await?
            }
            FileFormat::Csv => {
                super::csv::describe::describe(call, &found().await?, cancel).await?
            }
            FileFormat::Iceberg => super::iceberg::describe::describe(call, view, cancel).await?,
        };
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let table = FileTable::new(known.len() as u32, call, described)?;
        known.push((call.clone(), Arc::new(table)));
        Ok(())
    }

    fn find(&self, call: &FileCall) -> Option<Arc<FileTable>> {
        let known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        known.iter().find(|(other, _)| other == call).map(|(_, table)| table.clone())
    }

    /// The relation of this name, when its files are open.
    pub(crate) fn table(&self, name: &str) -> Option<Arc<TableDef>> {
        Some(self.find(&FileCall::of_relation(name)?)?.def.clone())
    }

    /// Whether the statement reads the file of this path.
    pub(crate) fn reads(&self, path: &str) -> bool {
        let known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        known.iter().any(|(_, table)| table.files.iter().any(|file| file.path() == path))
    }

    /// What gives the rows of a scan, downloads counted in `room`; `None` of what is no file.
    pub(crate) fn source(
        &self,
        scan: &Scan,
        room: impl FnOnce() -> Arc<Room>,
    ) -> Option<SqlResult<FileSource>> {
        let number = scan.table.id.0.checked_sub(FIRST_ID)?;
        let known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let (_, table) = known.get(number as usize)?;
        let room = table.files.iter().any(File::wants_room).then(room);
        Some(FileSource::new(table.clone(), scan, room))
    }
}

impl FileTable {
    fn new(number: u32, call: &FileCall, described: Described) -> SqlResult<FileTable> {
        let Described { columns, files, statistics } = described;
        let schema = Schema { columns: columns.iter().map(FileColumn::declared).collect() };
        if let Some(twice) = super::columns::named_twice(&schema) {
            let message = format!("column \"{twice}\" specified more than once");
            return Err(SqlError::new(SqlState::DUPLICATE_COLUMN, message)
                .with_context(format!("file \"{}\"", call.paths.join("\", \""))));
        }
        let quoted: Vec<String> = call.paths.iter().map(|path| format!("'{path}'")).collect();
        let def = TableDef {
            id: TableId(FIRST_ID + number),
            name: format!("{}({})", call.format.function(), quoted.join(", ")),
            schema,
            // Its source tests conditions, as that of chunks of columns does.
            storage: TableStorage::Column,
            primary_key: vec![],
            indexes: vec![],
            statistics: Arc::new(statistics),
            constraints: Arc::default(),
        };
        Ok(FileTable { def: Arc::new(def), columns, files })
    }
}
