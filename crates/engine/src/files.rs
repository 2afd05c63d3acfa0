//! Files of the server and objects of stores as relations: Parquet and CSV, by paths that may have wildcards, and
//! tables of Iceberg.
//!
//! A statement opens the files that its query names before the query is planned: their columns, and of
//! Parquet files what is said at their ends. Rows are read when the plan runs, a few at a time. What is in
//! a file is never trusted: neither a length nor a count that it claims.

pub(crate) mod columns;
pub(crate) mod convert;
pub(crate) mod csv;
pub(crate) mod found;
pub(crate) mod given;
pub(crate) mod hive;
pub(crate) mod iceberg;
pub(crate) mod options;
pub(crate) mod parquet;
pub(crate) mod paths;
pub(crate) mod restrict;
pub(crate) mod source;

use std::sync::{Arc, Mutex, PoisonError};

use runtime::sync::Cancel;
use sql::catalog::{TableDef, TableId, TableStatistics, TableStorage};
use sql::plan::Scan;
use sql::{FileCall, FileFormat};
use types::{Schema, SqlError, SqlResult, SqlState};

use crate::objects::path::is_object;
use crate::objects::room::Room;
use crate::system::view::SessionView;
use columns::FileColumn;

use source::FileSource;

/// Ids from this one on are those of files: no system relation and no part of a statement has so high
/// a number.
const FIRST_ID: u32 = TableId::SYSTEM + (3 << 29);

/// The files that a statement reads, by its calls.
#[derive(Debug, Default)]
pub(crate) struct FileTables(Mutex<Vec<(FileCall, Arc<FileTable>)>>);

/// Files that are read as one relation.
#[derive(Debug)]
pub(crate) struct FileTable {
    def: Arc<TableDef>,
    columns: Vec<FileColumn>,
    files: Vec<File>,
}

/// One of them.
#[derive(Debug)]
struct File {
    /// What its path says of its rows, for each column that is there alone.
    parts: Vec<Option<String>>,
    content: Content,
}

/// What is known of a file's content.
#[derive(Debug)]
enum Content {
    Parquet(Arc<parquet::footer::ParquetFile>),
    Csv(Box<csv::CsvFile>),
    Iceberg(Box<iceberg::TableFile>),
}

impl File {
    fn path(&self) -> &str {
        match &self.content {
            Content::Parquet(file) => &file.found.path,
            Content::Csv(file) => &file.found.path,
            Content::Iceberg(file) => file.path(),
        }
    }

    /// Whether memory of a scan is counted for it: that of downloads, and of deletes.
    fn wants_room(&self) -> bool {
        match &self.content {
            Content::Iceberg(file) => is_object(file.path()) || file.has_deletes(),
            _ => is_object(self.path()),
        }
    }
}

/// What a format tells of its files.
struct Described {
    columns: Vec<FileColumn>,
    files: Vec<File>,
    statistics: TableStatistics,
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
        let found = async || paths::expand(&call.paths, snapshot, cancel).await;
        let described = match call.format {
            FileFormat::Parquet => parquet::describe(call, &found().await?, cancel).await?,
            FileFormat::Csv => csv::describe(call, &found().await?, cancel).await?,
            FileFormat::Iceberg => iceberg::describe(call, view, cancel).await?,
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
        if let Some(twice) = columns::named_twice(&schema) {
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

/// What is wrong with a file.
fn damaged(format: &str, path: &str, why: impl Into<String>) -> SqlError {
    let message = format!("file \"{path}\" is not a valid {format} file");
    SqlError::new(SqlState::BAD_COPY_FILE_FORMAT, message).with_detail(why)
}
