//! What a database has beside its users' objects, and who brings it: the system's relations and functions.
//!
//! The engine has none of its own. Whoever opens a database hands in [`SystemSchemas`]
//! ([`crate::options::Options::new`]); `pg` has those of PostgreSQL. A statement asks them by name, and for rows when
//! a scan runs, with a [`SessionView`]: what it sees of its session, of the catalog and of what runs.

#[cfg(test)]
pub(crate) mod few;
pub(crate) mod results;
pub(crate) mod sleep;
pub(crate) mod source;
pub(crate) mod view;

use std::fmt;
use std::sync::Arc;

use arrow_array::RecordBatch;
use runtime::sync::Cancel;
use sql::catalog::{Catalog, NextNumber, TableDef, TableId};
use sql::parse::Privilege;
use sql::plan::Scan;
use sql::{Query, SystemFunction, ViewDef};
use types::SqlResult;

use crate::catalog::{SequenceKey as Key, Snapshot};
use crate::files::FileTables;
use crate::files::source::FileSource;
use crate::lent::LentSource;
use crate::numbers::Given;
use crate::objects::room::Room;

pub use crate::access::acl::{Acl, AclItem, ON_DATABASES, ON_RELATIONS, ON_SCHEMAS, ON_SEQUENCES};
pub use crate::access::check::denied;
pub use crate::access::roles::{DATABASE_OWNER, READ_ALL_STATS, SIGNAL_BACKEND};
pub use crate::access::{Access, Membership, PUBLIC, Relation as OwnedRelation, Role, RoleId};
pub use crate::activity::Signals;
pub use crate::advisory::{Key as AdvisoryKey, Shown as AdvisoryShown, Wish as AdvisoryWish};
pub use crate::catalog::SequenceKey;
pub use crate::comments::Subject;
pub use crate::locks::{LockMode, LockShown, RightKind, ShownLock};
pub use storage::TreeId;
pub use view::{SessionView, SettingChange};

pub(crate) use results::Results;
pub(crate) use source::SystemSource;

use crate::access;

/// The system's relations and functions. One value serves all sessions, from any thread.
pub trait SystemSchemas: fmt::Debug + Send + Sync {
    /// The relation `name` of the schema `schema`, as the planner knows it. Its id is at least
    /// [`TableId::SYSTEM`], and the same at each call; ids from 2³⁰ above that are the engine's own.
    fn relation(&self, schema: &str, name: &str) -> Option<Arc<TableDef>>;

    /// Whether only superusers may read the relation of this name.
    fn is_for_superusers(&self, name: &str) -> bool;

    /// The rows of a relation by its id, the columns at `ordinals`.
    ///
    /// # Errors
    /// XX000 when there is no such relation.
    fn rows(
        &self,
        view: &Arc<SessionView>,
        id: TableId,
        ordinals: &[usize],
    ) -> SqlResult<RecordBatch>;

    /// The number of the type that clients are told for a column, where it is not that of the engine's
    /// type.
    fn told_type(&self, id: TableId, column: usize) -> Option<u32>;

    /// The function `name`, for this session.
    fn function(&self, view: &Arc<SessionView>, name: &str) -> Option<SystemFunction>;

    /// What stands for an object of users that is no relation for the engine, such as a sequence, where a
    /// query reads it by its name.
    fn object_as_view(&self, view: &Arc<SessionView>, name: &str) -> Option<Arc<ViewDef>>;

    /// The number by which clients know a view of users.
    fn view_oid(&self, view: &Arc<SessionView>, name: &str) -> Option<u32>;
}

/// Whether the schema that is found first has a relation of this name.
pub(crate) fn is_system_relation(system: &dyn SystemSchemas, name: &str) -> bool {
    is_relation_of(system, "pg_catalog", name)
}

/// Whether one of the system's own schemas has a relation of this name.
pub(crate) fn is_relation_of(system: &dyn SystemSchemas, schema: &str, name: &str) -> bool {
    system.relation(schema, name).is_some()
}

