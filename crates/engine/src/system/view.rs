//! What one statement sees of its session, of the catalog and of what runs: all that system relations and
//! functions are made from.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use exec::Governor;
use plan::catalog::{TableDef, TableId, TableStatistics};
use plan::sequence::{Sequence, SequenceDef};
use runtime::{Portions, WorkerStats};
use sql::ViewDef;
use sql::catalog::Catalog;
use sql::parse::{NotificationStatement, TEMPORARY_SCHEMA};
use storage::TreeId;
use txn::advisory::{Key, Shown, Wish};
use txn::locks::mode::ShownLock;
use types::SqlResult;

use super::chance::Chance;
use super::sleep::Sleep;
use crate::access::rights::Access;
use crate::access::role::RoleId;
use crate::access::session_info::SessionInfo;
use crate::activity::Activities;
use crate::catalog::sequence::SequenceKey;
use crate::catalog::snapshot::Snapshot;
use crate::comments::subject::Subject;
use crate::cursors::{CursorInfo, Cursors};
use crate::lent::LentTables;
use crate::notifications::Mailbox;
use crate::numbers::{Given, GivenNumbers, LastNumbers};
use crate::replication::Attendant;
use crate::settings::Settings;
use crate::settings::setting::Setting;
use crate::statements::{NamedStatement, Statements};
use crate::versions::chain::Versions;

/// A version of the catalog with the session that looks at it. It does not change but by what functions of
/// the statement ask for, which happens when the statement passes its rows on or ends.
pub struct SessionView {
    pub(crate) snapshot: Arc<Snapshot>,
    pub(crate) session: SessionInfo,
    pub(crate) settings: Settings,
    pub(crate) statements: Arc<Statements>,
    pub(crate) cursors: Arc<Cursors>,
    /// The session's random numbers.
    pub(crate) chance: Arc<Chance>,
    /// The numbers that sequences gave the session last.
    pub(crate) numbers: Arc<LastNumbers>,
    /// What the session tells others when its transaction commits.
    pub(crate) mailbox: Arc<Mailbox>,
    /// Rows of the program that has the session.
    pub(crate) lent: Arc<LentTables>,
    /// The sequences of which a crash would forget what they gave out.
    pub(crate) given: GivenNumbers,
    /// Whether the session is in a transaction block.
    pub(crate) in_block: bool,
    /// True if the session's transaction keeps a version of the catalog that others may have
    /// replaced.
    pub(crate) keeps_version: bool,
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

/// A setting that a function changes when its statement is done.
pub struct SettingChange {
    /// The name of the setting.
    pub name: String,
    /// Its new value, as `SET` takes it.
    pub value: String,
    /// For the transaction only.
    pub is_local: bool,
}

/// Where what runs now can be seen. It holds no handle of the database, whose last one must not be
/// dropped on a worker.
pub(crate) struct Monitor {
    pub(crate) activities: Arc<Activities>,
    pub(crate) handle: runtime::Handle,
    pub(crate) versions: Arc<Versions>,
    pub(crate) replica: Option<Attendant>,
}

/// Who asks.
impl SessionView {
    /// The role that statements run as.
    pub fn role(&self) -> RoleId {
        self.session.role
    }

    /// Its name.
    pub fn user(&self) -> &str {
        &self.session.user
    }

    /// The name of the session's role, which `SET ROLE NONE` goes back to.
    pub fn session_user(&self) -> &str {
        &self.session.session_user
    }

    /// The name of the database.
    pub fn database(&self) -> &str {
        &self.session.database
    }

    /// The session's number as clients know it, in place of a process id.
    pub fn pid(&self) -> i32 {
        self.session.pid
    }

    /// Whether the session is in a transaction block.
    pub fn in_block(&self) -> bool {
        self.in_block
    }

    /// Whether functions with an effect are refused.
    pub fn reads_only(&self) -> bool {
        self.reads_only
    }

    /// True if the search path finds what is in `public` by its name alone.
    pub fn finds_public(&self) -> bool {
        self.settings.finds_public()
    }

    /// The table that a name means: a temporary one before others where it has no schema.
    pub fn table_meant(&self, schema: Option<&str>, name: &str) -> Option<&Arc<TableDef>> {
        let temporary = || self.snapshot.temporary(self.session_id, name);
        let permanent = || self.snapshot.permanent(name);
        let found = match schema {
            Some(TEMPORARY_SCHEMA) => temporary(),
            Some("public") => permanent(),
            Some(_) => None,
            None if self.finds_public() => temporary().or_else(permanent),
            None => temporary(),
        };
        found.map(|entry| &entry.def)
    }

