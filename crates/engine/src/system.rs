//! The system relations and functions: `pg_catalog` and `information_schema` over a snapshot of the
//! catalog, as one session sees it. Read only; rows are made up when a query asks for them.
//!
//! Names, columns, types and oids of relations are PostgreSQL 15's (`data/relations.txt`), and so are
//! the rows about what is built in. What the engine does not have is a relation without rows.

mod builtin;
mod constraints;
mod functions;
mod information_schema;
mod names;
mod objects;
mod pg_catalog;
mod relation;
mod rows;
mod source;
#[cfg(test)]
mod tests;
mod type_names;

use std::sync::{Arc, Mutex, PoisonError};

use sql::SystemFunction;
use sql::catalog::{Catalog, TableDef, TableId};
use types::{SqlError, SqlResult};

use crate::activity::Activities;
use crate::catalog::Snapshot;
use crate::database::Database;
use crate::settings::Settings;

pub(crate) use functions::preset;
pub(crate) use source::SystemSource;

/// The role of sessions that did not log in.
const EMBEDDED_USER: &str = "dovetail";

/// Who asks, for functions and relations that depend on it.
#[derive(Clone, Debug)]
pub(crate) struct SessionInfo {
    /// The role that the session runs as.
    pub(crate) user: String,
    /// The database's name.
    pub(crate) database: String,
    /// The session's number, in place of a process id.
    pub(crate) pid: i32,
}

impl SessionInfo {
    /// A session of an embedded database: its name is that of the file.
    pub(crate) fn new(db: &Database) -> SessionInfo {
        let database = db.path().file_stem().map(|name| name.to_string_lossy().into_owned());
        SessionInfo {
            user: EMBEDDED_USER.to_owned(),
            database: database.unwrap_or_default(),
            pid: std::process::id() as i32,
        }
    }
}

/// A snapshot of the catalog with the session that looks at it.
#[derive(Clone)]
pub(crate) struct SystemCatalog {
    view: Arc<View>,
}

/// What system relations and functions are made from.
pub(crate) struct View {
    pub(crate) snapshot: Arc<Snapshot>,
    pub(crate) session: SessionInfo,
    pub(crate) settings: Settings,
    /// Settings that functions change, for when the statement is done.
    pub(crate) changes: Mutex<Vec<(String, String)>>,
    /// When the statement began, in microseconds since 1970.
    pub(crate) now_us: i64,
    /// Bytes of a page of the database file.
    pub(crate) page_bytes: u64,
    pub(crate) monitor: Monitor,
}

/// Where what runs now can be seen. It holds no handle of the database, whose last one must not be
/// dropped on a worker.
pub(crate) struct Monitor {
    pub(crate) activities: Arc<Activities>,
    pub(crate) handle: runtime::Handle,
}

impl SystemCatalog {
    pub(crate) fn new(view: View) -> SystemCatalog {
        SystemCatalog { view: Arc::new(view) }
    }

    pub(crate) fn snapshot(&self) -> &Arc<Snapshot> {
        &self.view.snapshot
    }

    /// The settings that the statement changed by `set_config`.
    pub(crate) fn changes(&self) -> Vec<(String, String)> {
        std::mem::take(&mut *self.view.changes.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// The rows of a system relation, the columns at `ordinals`.
    pub(crate) fn source(&self, id: TableId, ordinals: &[usize]) -> SqlResult<SystemSource> {
        let relation = relation::by_id(id);
        let relation = relation.ok_or_else(|| SqlError::internal("no such system relation"))?;
        let rows = self.view.rows(relation)?;
        Ok(SystemSource::new(rows::batch(relation, &rows, ordinals)?))
    }
}

impl View {
    fn rows(&self, relation: &'static relation::Relation) -> SqlResult<Vec<rows::Row>> {
        let mut rows = rows::Rows::new(relation);
        match relation.schema {
            "information_schema" => information_schema::fill(self, &mut rows)?,
            _ => pg_catalog::fill(self, &mut rows)?,
        }
        Ok(rows.finish())
    }
}

impl Catalog for SystemCatalog {
    fn table(&self, name: &str) -> Option<Arc<TableDef>> {
        self.view.snapshot.table(name).ok().map(|entry| entry.def.clone())
    }

    fn view(&self, name: &str) -> Option<Arc<sql::ViewDef>> {
        Catalog::view(&*self.view.snapshot, name)
    }

    fn tables(&self) -> Vec<Arc<TableDef>> {
        Catalog::tables(&*self.view.snapshot)
    }

    fn system_table(&self, schema: &str, name: &str) -> Option<Arc<TableDef>> {
        relation::find(schema, name).map(|relation| relation.def.clone())
    }

    fn now_us(&self) -> Option<i64> {
        Some(self.view.now_us)
    }

    fn system_function(&self, name: &str) -> Option<SystemFunction> {
        functions::find(name, &self.view)
    }
}
