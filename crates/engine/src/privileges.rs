//! Whether a role may run a statement: each kind of statement is listed here, and a new kind does
//! not compile until it is. What a query reads is checked where its names are bound.

use std::sync::Arc;

use plan::catalog::TableId;
use plan::sequence::SequenceOptions;
use sql::Query;
use sql::parse::{
    AlterSequence, AlterTable, Commented, Copy, CopySource, CopyTarget, CopyTo, CreateSequence,
    CreateTable, Drop, DropObject, Ignored, LockTables, LockedRelation, Privilege, SequenceChange,
    Statement, TableLock, Truncate, WithWrites,
};
use types::SqlResult;

use crate::access::denied::{denied, privilege_error};
use crate::access::rights::{Access, Relation};
use crate::access::role::RoleId;
use crate::access::roles::{CHECKPOINT, READ_ALL_SETTINGS, READ_SERVER_FILES, WRITE_SERVER_FILES};
use crate::catalog::entry::TableEntry;
use crate::catalog::snapshot::Snapshot;
use crate::settings::setting::{Kind, Setting};
use crate::system::schemas::{SystemSchemas, is_relation_of};

/// The kinds of statements: their names, which the test of the privilege matrix walks, and what
/// `who` must be allowed.
macro_rules! kinds {
    ($who:ident: $($pattern:pat => $name:literal, $check:expr;)*) => {
        /// The names of all kinds of statements.
        pub const STATEMENT_KINDS: &[&str] = &[$($name),*];

        /// The name of a statement's kind.
        #[allow(unused_variables, reason = "the patterns bind what the checks need")]
        pub fn statement_kind(statement: &Statement) -> &'static str {
            match statement { $($pattern => $name),* }
        }

        fn check_kind($who: &Who<'_>, statement: &Statement) -> SqlResult<()> {
            match statement { $($pattern => $check),* }
        }
    };
}

kinds! { who:
    // What a query reads is checked as its names are bound.
    Statement::Query(query) => "SELECT", who.may_lock_rows(query);
    Statement::Explain(_) => "EXPLAIN", Ok(());
    Statement::WithWrites(with) => "WITH", who.may_with(with);
    Statement::ExplainWrite(explain) => "EXPLAIN", check_kind(who, &explain.statement);
    Statement::CreateTable(create) => "CREATE TABLE", who.may_create_table(create);
    Statement::AlterTable(alter) => "ALTER TABLE", who.may_alter(alter);
    // It becomes one that says what is renamed.
    Statement::Rename(rename) => "ALTER TABLE", who.owns(&rename.relation);
    Statement::Nominal(_) => "DROP", Ok(());
    Statement::CreateSequence(create) => "CREATE SEQUENCE", who.may_create_sequence(create);
    Statement::AlterSequence(alter) => "ALTER SEQUENCE", who.may_alter_sequence(alter);
    Statement::CreateView(create) => "CREATE VIEW", who.may_create_view(&create.view.name);
    Statement::CreateIndex(index) => "CREATE INDEX", who.may_index(&index.table);
    Statement::Drop(drop) => "DROP", who.owns_all(drop);
    Statement::Insert(insert) => "INSERT", who.may_all(&insert.table, &insert.privileges());
    Statement::Update(update) => "UPDATE", who.may_all(&update.table, &update.privileges());
    Statement::Delete(delete) => "DELETE", who.may_all(&delete.table, &delete.privileges());
    Statement::Truncate(truncate) => "TRUNCATE", who.may_truncate(truncate);
    Statement::Lock(lock) => "LOCK TABLE", who.may_lock(lock);
    Statement::Copy(copy) => "COPY FROM", who.may_copy(copy);
    Statement::CopyTo(copy) => "COPY TO", who.may_copy_to(copy);
    // Of what it does not own it is told, and the rest is analyzed.
    Statement::Analyze { .. } => "ANALYZE", Ok(());
    Statement::Vacuum(_) => "VACUUM", Ok(());
    Statement::Comment(comment) => "COMMENT", who.may_comment(&comment.subject);
    Statement::Reorganize { table } => "REORGANIZE", who.owns(table);
    Statement::Set { .. } => "SET", Ok(());
    Statement::SetTransaction(_) => "SET", Ok(());
    Statement::SetLocal { .. } => "SET", Ok(());
    Statement::Notification(_) => "NOTIFY", Ok(());
    Statement::SetConstraints(_) => "SET CONSTRAINTS", Ok(());
    Statement::Show { .. } => "SHOW", Ok(());
    Statement::Reset { .. } => "RESET", Ok(());
    Statement::CheckDatabase => "CHECK DATABASE", who.may_check();
    Statement::Checkpoint => "CHECKPOINT", who.may_checkpoint();
    Statement::Backup { .. } => "BACKUP", who.may_back_up();
    Statement::Member(_) => "ALTER DATABASE", who.may_change_members();
    // What these need depends on the roles that they name.
    Statement::Role(_) => "ROLE", Ok(());
    Statement::Secret(_) => "SECRET", who.may_keep_secrets();
    Statement::Transaction(_) => "TRANSACTION", Ok(());
    // What is prepared is asked for when it runs.
    Statement::Prepare(_) => "PREPARE", Ok(());
    Statement::Execute(_) => "EXECUTE", Ok(());
    Statement::Deallocate { .. } => "DEALLOCATE", Ok(());
    Statement::Discard(_) => "DISCARD", Ok(());
    // What a cursor goes over is checked as a query.
    Statement::Cursor(_) => "CURSOR", Ok(());
}