    /// True if a table is a temporary one.
    pub fn is_temporary(&self, table: TableId) -> bool {
        self.snapshot.is_temporary_id(table.0)
    }

    /// The session's settings.
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// Whether the role may see a setting.
    ///
    /// # Errors
    /// 42501 unless it may.
    pub fn examine(&self, setting: &Setting) -> SqlResult<()> {
        crate::privileges::examine(&self.snapshot, self.session.role, setting)
    }

    /// The session's prepared statements, by name.
    pub fn prepared_statements(&self) -> impl Iterator<Item = (&str, &NamedStatement)> {
        self.statements.iter().map(|(name, statement)| (name.as_str(), &**statement))
    }

    /// The session's cursors, by name.
    pub fn cursors(&self) -> impl Iterator<Item = (&str, &CursorInfo)> {
        self.cursors.iter().map(|(name, cursor)| (name.as_str(), cursor))
    }
}

/// The catalog.
impl SessionView {
    /// The users' relations alone, as the planner knows them.
    pub fn catalog(&self) -> &dyn Catalog {
        &*self.snapshot
    }

    /// Roles, and the access lists of all objects.
    pub fn access(&self) -> &Access {
        &self.snapshot.access
    }

    /// The users' tables, ordered by name.
    pub fn tables(&self) -> impl Iterator<Item = &Arc<TableDef>> {
        self.snapshot.tables.values().map(|entry| &entry.def)
    }

    /// The table of this name.
    pub fn table(&self, name: &str) -> Option<&Arc<TableDef>> {
        self.snapshot.tables.get(name).map(|entry| &entry.def)
    }

    /// The table of this number.
    pub fn table_by_id(&self, id: TableId) -> Option<&Arc<TableDef>> {
        self.snapshot.table_by_id(id).map(|entry| &entry.def)
    }

    /// Rows and pages of a table at the moment; zeros for one that is gone.
    pub fn statistics(&self, id: TableId) -> Arc<TableStatistics> {
        let entry = self.snapshot.table_by_id(id);
        entry.map(|entry| entry.current().statistics.clone()).unwrap_or_default()
    }

    /// The tree of a table and those of its indexes, in their order; `None` for one that is gone.
    pub fn trees(&self, id: TableId) -> Option<(TreeId, Vec<TreeId>)> {
        let entry = self.snapshot.table_by_id(id)?;
        Some((entry.tree_id, entry.indexes.iter().map(|index| index.tree.id()).collect()))
    }

    /// The users' views, ordered by name.
    pub fn views(&self) -> impl Iterator<Item = &Arc<ViewDef>> {
        self.snapshot.views.values()
    }

    /// The user's view of this name.
    pub fn view(&self, name: &str) -> Option<&Arc<ViewDef>> {
        self.snapshot.views.get(name)
    }

    /// What `CREATE SEQUENCE` has made, ordered by name.
    pub fn made_sequences(&self) -> impl Iterator<Item = &Arc<SequenceDef>> {
        self.snapshot.sequences.values()
    }

    /// The sequence of this name that `CREATE SEQUENCE` has made.
    pub fn made_sequence(&self, name: &str) -> Option<&Arc<SequenceDef>> {
        self.snapshot.sequences.get(name)
    }

    /// The present state of a sequence that is `seen`: numbers belong to no version of the catalog,
    /// whichever the transaction keeps. `None` when it has gone.
    pub fn numbers_now<'a>(
        &self,
        key: SequenceKey,
        seen: &'a Sequence,
    ) -> Option<Cow<'a, Sequence>> {
        if !self.keeps_version || self.snapshot.is_temporary_id(key.0) {
            return Some(Cow::Borrowed(seen));
        }
        let now = self.monitor.versions.visible();
        now.numbered(key).map(|numbered| Cow::Owned(numbered.numbers.clone()))
    }

    /// The table and the ordinal of the column whose own sequence has this name.
    pub fn numbered_column(&self, name: &str) -> Option<(&Arc<TableDef>, usize)> {
        let (entry, ordinal) = self.snapshot.numbered_column(name)?;
        Some((&entry.def, ordinal))
    }

    /// What is said of objects.
    pub fn comments(&self) -> impl Iterator<Item = (&Subject, &str)> {
        self.snapshot.comments.iter().map(|(subject, text)| (subject, text.as_str()))
    }

    /// Bytes of a page of the database file.
    pub fn page_bytes(&self) -> u64 {
        self.page_bytes
    }

    /// The number of the last checkpoint: it rises with what all see.
    pub fn checkpoint(&self) -> u64 {
        self.checkpoint
    }
}

