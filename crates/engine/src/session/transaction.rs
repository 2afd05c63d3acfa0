//! The transaction of a session: a block from `BEGIN` to its end, or statements that are one without a
//! block, because their client sent them together.

use exec::LocalFuture;
use sql::parse::{LockTables, Modes, TableLock, Transaction};
use storage::planted;
use txn::locks::mode::{LockKey, LockMode};
use txn::locks::table::LockWait;
use txn::undo::ReadView;
use types::{SqlError, SqlResult, SqlState};

use super::state::{Savepoint, Session, TransactionState};
use crate::activity::status::TransactionStatus;
use crate::block::Block;
use crate::catalog::snapshot::Snapshot;
use crate::deferred::Deferrals;
use crate::isolation;
use crate::isolation::Isolation;
use crate::notice::Notice;
use crate::result::{StatementResult, tag};
use crate::settings::kept;

impl Session {
    /// Where the session stands.
    pub fn transaction_status(&self) -> TransactionStatus {
        self.transaction.status
    }

    /// Changes where the session stands, for itself and for those who watch; where it stood.
    fn stand(&mut self, status: TransactionStatus) -> TransactionStatus {
        self.activity.stands(status);
        std::mem::replace(&mut self.transaction.status, status)
    }

    /// Whether no transaction of several statements is open.
    pub fn is_idle(&self) -> bool {
        self.transaction.status == TransactionStatus::Idle && !self.has_written()
    }

    /// Whether statements that no `BEGIN` has put together form one transaction, which has written.
    pub fn is_implicit(&self) -> bool {
        self.transaction.status == TransactionStatus::Idle && self.has_written()
    }

    /// Whether the transaction that is open has written.
    pub fn has_written(&self) -> bool {
        self.db.block().is_some()
    }

    /// Whether the next statement is followed by others that are one transaction with it, though no
    /// block is open: those of one message, or of one pipeline.
    pub fn expect_more(&mut self, goes_on: bool) {
        self.transaction.goes_on = goes_on;
    }