/// 42501 when `role` may not run the statement.
pub(crate) fn check(
    snapshot: &Snapshot,
    system: &dyn SystemSchemas,
    role: RoleId,
    statement: &Statement,
) -> SqlResult<()> {
    check_kind(&Who { snapshot, access: &snapshot.access, system, role }, statement)
}

/// 42501 when `role` may not lock the rows that a query locks, if any.
pub(crate) fn row_locks(
    snapshot: &Snapshot,
    system: &dyn SystemSchemas,
    role: RoleId,
    query: &Query,
) -> SqlResult<()> {
    Who { snapshot, access: &snapshot.access, system, role }.may_lock_rows(query)
}

/// 42501 when `role` may not use a table or view; nothing is said of one that does not exist.
pub(crate) fn relation(
    snapshot: &Snapshot,
    role: RoleId,
    name: &str,
    privilege: Privilege,
) -> SqlResult<()> {
    // That it does not exist is told by who looks for it.
    let Some(relation) = snapshot.owned(name) else { return Ok(()) };
    match snapshot.access.allows(role, snapshot.access.acl(&relation), privilege) {
        true => Ok(()),
        false => Err(denied(kind(snapshot, name), name)),
    }
}

/// 42501 when `role` may not use a table.
pub(crate) fn table(
    snapshot: &Snapshot,
    role: RoleId,
    (table, name): (TableId, &str),
    privilege: Privilege,
) -> SqlResult<()> {
    let acl = snapshot.access.acl(&Relation::Table(table.0));
    match snapshot.access.allows(role, acl, privilege) {
        true => Ok(()),
        false => Err(denied("table", name)),
    }
}

/// What a name means, as messages have it.
pub(crate) fn kind(snapshot: &Snapshot, name: &str) -> &'static str {
    match () {
        () if snapshot.views.contains_key(name) => "view",
        () if snapshot.sequences.contains_key(name) => "sequence",
        () => "table",
    }
}

/// 42501 when `role` may not see a setting: where files are concerns the server's operators only.
pub(crate) fn examine(snapshot: &Snapshot, role: RoleId, setting: &Setting) -> SqlResult<()> {
    let is_open = !matches!(setting.kind, Kind::Path);
    if is_open || snapshot.access.has_privileges_of(role, READ_ALL_SETTINGS) {
        return Ok(());
    }
    let name = setting.name;
    Err(privilege_error(format!(
        "must be superuser or have privileges of pg_read_all_settings to examine \"{name}\""
    )))
}

/// 42501 when `role` may not read files of the server.
pub(crate) fn read_files(snapshot: &Snapshot, role: RoleId) -> SqlResult<()> {
    match snapshot.access.has_privileges_of(role, READ_SERVER_FILES) {
        true => Ok(()),
        false => Err(privilege_error(
            "must be superuser or have privileges of the pg_read_server_files role to read files",
        )),
    }
}

/// Who asks, of which version of the catalog.
pub(crate) struct Who<'a> {
    snapshot: &'a Snapshot,
    access: &'a Access,
    system: &'a dyn SystemSchemas,
    role: RoleId,
}