/// The catalog as a statement of a session sees it.
#[derive(Clone)]
pub(crate) struct SystemCatalog {
    system: Arc<dyn SystemSchemas>,
    view: Arc<SessionView>,
    /// What parts of the statement have given.
    results: Arc<Results>,
    /// The files that it reads.
    files: Arc<FileTables>,
}

impl SystemCatalog {
    pub(crate) fn new(system: Arc<dyn SystemSchemas>, view: SessionView) -> SystemCatalog {
        let (results, files) = (Arc::default(), Arc::default());
        SystemCatalog { system, view: Arc::new(view), results, files }
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
            access::check::read_files(self.snapshot(), self.role())?;
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

    /// What the system's relations and functions are made from.
    #[cfg(test)]
    pub(crate) fn session_view(&self) -> &SessionView {
        &self.view
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
        self.view.pay().await
    }

    /// The sequences that gave numbers out of which a crash would not know.
    pub(crate) fn given(&self) -> Vec<Given> {
        self.view.given()
    }

    /// The settings that the statement changed by `set_config`.
    pub(crate) fn changes(&self) -> Vec<SettingChange> {
        self.view.changes()
    }

    /// The rows of a system relation, the columns at `ordinals`.
    pub(crate) fn source(&self, id: TableId, ordinals: &[usize]) -> SqlResult<SystemSource> {
        let rows = match self.results.rows(id, ordinals) {
            Some(rows) => rows,
            None => self.system.rows(&self.view, id, ordinals),
        };
        rows.map(SystemSource::new)
    }
}

impl Catalog for SystemCatalog {
    fn table(&self, name: &str) -> Option<Arc<TableDef>> {
        let own = self.view.snapshot.table(name).ok().map(|entry| entry.current());
        own.or_else(|| self.view.lent.table(name))
    }

    fn view(&self, name: &str) -> Option<Arc<ViewDef>> {
        let view = Catalog::view(&*self.view.snapshot, name);
        view.or_else(|| self.system.object_as_view(&self.view, name))
    }

    fn view_oid(&self, name: &str) -> Option<u32> {
        self.system.view_oid(&self.view, name)
    }

    fn system_type(&self, table: &TableDef, column: usize) -> Option<u32> {
        self.system.told_type(table.id, column)
    }

    fn tables(&self) -> Vec<Arc<TableDef>> {
        Catalog::tables(&*self.view.snapshot)
    }

    fn system_table(&self, schema: &str, name: &str) -> Option<Arc<TableDef>> {
        match schema {
            sql::parse::RESULTS_SCHEMA => self.results.table(name),
            sql::FILES_SCHEMA => self.files.table(name),
            _ => self.system.relation(schema, name),
        }
    }

    fn now_us(&self) -> Option<i64> {
        Some(self.view.now_us)
    }

    fn check_read(&self, name: &str, is_system: bool, within: Option<&str>) -> SqlResult<()> {
        let (snapshot, role) = (&self.view.snapshot, self.view.session.role);
        if is_system {
            let is_hidden = self.system.is_for_superusers(name);
            return match is_hidden && !snapshot.access.is_superuser(role) {
                true => Err(access::check::denied("table", name)),
                false => Ok(()),
            };
        }
        // A view reads as its owner.
        let role = match within {
            Some(view) => snapshot.acl(view)?.owner,
            None => role,
        };
        access::check::relation(snapshot, role, name, Privilege::Select)
    }

    fn numbers_of(&self, table: &TableDef, ordinal: usize) -> Option<NextNumber> {
        let mut next = self.view.snapshot.numbers_of(table, ordinal)?;
        let (key, last) = (Key(table.id.0, ordinal as u16), self.view.numbers.clone());
        Some(Box::new(move || next().inspect(|number| last.note(key, *number))))
    }

    fn system_function(&self, name: &str) -> Option<SystemFunction> {
        self.system.function(&self.view, name)
    }
}
