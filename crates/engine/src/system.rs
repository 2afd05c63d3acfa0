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
mod owners;
mod pg_catalog;
mod relation;
mod results;
mod rows;
mod sequences;
mod session_info;
mod sleep;
mod source;
#[cfg(test)]
mod tests;
mod type_names;

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError};

use exec::Governor;
use runtime::sync::Cancel;
use sql::catalog::{Catalog, NextNumber, TableDef, TableId};
use sql::parse::Privilege;
use sql::plan::Scan;
use sql::{Query, SystemFunction};
use types::{SqlError, SqlResult};

use crate::access;
use crate::activity::Activities;
use crate::advisory::Wish;
use crate::catalog::Snapshot;
use crate::cursors::Cursors;
use crate::database::Database;
use crate::files::{FileSource, FileTables};
use crate::lent::{LentSource, LentTables};
use crate::notifications::Mailbox;
use crate::objects::Room;
use crate::settings::Settings;
use crate::statements::Statements;
use crate::versions::Versions;

pub(crate) use constraints::{next_of, numbered_by};
pub(crate) use functions::{Generator, Given, LastNumbers};
pub(crate) use names::quote_ident;
pub(crate) use results::Results;
pub(crate) use session_info::SessionInfo;
pub(crate) use sleep::Sleep;
pub(crate) use source::SystemSource;

impl Database {
    /// The names of all functions, aggregates and window functions that statements may call.
    pub fn function_names() -> BTreeSet<String> {
        let mut names = sql::function_names();
        names.extend(functions::names().map(str::to_owned));
        names
    }
}

/// Relations with what not everybody should know.
pub(crate) const SUPERUSERS_ONLY: [&str; 2] = ["pg_authid", "pg_shadow"];

/// Whether the system catalog has a relation of this name.
pub(crate) fn is_system_relation(name: &str) -> bool {
    is_relation_of("pg_catalog", name)
}

/// Whether one of the system's own schemas has a relation of this name.
pub(crate) fn is_relation_of(schema: &str, name: &str) -> bool {
    relation::find(schema, name).is_some()
}

/// A snapshot of the catalog with the session that looks at it.
#[derive(Clone)]
pub(crate) struct SystemCatalog {
    view: Arc<View>,
    /// What parts of the statement have given.
    results: Arc<Results>,
    /// The files that it reads.
    files: Arc<FileTables>,
}

/// What system relations and functions are made from.
pub(crate) struct View {
    pub(crate) snapshot: Arc<Snapshot>,
    pub(crate) session: SessionInfo,
    pub(crate) settings: Settings,
    pub(crate) statements: Arc<Statements>,
    pub(crate) cursors: Arc<Cursors>,
    /// The session's random numbers; `None` until the first one.
    pub(crate) chance: Arc<Mutex<Option<Generator>>>,
    /// The numbers that sequences gave the session last.
    pub(crate) numbers: Arc<LastNumbers>,
    /// What the session tells others when its transaction commits.
    pub(crate) mailbox: Arc<Mailbox>,
    /// Rows of the program that has the session.
    pub(crate) lent: Arc<LentTables>,
    /// The sequences of which a crash would forget what they gave out.
    pub(crate) given: Mutex<Vec<Given>>,
    /// Whether the session is in a transaction block.
    pub(crate) in_block: bool,
    /// Whether functions with an effect are refused.
    pub(crate) reads_only: bool,
    /// What `pg_sleep` asked for.
    pub(crate) sleep: Sleep,
    /// The session's number among those of the database.
    pub(crate) session_id: u64,
    /// Advisory locks that the statement has to wait for before it goes on.
    pub(crate) wishes: Mutex<Vec<Wish>>,
    /// Settings that functions change, for when the statement is done.
    pub(crate) changes: Mutex<Vec<SettingChange>>,
    /// When the statement began, in microseconds since 1970.
    pub(crate) now_us: i64,
    /// Memory for what is known before there is a plan.
    pub(crate) governor: Governor,
    /// Bytes of a page of the database file.
    pub(crate) page_bytes: u64,
    /// The number of the last checkpoint: it rises with what all see.
    pub(crate) checkpoint: u64,
    pub(crate) monitor: Monitor,
}

/// What `set_config` asked for.
pub(crate) struct SettingChange {
    pub(crate) name: String,
    pub(crate) value: String,
    /// For the transaction only.
    pub(crate) is_local: bool,
}

/// Where what runs now can be seen. It holds no handle of the database, whose last one must not be
/// dropped on a worker.
pub(crate) struct Monitor {
    pub(crate) activities: Arc<Activities>,
    pub(crate) handle: runtime::Handle,
    pub(crate) versions: Arc<Versions>,
}

impl SystemCatalog {
    pub(crate) fn new(view: View) -> SystemCatalog {
        SystemCatalog { view: Arc::new(view), results: Arc::default(), files: Arc::default() }
    }

    /// The same with what parts of the statement have given.
    pub(crate) fn with_results(&self, results: Arc<Results>) -> SystemCatalog {
        SystemCatalog { results, ..self.clone() }
    }