impl Who<'_> {
    fn may_with(&self, with: &WithWrites) -> SqlResult<()> {
        let mut parts = with.parts.iter().chain([&*with.body]);
        parts.try_for_each(|statement| check_kind(self, statement))
    }

    fn may_comment(&self, subject: &Commented) -> SqlResult<()> {
        match subject {
            Commented::Table(name) | Commented::View(name) | Commented::Column(name, _) => {
                self.owns(name)
            }
            Commented::Index(name) => {
                match crate::comments::kept::table_of_index(self.snapshot, name) {
                    Some(table) => self.owns(table),
                    None => Ok(()),
                }
            }
            Commented::Schema(name) => match self.access.owns(self.role, &self.access.schema) {
                true => Ok(()),
                false => Err(privilege_error(format!("must be owner of schema {name}"))),
            },
            Commented::Database(name) => match self.access.owns(self.role, &self.access.database) {
                true => Ok(()),
                false => Err(privilege_error(format!("must be owner of database {name}"))),
            },
        }
    }

    fn may(&self, name: &str, privilege: Privilege) -> SqlResult<()> {
        relation(self.snapshot, self.role, name, privilege)
    }

    fn may_all(&self, name: &str, privileges: &[Privilege]) -> SqlResult<()> {
        privileges.iter().try_for_each(|privilege| self.may(name, *privilege))
    }

    fn may_create_table(&self, create: &CreateTable) -> SqlResult<()> {
        match create.temporary {
            true => self.may_create_temporary()?,
            false => self.may_create()?,
        }
        if create.location.is_some() {
            self.may_use_locations()?;
        }
        let referenced = create.referenced_tables();
        referenced.iter().try_for_each(|table| self.may(table, Privilege::References))
    }

    /// Temporary tables lie in no schema that others share.
    fn may_create_temporary(&self) -> SqlResult<()> {
        match self.access.allows(self.role, &self.access.database, Privilege::Temporary) {
            true => Ok(()),
            false => {
                let message = "permission denied to create temporary tables in this database";
                Err(privilege_error(message))
            }
        }
    }

    fn may_alter(&self, alter: &AlterTable) -> SqlResult<()> {
        self.owns(&alter.table)?;
        let referenced = alter.referenced_tables();
        referenced.iter().try_for_each(|table| self.may(table, Privilege::References))
    }

    /// The table that is to own it is to have the same owner.
    fn may_create_sequence(&self, create: &CreateSequence) -> SqlResult<()> {
        self.may_create()?;
        self.owns_owner(&create.options)
    }

    fn owns_owner(&self, options: &SequenceOptions) -> SqlResult<()> {
        match &options.owner {
            Some(Some((table, _))) => self.owns(table),
            _ => Ok(()),
        }
    }

    /// The sequence of a column is its table's.
    fn may_alter_sequence(&self, alter: &AlterSequence) -> SqlResult<()> {
        self.owns(&alter.name)?;
        if let Some((table, _)) = self.snapshot.numbered_column(&alter.name)
            && self.owns(&table.def.name).is_err()
        {
            return Err(privilege_error(format!("must be owner of sequence {}", alter.name)));
        }
        match &alter.change {
            SequenceChange::Options(options) => self.owns_owner(options),
            SequenceChange::Rename(_) => self.may_create(),
        }
    }

    /// Who may read may keep others from nothing but that; who changes rows keeps others from it.
    fn may_lock(&self, lock: &LockTables) -> SqlResult<()> {
        use Privilege::{Delete, Insert, Select, Truncate, Update};
        let enough: &[Privilege] = match lock.mode {
            TableLock::Reads => &[Select, Insert, Update, Delete, Truncate],
            TableLock::ReadsToChange => &[Insert, Update, Delete, Truncate],
            TableLock::Changes | TableLock::Writes => &[Update, Delete, Truncate],
        };
        lock.tables.iter().try_for_each(|name| {
            let refused = enough.iter().map(|privilege| self.may(name, *privilege));
            refused.reduce(Result::or).unwrap_or(Ok(()))
        })
    }

    /// Who locks rows keeps others from changing them; those of the system's own relations are nobody's
    /// to change.
    fn may_lock_rows(&self, query: &Query) -> SqlResult<()> {
        query.locked_relations().iter().try_for_each(|LockedRelation { schema, name }| {
            let schema = schema.as_deref();
            let is_own = matches!(schema, None | Some("public" | "pg_temp"));
            if is_own && self.snapshot.owned(name).is_some() {
                return self.may(name, Privilege::Update);
            }
            let is_system = is_relation_of(self.system, schema.unwrap_or("pg_catalog"), name);
            match is_system && !self.access.is_superuser(self.role) {
                true => Err(denied("table", name)),
                false => Ok(()),
            }
        })
    }

    /// With `CASCADE`, of the tables that refer to these too.
    fn may_truncate(&self, truncate: &Truncate) -> SqlResult<()> {
        let mut tables: Vec<String> = truncate.tables.iter().map(|t| t.name.clone()).collect();
        let mut at = 0;
        while let Some(name) = tables.get(at) {
            self.may(name, Privilege::Truncate)?;
            at += 1;
            let Some(table) = self.snapshot.tables.get(name).filter(|_| truncate.cascade) else {
                continue;
            };
            let id = table.def.id.0;
            let refers = |t: &&Arc<TableEntry>| {
                t.def.constraints.foreign_keys.iter().any(|key| key.table == id)
            };
            let referring = self.snapshot.tables.values().filter(refers);
            let names = referring.map(|t| &t.def.name).filter(|name| !tables.contains(name));
            tables.extend(names.cloned().collect::<Vec<_>>());
        }
        Ok(())
    }

    fn owns(&self, name: &str) -> SqlResult<()> {
        let Some(relation) = self.snapshot.owned(name) else { return Ok(()) };
        match self.access.owns(self.role, self.access.acl(&relation)) {
            true => Ok(()),
            false => {
                let kind = kind(self.snapshot, name);
                Err(privilege_error(format!("must be owner of {kind} {name}")))
            }
        }
    }

    fn owns_all(&self, drop: &Drop) -> SqlResult<()> {
        match drop.object {
            DropObject::Table | DropObject::View | DropObject::Sequence => {
                drop.names.iter().try_for_each(|name| self.owns(name))
            }
            DropObject::Index => drop.names.iter().try_for_each(|name| self.owns_index(name)),
        }
    }

    fn owns_index(&self, name: &str) -> SqlResult<()> {
        let Some((table, _)) = self.snapshot.index(name) else { return Ok(()) };
        let message = format!("must be owner of index {name}");
        self.owns(&table.def.name).map_err(|_| privilege_error(message))
    }

    fn may_create(&self) -> SqlResult<()> {
        match self.access.allows(self.role, &self.access.schema, Privilege::Create) {
            true => Ok(()),
            false => Err(denied("schema", "public")),
        }
    }

    fn may_index(&self, table: &str) -> SqlResult<()> {
        self.owns(table)?;
        match self.snapshot.is_temporary(table) {
            true => Ok(()),
            false => self.may_create(),
        }
    }

    /// Replacing a view is its owner's right.
    fn may_create_view(&self, name: &str) -> SqlResult<()> {
        self.may_create()?;
        self.owns(name)
    }

    fn may_copy(&self, copy: &Copy) -> SqlResult<()> {
        if matches!(copy.source, CopySource::File(_))
            && !self.access.has_privileges_of(self.role, READ_SERVER_FILES)
        {
            let message = "must be superuser or have privileges of the pg_read_server_files role \
                           to COPY from a file";
            return Err(privilege_error(message).with_hint(
                "Anyone can COPY to stdout or from stdin. psql's \\copy command also works for \
                 anyone.",
            ));
        }
        if let Some(Ignored { table: Some(table), .. }) = &copy.options.ignored {
            self.may(table, Privilege::Insert)?;
        }
        self.may(&copy.table, Privilege::Insert)
    }

    /// What is read is checked as it is bound; what a statement returns, as that statement.
    fn may_copy_to(&self, copy: &CopyTo) -> SqlResult<()> {
        if matches!(copy.target, CopyTarget::File(_))
            && !self.access.has_privileges_of(self.role, WRITE_SERVER_FILES)
        {
            let message = "must be superuser or have privileges of the pg_write_server_files role \
                           to COPY to a file";
            return Err(privilege_error(message).with_hint(
                "Anyone can COPY to stdout or from stdin. psql's \\copy command also works for \
                 anyone.",
            ));
        }
        Ok(())
    }

    /// Whoever has the keys of a store may do there what their owner may.
    fn may_keep_secrets(&self) -> SqlResult<()> {
        match self.access.is_superuser(self.role) {
            true => Ok(()),
            false => Err(privilege_error("must be superuser to create or drop secrets")),
        }
    }

    /// A location is read and written with the keys that the superuser has given.
    fn may_use_locations(&self) -> SqlResult<()> {
        if self.access.has_privileges_of(self.role, WRITE_SERVER_FILES) {
            return Ok(());
        }
        let message = "must be superuser or have privileges of the pg_write_server_files role \
                       to create a table with a location";
        Err(privilege_error(message))
    }

    /// Rows of all tables are compared with their indexes.
    fn may_check(&self) -> SqlResult<()> {
        match self.access.is_superuser(self.role) {
            true => Ok(()),
            false => Err(privilege_error("must be superuser to check the database")),
        }
    }

    /// The copy has the rows of all tables.
    fn may_back_up(&self) -> SqlResult<()> {
        match self.access.is_superuser(self.role) {
            true => Ok(()),
            false => Err(privilege_error("must be superuser to back up the database")),
        }
    }

    /// The bytes on a device may be lost.
    fn may_change_members(&self) -> SqlResult<()> {
        match self.access.is_superuser(self.role) {
            true => Ok(()),
            false => {
                Err(privilege_error("must be superuser to change the members of the database"))
            }
        }
    }

    fn may_checkpoint(&self) -> SqlResult<()> {
        match self.access.has_privileges_of(self.role, CHECKPOINT) {
            true => Ok(()),
            false => Err(privilege_error(
                "must be superuser or have privileges of pg_checkpoint to do CHECKPOINT",
            )),
        }
    }
}
