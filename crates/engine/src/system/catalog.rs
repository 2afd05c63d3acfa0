//! The catalog as a statement of a session sees it.

use std::any::Any;
use std::collections::BTreeMap;
use std::sync::{Arc, Weak};

use arrow_array::RecordBatch;
use plan::Scan;
use plan::catalog::{TableDef, TableId};
use runtime::sync::Cancel;
use sql::catalog::{Catalog, NextNumber};
use sql::parse::Privilege;
use sql::{Query, SystemFunction, ViewDef};
use types::SqlResult;

use super::results::Results;
use super::schemas::SystemSchemas;
use super::source::SystemSource;
use super::view::{SessionView, SettingChange};
use crate::access;
use crate::access::rights::Access;
use crate::catalog::sequence::SequenceKey as Key;
use crate::catalog::snapshot::Snapshot;
use crate::catalog::tables::TablesMark;
use crate::files::source::FileSource;
use crate::files::tables::FileTables;
use crate::lent::LentSource;
use crate::numbers::Given;
use crate::objects::room::Room;

/// The parts from which answers about tables, views and rights follow, where no session has tables
/// of its own. They are told from others, and not kept.
pub(crate) struct Definitions {
    tables: TablesMark,
    views: Weak<BTreeMap<String, Arc<ViewDef>>>,
    access: Weak<Access>,
    role: access::role::RoleId,
    finds_public: bool,
}

impl Definitions {
    /// Those of a snapshot, for a role that finds names without a schema in `public` or does not;
    /// `None` where its session has tables of its own.
    pub(crate) fn of(
        snapshot: &Snapshot,
        role: access::role::RoleId,
        finds_public: bool,
    ) -> Option<Definitions> {
        let (views, access) = (Arc::downgrade(&snapshot.views), Arc::downgrade(&snapshot.access));
        let tables = snapshot.tables.mark();
        let of_all = Definitions { tables, views, access, role, finds_public };
        Some(of_all).filter(|_| !snapshot.has_temporary())
    }

    /// True if they are those of a snapshot.
    pub(crate) fn are_of(
        &self,
        snapshot: &Snapshot,
        role: access::role::RoleId,
        finds_public: bool,
    ) -> bool {
        self.tables.is_of(&snapshot.tables)
            && Weak::as_ptr(&self.views) == Arc::as_ptr(&snapshot.views)
            && Weak::as_ptr(&self.access) == Arc::as_ptr(&snapshot.access)
            && (self.role, self.finds_public) == (role, finds_public)
            && !snapshot.has_temporary()
    }
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
            crate::privileges::read_files(self.snapshot(), self.role())?;
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
    pub(crate) fn role(&self) -> access::role::RoleId {
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
        let rows = match self.part_rows(id, ordinals) {
            Some(rows) => rows,
            None => self.system.rows(&self.view, id, ordinals),
        };
        rows.map(SystemSource::new)
    }

    /// The rows that a part of the statement has given, the columns at `ordinals`.
    pub(crate) fn part_rows(
        &self,
        id: TableId,
        ordinals: &[usize],
    ) -> Option<SqlResult<RecordBatch>> {
        self.results.rows(id, ordinals)
    }
}

impl Catalog for SystemCatalog {
    fn table(&self, name: &str) -> Option<Arc<TableDef>> {
        let own = self.view.snapshot.table(name).ok().map(|entry| entry.current());
        own.or_else(|| self.view.lent.table(name))
    }

    fn read_table(&self, schema: Option<&str>, name: &str) -> Option<Arc<TableDef>> {
        let meant = self.view.table_meant(schema, name).map(|def| def.id);
        let entry = meant.and_then(|id| self.view.snapshot.table_by_id(id));
        let lent = || self.view.lent.table(name).filter(|_| schema.is_none());
        entry.map(|entry| entry.current()).or_else(lent)
    }

    fn definitions(&self) -> Option<Arc<dyn Any + Send + Sync>> {
        let view = &self.view;
        if !view.lent.relations.is_empty() {
            return None;
        }
        let definitions = Definitions::of(&view.snapshot, view.session.role, view.finds_public());
        definitions.map(|definitions| Arc::new(definitions) as _)
    }

    fn is_defined_by(&self, definitions: &(dyn Any + Send + Sync)) -> bool {
        let (known, view) = (definitions.downcast_ref::<Definitions>(), &self.view);
        let are_known = |known: &Definitions| {
            known.are_of(&view.snapshot, view.session.role, view.finds_public())
        };
        known.is_some_and(are_known) && view.lent.relations.is_empty()
    }

    fn row_count(&self, table: TableId) -> Option<u64> {
        self.view.snapshot.table_by_id(table).map(|entry| entry.row_count())
    }

    fn hides_public(&self, name: &str) -> bool {
        !self.view.finds_public()
            || self.view.snapshot.temporary(self.view.session_id, name).is_some()
    }

    fn database(&self) -> Option<String> {
        Some(self.view.database().to_owned())
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

    fn check_read(
        &self,
        name: &str,
        table: Option<TableId>,
        within: Option<&str>,
    ) -> SqlResult<()> {
        let (snapshot, role) = (&self.view.snapshot, self.view.session.role);
        if table.is_some_and(TableId::is_system) {
            let is_hidden = self.system.is_for_superusers(name);
            return match is_hidden && !snapshot.access.is_superuser(role) {
                true => Err(crate::access::denied::denied("table", name)),
                false => Ok(()),
            };
        }
        // A view reads as its owner.
        let role = match within {
            Some(view) => snapshot.acl(view)?.owner,
            None => role,
        };
        match table {
            Some(table) => {
                crate::privileges::table(snapshot, role, (table, name), Privilege::Select)
            }
            None => crate::privileges::relation(snapshot, role, name, Privilege::Select),
        }
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