    /// Opens the files that a query names, so that it can be planned.
    ///
    /// # Errors
    /// 42501 for who may not read files of the server, and those of the files.
    pub(crate) async fn open_files(&self, query: &Query, cancel: &Cancel) -> SqlResult<()> {
        for call in query.files() {
            access::read_files(self.snapshot(), self.role())?;
            self.files.open(&self.view, &call, cancel).await?;
        }
        Ok(())
    }

    /// Whether the statement reads the file of this path.
    pub(crate) fn reads_file(&self, path: &str) -> bool {
        self.files.reads(path)
    }

    /// What gives the rows of a scan of files, downloads counted in `room`; `None` of other scans.
    pub(crate) fn file_source(
        &self,
        scan: &Scan,
        room: impl FnOnce() -> Arc<Room>,
    ) -> Option<SqlResult<FileSource>> {
        self.files.source(scan, room)
    }

    /// What gives the rows of a scan of a lent relation; `None` of other scans.
    pub(crate) fn lent_source(&self, scan: &Scan) -> Option<SqlResult<LentSource>> {
        self.view.lent.source(scan)
    }

    pub(crate) fn snapshot(&self) -> &Arc<Snapshot> {
        &self.view.snapshot
    }

    /// The role that asks.
    pub(crate) fn role(&self) -> access::RoleId {
        self.view.session.role
    }

    /// Waits for what functions of the statement have asked for: time, and advisory locks.
    ///
    /// # Errors
    /// 40P01 for a lock that would never be free.
    pub(crate) async fn pay(&self) -> SqlResult<()> {
        self.view.sleep.pay().await;
        let wishes = || self.view.wishes.lock().unwrap_or_else(PoisonError::into_inner);
        let wanted = std::mem::take(&mut *wishes());
        for wish in wanted {
            self.view.monitor.activities.locks.obtain(self.view.session_id, wish).await?;
        }
        Ok(())
    }

    /// The sequences that gave numbers out of which a crash would not know.
    pub(crate) fn given(&self) -> Vec<Given> {
        std::mem::take(&mut *self.view.given.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// The settings that the statement changed by `set_config`.
    pub(crate) fn changes(&self) -> Vec<SettingChange> {
        std::mem::take(&mut *self.view.changes.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// The rows of a system relation, the columns at `ordinals`.
    pub(crate) fn source(&self, id: TableId, ordinals: &[usize]) -> SqlResult<SystemSource> {
        if let Some(rows) = self.results.rows(id, ordinals) {
            return rows.map(SystemSource::new);
        }
        let relation = relation::by_id(id);
        let relation = relation.ok_or_else(|| SqlError::internal("no such system relation"))?;
        let rows = self.view.rows(relation)?;
        Ok(SystemSource::new(rows::batch(relation, &rows, ordinals)?))
    }
}

impl View {
    /// Whether the role may see what others run.
    fn sees_all_statistics(&self) -> bool {
        self.snapshot.access.has_privileges_of(self.session.role, access::READ_ALL_STATS)
    }

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
        let own = self.view.snapshot.table(name).ok().map(|entry| entry.current());
        own.or_else(|| self.view.lent.table(name))
    }

    fn view(&self, name: &str) -> Option<Arc<sql::ViewDef>> {
        let view = Catalog::view(&*self.view.snapshot, name);
        view.or_else(|| self.view.sequence_as_view(name))
    }

    fn view_oid(&self, name: &str) -> Option<u32> {
        let views = self.view.user_views();
        let (oid, _) = views.into_iter().find(|(_, view)| view.name == name)?;
        u32::try_from(oid).ok()
    }

    fn system_type(&self, table: &TableDef, column: usize) -> Option<u32> {
        relation::by_id(table.id)?.columns.get(column)?.told_oid()
    }

    fn tables(&self) -> Vec<Arc<TableDef>> {
        Catalog::tables(&*self.view.snapshot)
    }

    fn system_table(&self, schema: &str, name: &str) -> Option<Arc<TableDef>> {
        match schema {
            sql::parse::RESULTS_SCHEMA => self.results.table(name),
            sql::FILES_SCHEMA => self.files.table(name),
            _ => relation::find(schema, name).map(|relation| relation.def.clone()),
        }
    }

    fn now_us(&self) -> Option<i64> {
        Some(self.view.now_us)
    }

    fn check_read(&self, name: &str, is_system: bool, within: Option<&str>) -> SqlResult<()> {
        let (snapshot, role) = (&self.view.snapshot, self.view.session.role);
        if is_system {
            return match SUPERUSERS_ONLY.contains(&name) && !snapshot.access.is_superuser(role) {
                true => Err(access::denied("table", name)),
                false => Ok(()),
            };
        }
        // A view reads as its owner.
        let role = match within {
            Some(view) => snapshot.acl(view)?.owner,
            None => role,
        };
        access::relation(snapshot, role, name, Privilege::Select)
    }

    fn numbers_of(&self, table: &TableDef, ordinal: usize) -> Option<NextNumber> {
        let mut next = self.view.snapshot.numbers_of(table, ordinal)?;
        let (oid, last) = (sequences::oid_of_column(table, ordinal), self.view.numbers.clone());
        Some(Box::new(move || next().inspect(|number| last.note(oid, *number))))
    }

    fn system_function(&self, name: &str) -> Option<SystemFunction> {
        functions::find(name, &self.view)
    }
}