    /// The end of a message, or of a pipeline: commits its statements, if they form a transaction. Call
    /// it in a task of the database's runtime.
    ///
    /// # Errors
    /// Why nothing of them stays.
    pub fn end_implicit(&mut self) -> LocalFuture<'_, SqlResult<()>> {
        Box::pin(async move {
            match self.is_implicit() {
                true => self.settle(true, self.waits_for_device()).await,
                false => Ok(()),
            }
        })
    }

    /// Something has failed that is none of the session's own statements, such as a message of its
    /// client: an open block lets nothing run any more. Nothing of the transaction stays; where a
    /// savepoint may save some of it, that is for the client to say.
    pub fn fail(&mut self) {
        self.transaction.goes_on = false;
        if self.transaction.status == TransactionStatus::Open {
            self.stand(TransactionStatus::Failed);
        }
        if !self.transaction.savepoints.is_empty() {
            return;
        }
        self.mailbox.forget_after(0);
        if let Some(block) = self.db.block().cloned() {
            self.db = block.public().clone();
        }
    }

    /// Undoes the transaction that is open, if there is one: nobody waits for its end any more.
    pub(super) fn abandon(&mut self) {
        if self.is_idle() {
            return;
        }
        self.transaction = TransactionState::default();
        self.activity.stands(TransactionStatus::Idle);
        self.mailbox.forget_after(0);
        self.settings.end_local();
        self.set_modes(&Modes::default());
        if let Some(block) = self.db.block().cloned() {
            self.db = block.public().clone();
        }
        self.db = self.db.unpinned();
    }

    /// The result of a statement, whose transaction fails with it.
    pub(crate) fn or_fail<T>(&mut self, result: SqlResult<T>) -> SqlResult<T> {
        let result = result.map_err(|error| self.judged(error));
        if let Err(error) = &result {
            self.fail();
            self.transaction.is_committed = Some(false);
            self.db.activities().totals.transactions.count_error(error);
        }
        result
    }

    /// A statement begins. If the last one was dropped before its end, nobody knows what it has done:
    /// its transaction is undone as a whole.
    pub(super) fn enter_statement(&mut self) {
        // A query that was dropped before its end keeps no version for the next statement.
        drop(self.looked_alone());
        if std::mem::replace(&mut self.transaction.is_running, true) {
            self.transaction.savepoints.clear();
            self.forget_statement();
            self.fail();
        }
    }

    /// A statement has ended.
    pub(super) fn leave_statement(&mut self) {
        (self.transaction.is_running, self.transaction.goes_on) = (false, false);
    }

    /// Begins or ends a block, or does what there is to do with a savepoint.
    pub(super) async fn transact(&mut self, step: &Transaction) -> SqlResult<StatementResult> {
        match step {
            Transaction::Begin(modes) => self.begin_block(modes),
            Transaction::Commit => self.end_block(true).await,
            Transaction::Rollback => self.end_block(false).await,
            Transaction::Savepoint(name) => self.save(name),
            Transaction::Release(name) => self.release(name),
            Transaction::RollbackTo(name) => self.go_back(name).await,
        }
    }

    fn begin_block(&mut self, modes: &Modes) -> SqlResult<StatementResult> {
        self.check_not_failed()?;
        // What a query has left that did not come to its end.
        drop(self.looked_alone());
        match self.transaction.status {
            TransactionStatus::Idle => self.set_modes(modes),
            _ => {
                self.warn("25001", "there is already a transaction in progress");
                self.change_modes(modes)?;
            }
        }
        self.stand(TransactionStatus::Open);
        Ok(tag(if modes.is_start { "START TRANSACTION" } else { "BEGIN" }))
    }

    /// `COMMIT` or `ROLLBACK`. Whatever becomes of the work, the block has ended.
    async fn end_block(&mut self, commits: bool) -> SqlResult<StatementResult> {
        let status = self.stand(TransactionStatus::Idle);
        self.transaction.savepoints.clear();
        match status {
            TransactionStatus::Idle => self.warn("25P01", "there is no transaction in progress"),
            _ => self.set_modes(&Modes::default()),
        }
        // `SET LOCAL` may be about the end itself.
        let waits = self.waits_for_device();
        self.settings.end_local();
        let commits = commits && status != TransactionStatus::Failed;
        self.transaction.has_looked = false;
        let seen = self.db.kept().map(|kept| kept.read_view.clone());
        self.db = self.db.unpinned();
        self.transaction.is_committed = Some(commits);
        let settled = match seen.filter(|_| commits && !self.has_written()) {
            Some(seen) => isolation::end_reads(&seen),
            None => self.settle(commits, waits).await,
        };
        self.transaction.deferrals = Deferrals::default();
        match commits && settled.is_ok() {
            true => self.mailbox.commit(self.info.pid),
            false => self.mailbox.forget_after(0),
        }
        settled?;
        Ok(tag(if commits { "COMMIT" } else { "ROLLBACK" }))
    }

    /// Takes the snapshot of a transaction that keeps one, before its first statement that looks at rows.
    pub(crate) async fn look(&mut self) {
        if self.transaction.status != TransactionStatus::Open {
            return;
        }
        self.transaction.has_looked = true;
        self.keep_version().await;
    }

    /// Takes the snapshot of a transaction that keeps one, if it has none yet.
    pub(super) async fn keep_version(&mut self) {
        let isolation = self.isolation();
        let keeps = isolation == Isolation::Serializable
            || isolation == Isolation::RepeatableRead && !planted::is("snapshot-per-statement");
        if !keeps || self.db.kept().is_some() {
            return;
        }
        let notes_reads = isolation == Isolation::Serializable;
        let keeper = match self.is_read_only() {
            true => None,
            // Who is cancelled meanwhile is told by its statement.
            false => self.db.versions().keepers().enter(&self.lock_wait().cancel).await.ok(),
        };
        match self.db.block().cloned() {
            None => self.db = self.db.pinned(notes_reads, keeper),
            // It may have locked tables before.
            Some(block) => {
                if let Some(block) = block.pinned(notes_reads, keeper) {
                    self.db = block.public().clone().within(block);
                }
            }
        }
    }

    /// A query begins. Outside of a block it is a transaction, which notes what it reads where it is serializable.
    pub(crate) fn look_alone(&mut self) {
        if self.transaction.status != TransactionStatus::Idle || self.has_written() {
            return;
        }
        if self.db.kept().is_some() {
            self.db = self.db.unpinned();
        }
        if self.isolation() == Isolation::Serializable {
            self.db = self.db.pinned(true, None);
        }
    }

    /// A query has ended, or is to go on by itself: what it sees, if it is a transaction and serializable.
    pub(crate) fn looked_alone(&mut self) -> Option<ReadView> {
        if self.transaction.status != TransactionStatus::Idle || self.has_written() {
            return None;
        }
        let seen = self.db.kept()?.read_view.clone();
        self.db = self.db.unpinned();
        Some(seen)
    }

    /// A query has ended that was a transaction if no block is open.
    ///
    /// # Errors
    /// Its own; 40001 where it is serializable and has no place among others.
    pub(crate) fn looked<T>(&mut self, done: SqlResult<T>) -> SqlResult<T> {
        let seen = self.looked_alone();
        let done = done?;
        seen.map_or(Ok(()), |seen| isolation::end_reads(&seen)).map(|()| done)
    }

    /// Whether a query that locks rows does so: there is a transaction that goes on, or a statement of
    /// which the query is a part.
    pub(super) fn locks_rows(&self) -> bool {
        self.transaction.status == TransactionStatus::Open || self.has_written()
    }

    /// From now on the transaction writes, and others that do wait.
    ///
    /// # Errors
    /// As [`Block::exclude`].
    pub(super) async fn write_alone(&mut self, wait: &LockWait) -> SqlResult<()> {
        if self.db.block().is_none() {
            self.begin_writing(wait).await?;
        }
        match self.db.block() {
            Some(block) => block.exclude(wait).await,
            None => Ok(()),
        }
    }

    /// From now on the transaction writes, beside others.
    ///
    /// # Errors
    /// As [`Block::begin`].
    pub(super) async fn begin_writing(&mut self, wait: &LockWait) -> SqlResult<()> {
        let block = Block::begin(&self.db, wait).await?;
        self.db = self.db.within(block);
        Ok(())
    }

    /// Before a transaction that is to write takes the snapshot that it keeps: who writes alone has
    /// ended, so that the snapshot has what that one has made of definitions.
    ///
    /// # Errors
    /// As [`Block::begin`].
    pub(super) async fn await_entry(&mut self) -> SqlResult<()> {
        if self.isolation() == Isolation::ReadCommitted || self.db.kept().is_some() {
            return Ok(());
        }
        self.db.versions().locks().share(&self.lock_wait()).await.map(drop)
    }

    /// The first statement that writes of those that are one transaction without a block.
    ///
    /// # Errors
    /// As [`Block::begin`].
    pub(super) async fn begin_part(&mut self) -> SqlResult<()> {
        self.keep_version().await;
        self.begin_writing(&self.lock_wait()).await
    }

    /// `LOCK TABLE`. The transaction's snapshot is taken behind it.
    ///
    /// # Errors
    /// 25P01 outside of a block, 42P01, and those of [`Block::begin`].
    pub(super) async fn lock_tables(&mut self, lock: &LockTables) -> SqlResult<()> {
        if self.transaction.status == TransactionStatus::Idle {
            let message = "LOCK TABLE can only be used in transaction blocks";
            return Err(SqlError::new(SqlState("25P01"), message));
        }
        let snapshot = self.db.snapshot();
        let is_view = |name: &String| snapshot.views.contains_key(name);
        let mut names = lock.tables.iter().filter(|name| !is_view(name));
        names.try_for_each(|name| snapshot.table(name).map(drop))?;
        let mode = match lock.mode {
            TableLock::Reads | TableLock::ReadsToChange => return Ok(()),
            TableLock::Changes => LockMode::KeyShare,
            TableLock::Writes => LockMode::Update,
        };
        let wait = self.lock_wait();
        let wait = if lock.nowait { wait.without_waiting() } else { wait };
        let names: Vec<&str> = lock.tables.iter().map(|name| name.as_str()).collect();
        self.lock_whole(&names, mode, &wait).await
    }

    /// Locks whole tables; where there are views among them, all tables.
    ///
    /// # Errors
    /// As [`Block::begin`] and [`Block::lock`].
    pub(super) async fn lock_whole(
        &mut self,
        names: &[&str],
        mode: LockMode,
        wait: &LockWait,
    ) -> SqlResult<()> {
        if !self.has_written() {
            self.begin_writing(wait).await?;
        }
        let Some(block) = self.db.block().cloned() else { return Ok(()) };
        // An attempt to have more of its right may have lost it.
        block.enter(wait).await?;
        loop {
            let snapshot = block.latest();
            let trees = |snapshot: &Snapshot| {
                let tree = |name: &&str| snapshot.tables.get(name).map(|entry| entry.tree_id);
                names.iter().map(tree).collect::<Option<Vec<_>>>()
            };
            let Some(found) = trees(&snapshot) else { return self.write_alone(wait).await };
            let keys = found.iter().map(|tree| (LockKey::of_table(*tree), mode)).collect();
            block.lock(keys, wait).await?;
            // Who had them before may have made other trees of them.
            if trees(&block.latest()).as_ref() == Some(&found) {
                return Ok(());
            }
        }
    }

    pub(super) fn isolation(&mut self) -> Isolation {
        Isolation::named(self.settings().kept_word(&kept::ISOLATION))
    }

    /// Whether a setting may still be changed.
    ///
    /// # Errors
    /// 25001 for the isolation of a transaction that has looked at rows, and for one that only reads and is to
    /// write; what settings say of the value.
    pub(super) fn check_mode_open(&mut self, name: &str, value: &str) -> SqlResult<()> {
        const MODES: [&str; 2] = ["transaction_isolation", "transaction_read_only"];
        let Some(mode) = MODES.into_iter().find(|mode| name.eq_ignore_ascii_case(mode)) else {
            return Ok(());
        };
        let mut changed = self.settings().clone();
        changed.set(mode, value)?;
        self.check_mode_in_recovery(mode, &changed.show(mode)?)?;
        let settings = self.settings();
        let (before, after) = (settings.show(mode)?, changed.show(mode)?);
        let has_looked = self.transaction.has_looked;
        let is_part = !self.transaction.savepoints.is_empty();
        let message = match (&*before, &*after) {
            _ if before == after || self.transaction.status == TransactionStatus::Idle => None,
            // It may become one that only reads at any time.
            ("off", "on") => None,
            ("on", "off") if is_part => {
                Some("cannot set transaction read-write mode inside a read-only transaction")
            }
            ("on", "off") => {
                has_looked.then_some("transaction read-write mode must be set before any query")
            }
            _ if has_looked => {
                Some("SET TRANSACTION ISOLATION LEVEL must be called before any query")
            }
            _ => is_part.then_some(
                "SET TRANSACTION ISOLATION LEVEL must not be called in a subtransaction",
            ),
        };
        message.map_or(Ok(()), |message| Err(SqlError::new(SqlState("25001"), message)))
    }

    /// Keeps or undoes what the transaction has written; whether it waits until that is durable.
    async fn settle(&mut self, commits: bool, waits: bool) -> SqlResult<()> {
        let Some(block) = self.db.block().cloned() else { return Ok(()) };
        let cancel = self.begin();
        let ready = if commits { Box::pin(self.before_commit()).await } else { Ok(()) };
        self.db = block.public().unpinned();
        let settled = match ready {
            Ok(()) if commits => block.clone().commit(waits).await,
            ready => ready.map(|()| None),
        };
        Block::roll_back(block, &cancel).await;
        self.note_acknowledged(*settled.as_ref().unwrap_or(&None));
        self.activity.end(settled.map(drop), 0)
    }

    /// `SET` of some settings.
    pub(crate) fn set(&mut self, settings: &[(String, String)]) -> SqlResult<StatementResult> {
        for (name, value) in settings {
            self.check_mode_open(name, value)?;
            self.settings.set(name, value)?;
        }
        self.follow_defaults();
        Ok(tag("SET"))
    }

    /// `RESET` of a setting, or of `all`.
    pub(super) fn reset(&mut self, name: &str) -> SqlResult<()> {
        self.settings.reset(name)?;
        self.follow_defaults();
        Ok(())
    }

    /// Outside of a block the next transaction has the modes of the session, which may have changed.
    fn follow_defaults(&mut self) {
        if self.transaction.status == TransactionStatus::Idle {
            self.set_modes(&Modes::default());
        }
    }

    /// `BEGIN` in a block: the transaction that is open gets the modes that it names.
    fn change_modes(&mut self, modes: &Modes) -> SqlResult<()> {
        let read_only = modes.read_only.map(|on| if on { "on" } else { "off" }.to_owned());
        for (name, value) in [
            ("transaction_isolation", modes.isolation.clone()),
            ("transaction_read_only", read_only),
        ] {
            let Some(value) = value else { continue };
            self.check_mode_open(name, &value)?;
            self.settings.set(name, &value)?;
        }
        Ok(())
    }

    /// Gives the transaction its modes: its own, or those of the session.
    pub(super) fn set_modes(&mut self, modes: &Modes) {
        let settings = self.settings();
        let read_only = modes.read_only;
        let read_only = read_only.unwrap_or_else(|| settings.is_kept_on(&kept::DEFAULT_READ_ONLY));
        let read_only = read_only || settings.in_recovery();
        let default = || settings.kept_word(&kept::DEFAULT_ISOLATION).to_owned();
        let isolation = modes.isolation.clone().unwrap_or_else(default);
        // The settings are there and take these values.
        let _ = settings.keep_flag(&kept::READ_ONLY, read_only);
        let _ = settings.keep_word(&kept::ISOLATION, &isolation);
    }

    /// `SET LOCAL`: outside of a block there is nothing that would end.
    pub(super) fn set_local(&mut self, name: &str, value: Option<&str>) -> SqlResult<()> {
        if self.transaction.status != TransactionStatus::Idle {
            if let Some(value) = value {
                self.check_mode_open(name, value)?;
            }
            return self.settings.set_local(name, value);
        }
        self.settings.clone().set_local(name, value)?;
        self.warn("25P01", "SET LOCAL can only be used in transaction blocks");
        Ok(())
    }

    pub(super) fn warn(&mut self, state: &'static str, message: &str) {
        self.notices.push(Notice::warning_of(SqlState(state), message));
    }

    fn save(&mut self, name: &str) -> SqlResult<StatementResult> {
        self.check_not_failed()?;
        self.check_in_block()?;
        if let Some(block) = self.db.block() {
            block.save(self.transaction.savepoints.len());
        }
        let deferrals = self.transaction.deferrals.clone();
        let (name, notifications) = (name.to_owned(), self.mailbox.noted());
        let is_read_only = self.is_read_only();
        let savepoint = Savepoint { name, deferrals, notifications, is_read_only };
        self.transaction.savepoints.push(savepoint);
        Ok(tag("SAVEPOINT"))
    }

    fn release(&mut self, name: &str) -> SqlResult<StatementResult> {
        self.check_not_failed()?;
        let at = self.savepoint(name)?;
        if let Some(block) = self.db.block() {
            block.release(at);
        }
        self.restore_access(at);
        self.transaction.savepoints.truncate(at);
        Ok(tag("RELEASE"))
    }

    /// `ROLLBACK TO SAVEPOINT`: from there a failed block goes on.
    async fn go_back(&mut self, name: &str) -> SqlResult<StatementResult> {
        let at = self.savepoint(name)?;
        if let Some(block) = self.db.block() {
            block.go_back(at).await?;
        }
        self.restore_access(at);
        self.transaction.savepoints.truncate(at + 1);
        let savepoint = &self.transaction.savepoints[at];
        self.transaction.deferrals = savepoint.deferrals.clone();
        self.mailbox.forget_after(savepoint.notifications);
        self.stand(TransactionStatus::Open);
        Ok(tag("ROLLBACK"))
    }

    /// What begins with a savepoint has ended: the transaction writes again if it did before.
    fn restore_access(&mut self, savepoint: usize) {
        let word = if self.transaction.savepoints[savepoint].is_read_only { "on" } else { "off" };
        // The setting is there and takes these values.
        let _ = self.settings.set("transaction_read_only", word);
    }

    /// The place of a savepoint among those that there are.
    fn savepoint(&self, name: &str) -> SqlResult<usize> {
        self.check_in_block()?;
        self.transaction.savepoints.iter().rposition(|s| s.name == name).ok_or_else(|| {
            let message = format!("savepoint \"{name}\" does not exist");
            SqlError::new(SqlState("3B001"), message)
        })
    }

    /// Savepoints are parts of a block.
    fn check_in_block(&self) -> SqlResult<()> {
        match self.transaction.status {
            TransactionStatus::Idle => {
                let message = "savepoints can only be used in transaction blocks";
                Err(SqlError::new(SqlState("25P01"), message))
            }
            _ => Ok(()),
        }
    }
}