/// What runs.
impl SessionView {
    /// The sessions, and what is counted of their statements.
    pub fn activities(&self) -> &Activities {
        &self.monitor.activities
    }

    /// The figures of each worker.
    pub fn workers(&self) -> Vec<WorkerStats> {
        self.monitor.handle.stats()
    }

    /// The longest that tasks computed without giving way, by kind.
    pub fn portions(&self) -> Vec<Portions> {
        self.monitor.handle.portions()
    }

    /// The locks of those who write, held and waited for.
    pub fn locks(&self) -> Vec<ShownLock> {
        self.monitor.versions.locks().shown()
    }

    /// The sessions that keep a session from the lock that it waits for.
    pub fn blocking(&self, session_id: u64) -> Vec<u64> {
        self.monitor.versions.locks().blocking(session_id)
    }

    /// The sessions whose commit is not durable yet.
    pub fn committing(&self) -> BTreeSet<u64> {
        self.monitor.versions.committing()
    }

    /// Advisory locks, held and waited for.
    pub fn advisory_locks(&self) -> Vec<Shown> {
        self.monitor.activities.locks.shown()
    }
}

/// What functions do.
impl SessionView {
    /// A random number of the session, from 0 to 1 without 1.
    pub fn random(&self) -> f64 {
        self.chance.fraction()
    }

    /// The session's random numbers follow from this seed from now on.
    pub fn seed(&self, seed: u64) {
        self.chance.seed(seed);
    }

    /// Has the statement wait before its rows go on, besides what it waits already; no worker stands still
    /// for that.
    pub fn sleep(&self, time: Duration) {
        self.sleep.owe(time);
    }

    /// Has others be told when the transaction commits.
    ///
    /// # Errors
    /// 22023 for a channel or a payload that is none, 54000 when there is no room.
    pub fn notify(&self, channel: String, payload: String) -> SqlResult<()> {
        self.mailbox.note(NotificationStatement::Notify { channel, payload })
    }

    /// Changes a setting when the statement is done.
    pub fn change_setting(&self, change: SettingChange) {
        locked(&self.changes).push(change);
    }

    /// Has the statement wait for an advisory lock before its rows go on.
    pub fn wait_for(&self, wish: Wish) {
        locked(&self.wishes).push(wish);
    }

    /// Takes an advisory lock if that is possible at once; whether it was.
    pub fn try_lock(&self, wish: Wish) -> bool {
        self.monitor.activities.locks.try_take(self.session_id, wish)
    }

    /// Lets go of an advisory lock of the session; whether it had it.
    pub fn unlock(&self, key: Key, shared: bool) -> bool {
        self.monitor.activities.locks.release(self.session_id, key, shared)
    }

    /// Lets go of all advisory locks of the session.
    pub fn unlock_all(&self) {
        self.monitor.activities.locks.release_session(self.session_id);
    }

    /// A sequence has given a number to the session.
    pub fn note_number(&self, key: SequenceKey, numbers: &Sequence, number: i64) {
        self.numbers.note(key, number);
        self.given.note(key, numbers);
    }

    /// A sequence was set; to a number that the session has from then on, if there is one.
    pub fn note_set(&self, key: SequenceKey, numbers: &Sequence, number: Option<i64>) {
        number.into_iter().for_each(|number| self.numbers.set(key, number));
        self.given.note(key, numbers);
    }

    /// The number that a sequence gave the session last.
    pub fn last_number(&self, key: SequenceKey) -> Option<i64> {
        self.numbers.of(key)
    }

    /// The number that the session was given last, and the sequence.
    pub fn newest_number(&self) -> Option<(SequenceKey, i64)> {
        self.numbers.newest()
    }
}

/// What the statement does with that.
impl SessionView {
    /// Waits for what functions of the statement have asked for: time, and advisory locks.
    ///
    /// # Errors
    /// 40P01 for a lock that would never be free.
    pub(crate) async fn pay(&self) -> SqlResult<()> {
        self.sleep.pay().await;
        let wanted = std::mem::take(&mut *locked(&self.wishes));
        for wish in wanted {
            self.monitor.activities.locks.obtain(self.session_id, wish).await?;
        }
        Ok(())
    }

    /// The sequences that gave numbers out of which a crash would not know.
    pub(crate) fn given(&self) -> Vec<Given> {
        self.given.take()
    }

    /// The settings that the statement changed by `set_config`.
    pub(crate) fn changes(&self) -> Vec<SettingChange> {
        std::mem::take(&mut *locked(&self.changes))
    }
}

fn locked<T>(list: &Mutex<T>) -> MutexGuard<'_, T> {
    list.lock().unwrap_or_else(PoisonError::into_inner)
}
