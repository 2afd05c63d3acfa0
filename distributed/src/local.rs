//! The database of this process: its tables, the partitions of them, and rows of fragments over
//! those.

use std::fmt;
use std::path::Path;
use std::sync::Arc;

use datafusion::common::{DataFusionError, Result, exec_datafusion_err};
use engine::{Database, DeviceChoice, DeviceProfile, Options, Partition, SqlError, TableDef};

/// The database of this process, read only. It stays open until the process ends: tasks of queries
/// that were given up may have the last handle, which must not go on a worker of the database
/// itself.
#[derive(Clone)]
pub struct Local {
    database: Database,
    state: State,
}

/// Which state of which database partitions were cut in. Copies of one file have the same: they
/// must not change while they are open, and are opened so.
#[derive(Clone, Copy, PartialEq, Eq, prost::Message)]
pub struct State {
    /// The number of the last checkpoint.
    #[prost(uint64, tag = "1")]
    pub checkpoint: u64,
    /// Pages of the file.
    #[prost(uint64, tag = "2")]
    pub pages: u64,
    /// Bytes of a page.
    #[prost(uint64, tag = "3")]
    pub page_bytes: u64,
    /// A fingerprint of the definitions and row counts of the tables.
    #[prost(uint64, tag = "4")]
    pub tables: u64,
}

impl fmt::Debug for Local {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Local({}, {:?})", self.database.path().display(), self.state)
    }
}

impl Local {
    /// Opens a file, which stays as it is.
    ///
    /// # Errors
    /// Those of opening: no file, another process has it, damage.
    pub fn open(path: &Path, memory_bytes: usize, workers: Option<usize>) -> Result<Local> {
        let mut options = Options { memory_bytes, unchanged: true, ..pg::options() };
        // Probing is for planners of statements, and there are none here.
        options.device = DeviceChoice::Fixed(DeviceProfile::default());
        options.workers = workers.unwrap_or(options.workers);
        let database = Database::open(path, options).map_err(failed)?;
        Ok(Local::of(database))
    }

    /// A database that is open already and does not change.
    pub fn of(database: Database) -> Local {
        let state = State {
            checkpoint: database.checkpoint_number(),
            pages: database.page_count(),
            page_bytes: database.page_bytes() as u64,
            tables: fingerprint(&database.tables()),
        };
        std::mem::forget(database.clone());
        Local { database, state }
    }

    /// The database.
    pub fn database(&self) -> &Database {
        &self.database
    }

    /// Its state.
    pub fn state(&self) -> State {
        self.state
    }

    /// The table of this name.
    ///
    /// # Errors
    /// There is none.
    pub fn table(&self, name: &str) -> Result<Arc<TableDef>> {
        let tables = self.database.tables();
        let found = tables.into_iter().find(|table| table.name == name);
        found.ok_or_else(|| exec_datafusion_err!("this node has no table \"{name}\""))
    }

    /// So many partitions of a table.
    ///
    /// # Errors
    /// Those of the database.
    pub async fn partitions(&self, table: &str, count: usize) -> Result<Vec<Partition>> {
        let (database, table) = (self.database.clone(), table.to_owned());
        let task = self.database.runtime_handle().spawn_on(0, move || async move {
            let session = database.session();
            session.partitions(&table, count).await
        });
        let partitions = task.await;
        partitions.map_err(|aborted| exec_datafusion_err!("{aborted}"))?.map_err(failed)
    }
}

/// An error of the database in the library's words; its state and hint stay in the text.
pub fn failed(error: SqlError) -> DataFusionError {
    DataFusionError::Execution(error.to_string())
}

/// FNV-1a over what tables are: it is compared between processes, of which each has random seeds of
/// its own.
fn fingerprint(tables: &[Arc<TableDef>]) -> u64 {
    let text = |table: &Arc<TableDef>| {
        format!("{:?}{}{:?}{}", table.id, table.name, table.schema, table.statistics.row_count)
    };
    let bytes = tables.iter().flat_map(|table| text(table).into_bytes());
    bytes.fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    })
}
