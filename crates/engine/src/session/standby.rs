//! Sessions of a database that follows another one: which state they see, and what they may do.

use std::future::poll_fn;
use std::pin::pin;
use std::task::Poll;

use exec::LocalFuture;
use sql::parse::{
    Copied, DropObject, GrantTarget, Modes, NotificationStatement, RoleStatement, TableLock,
    Transaction,
};
use sql::{Query, Statement};
use txn::undo::SNAPSHOT_TOO_OLD;
use types::{SqlError, SqlResult, SqlState};

use super::admit::{computed, looks, reads_only};
use super::state::Session;
use crate::activity::status::TransactionStatus;
use crate::isolation::Isolation;
use crate::privileges::statement_kind;
use crate::succession::{broken_off, conflict};

const READ_ONLY: SqlState = SqlState("25006");

impl Session {
    /// True if the database has another state by now, to which [`Session::catch_up`] goes on.
    pub fn is_behind(&self) -> bool {
        self.db.is_left() && self.may_move()
    }

    /// True if the session is free to leave its state.
    fn may_move(&self) -> bool {
        let sees_newest = self.transaction.status == TransactionStatus::Open
            && self.db.kept().is_none()
            && self.cursors.is_empty();
        !self.has_written() && (self.transaction.status == TransactionStatus::Idle || sees_newest)
    }

    /// Goes on to the last state of the database, between two statements. It may wait for that.
    /// Call it in a task of the database's runtime.
    pub fn catch_up(&mut self) -> LocalFuture<'_, ()> {
        Box::pin(async move {
            if !self.is_behind() {
                return;
            }
            let next = self.db.unpinned().succeeded().await;
            let session = self.activity.session_id;
            self.db.part(session);
            self.db = next;
            self.db.join(session, &self.cancel);
            self.stand_by();
        })
    }

    /// True if nothing of what the session has begun binds it to its state, so that it goes on to
    /// the next one as soon as there is one.
    pub fn rests_freely(&self) -> bool {
        self.is_idle() || self.may_move()
    }

    /// Waits until the session's state has lasted too long; the error to end it with. For ever
    /// where none does.
    pub async fn outlasted(&self) -> SqlError {
        self.db.over().await;
        broken_off()
    }

    /// Waits until somebody has something to tell the session: a notification, or another state.
    /// Within a transaction nobody is told of notifications.
    pub async fn stirred(&self) {
        if !self.is_idle() {
            return self.db.left().await;
        }
        let (mut notified, mut left) = (pin!(self.notified()), pin!(self.db.left()));
        poll_fn(|cx| match notified.as_mut().poll(cx) {
            Poll::Ready(()) => Poll::Ready(()),
            Poll::Pending => left.as_mut().poll(cx),
        })
        .await;
    }

    /// True if [`Session::stirred`] may ever be over.
    pub fn may_be_stirred(&self) -> bool {
        self.listens() || self.db.has_states()
    }

    /// The session's settings say whether it only reads.
    pub(super) fn stand_by(&mut self) {
        let in_recovery = self.db.is_in_recovery();
        if self.settings.set_in_recovery(in_recovery)
            && self.transaction.status == TransactionStatus::Idle
        {
            self.set_modes(&Modes::default());
        }
    }

    /// An error as the client is to see it: what ends because its state is over says so.
    pub fn judged(&self, error: SqlError) -> SqlError {
        let is_end = error.state == SqlState::QUERY_CANCELED
            || error.state == SqlState::DATA_CORRUPTED
            || error.state == SqlState::IO_ERROR;
        let is_too_old = error.state == SNAPSHOT_TOO_OLD && self.db.is_in_recovery();
        if is_too_old || is_end && self.db.is_over() { conflict() } else { error }
    }

    /// Refuses a statement that may not run while the database follows another one.
    ///
    /// # Errors
    /// 25006 for what writes, locks or tells others; 0A000 as
    /// [`Session::admit_look_in_recovery`].
    pub(super) fn admit_in_recovery(&mut self, statement: &Statement) -> SqlResult<()> {
        if let Some(what) = refused(statement) {
            return Err(SqlError::new(READ_ONLY, format!("cannot execute {what}")));
        }
        match looks(statement) || computed(statement).is_some() {
            true => self.admit_look_in_recovery(),
            false => Ok(()),
        }
    }

    /// Refuses to look at rows in a transaction that may not, while the database follows another
    /// one.
    ///
    /// # Errors
    /// 0A000 for serializable ones, of which the primary would have to know.
    pub(super) fn admit_look_in_recovery(&mut self) -> SqlResult<()> {
        match self.db.is_in_recovery() && self.isolation() == Isolation::Serializable {
            true => Err(no_serializable()),
            false => Ok(()),
        }
    }

    /// Refuses a transaction that may not begin so while the database follows another one.
    ///
    /// # Errors
    /// 0A000, as PostgreSQL has it.
    pub(super) fn admit_step_in_recovery(&self, step: &Transaction) -> SqlResult<()> {
        let Transaction::Begin(modes) = step else { return Ok(()) };
        if !self.db.is_in_recovery() {
            return Ok(());
        }
        if modes.read_only == Some(false) {
            return Err(no_writes());
        }
        match modes.isolation.as_deref().map(Isolation::named) {
            Some(Isolation::Serializable) => Err(no_serializable()),
            _ => Ok(()),
        }
    }

    /// Refuses a value that a setting of the transaction may not have while the database follows
    /// another one.
    ///
    /// # Errors
    /// 0A000, as PostgreSQL has it.
    pub(super) fn check_mode_in_recovery(&self, mode: &str, value: &str) -> SqlResult<()> {
        match (mode, value) {
            _ if !self.db.is_in_recovery() => Ok(()),
            ("transaction_read_only", "off") => Err(no_writes()),
            ("transaction_isolation", "serializable") => Err(no_serializable()),
            _ => Ok(()),
        }
    }
}

/// The command of a statement that is refused, and when it is, in PostgreSQL's words; none of one
/// that may run.
fn refused(statement: &Statement) -> Option<String> {
    if let Some(clause) = computed(statement).and_then(Query::lock_clause) {
        return Some(format!("SELECT {clause} in a read-only transaction"));
    }
    let kind = statement_kind(statement);
    match statement {
        Statement::Lock(lock) if lock.mode == TableLock::Writes => {
            Some("LOCK TABLE during recovery".to_owned())
        }
        Statement::Notification(NotificationStatement::Unlisten(_)) => None,
        Statement::Notification(NotificationStatement::Listen(_)) => {
            Some("LISTEN during recovery".to_owned())
        }
        Statement::Notification(_) => Some("NOTIFY during recovery".to_owned()),
        Statement::Execute(_) => None,
        Statement::Copy(_) => Some("COPY during recovery".to_owned()),
        Statement::CheckDatabase
        | Statement::Vacuum(_)
        | Statement::Analyze { .. }
        | Statement::Reorganize { .. }
        | Statement::Checkpoint
        | Statement::Backup { .. } => Some(format!("{kind} during recovery")),
        Statement::Role(RoleStatement::Assume(_) | RoleStatement::Authorize(_)) => None,
        Statement::Nominal(nominal) => Some(format!("{} in a read-only transaction", nominal.tag)),
        other if !reads_only(other) => {
            Some(format!("{} in a read-only transaction", command(other)))
        }
        _ => None,
    }
}

/// The command of a statement that writes.
fn command(statement: &Statement) -> &'static str {
    match statement {
        Statement::ExplainWrite(explain) => command(&explain.statement),
        Statement::WithWrites(with) => command(&with.body),
        Statement::CopyTo(copy) => match &copy.copied {
            Copied::Returning(statement) => command(statement),
            Copied::Table { .. } | Copied::Query(_) => "COPY",
        },
        Statement::CreateTable(create) if create.query.is_some() => "CREATE TABLE AS",
        Statement::Truncate(_) => "TRUNCATE TABLE",
        Statement::Drop(drop) => match drop.object {
            DropObject::Table => "DROP TABLE",
            DropObject::Index => "DROP INDEX",
            DropObject::View => "DROP VIEW",
            DropObject::Sequence => "DROP SEQUENCE",
        },
        Statement::Role(role) => role_command(role),
        other => statement_kind(other),
    }
}

/// The command of a statement about roles.
fn role_command(role: &RoleStatement) -> &'static str {
    match role {
        RoleStatement::Create { .. } => "CREATE ROLE",
        RoleStatement::Alter { .. } | RoleStatement::Rename { .. } => "ALTER ROLE",
        RoleStatement::Drop { .. } => "DROP ROLE",
        RoleStatement::Owner { .. } => "ALTER TABLE",
        RoleStatement::Grant(grant) => match (grant.revoke, &grant.target) {
            (false, GrantTarget::Roles(_)) => "GRANT ROLE",
            (true, GrantTarget::Roles(_)) => "REVOKE ROLE",
            (false, _) => "GRANT",
            (true, _) => "REVOKE",
        },
        RoleStatement::Assume(_) | RoleStatement::Authorize(_) => "SET",
    }
}

fn no_writes() -> SqlError {
    let message = "cannot set transaction read-write mode during recovery";
    SqlError::new(SqlState::FEATURE_NOT_SUPPORTED, message)
}

fn no_serializable() -> SqlError {
    let message = "cannot use serializable mode in a hot standby";
    SqlError::new(SqlState::FEATURE_NOT_SUPPORTED, message)
        .with_hint("You can use REPEATABLE READ instead.")
}
