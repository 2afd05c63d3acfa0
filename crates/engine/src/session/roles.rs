//! Whose a session is.

use std::sync::Arc;

use sql::parse::RoleStatement;
use types::SqlResult;

use super::state::Session;
use crate::activity::Signals;
use crate::activity::status::TransactionStatus;
use crate::result::{StatementResult, tag};

impl Session {
    /// Gives the session to a role that has proved who it is. In a database where nobody has made a
    /// role or set a password yet, any name means its one role, a superuser.
    ///
    /// # Errors
    /// 28000 for a role that may not log in or does not exist, 42501 for one that may not connect.
    pub fn log_in(&mut self, user: &str, pid: i32) -> SqlResult<()> {
        self.info = self.info.logged_in(&self.db.snapshot(), user, pid)?;
        self.settings.set_superuser(self.is_superuser());
        let (role, cancel) = (self.info.role, self.cancel_handle());
        self.activity.listens(Signals { pid, role, cancel, terminate: None });
        Ok(())
    }

    /// Says how the session is ended from outside, for `pg_terminate_backend`.
    pub fn on_terminate(&self, terminate: Arc<dyn Fn() + Send + Sync>) {
        if let Some(signals) = self.activity.signals() {
            self.activity.listens(Signals { terminate: Some(terminate), ..signals });
        }
    }

    /// From now on the session's queries have no effect at all: more than in a transaction that only
    /// reads, functions that would have one (`nextval`, `set_config`, `pg_terminate_backend`, locks)
    /// end with 25006.
    pub fn only_reads(&mut self) {
        self.reads_only = true;
    }

    /// A statement or a message has ended: unless a block is open, so has its transaction, and with it
    /// what was locked for it; others are told what it has to tell.
    pub fn end_transaction(&mut self) {
        if self.transaction_status() == TransactionStatus::Idle {
            drop(self.looked_alone());
            self.activity.end_transaction(self.transaction.is_committed.take());
            self.mailbox.commit(self.info.pid);
        }
    }

    /// The role that statements run as.
    pub fn user(&self) -> &str {
        &self.info.user
    }

    /// The role of the session.
    pub fn session_user(&self) -> &str {
        &self.info.session_user
    }

    /// Whether the role may do everything.
    pub fn is_superuser(&self) -> bool {
        self.db.snapshot().access.is_superuser(self.info.role)
    }

    /// True if the role may follow the server.
    pub fn may_replicate(&self) -> bool {
        let snapshot = self.db.snapshot();
        let role = snapshot.access.roles.get(&self.info.role);
        self.is_superuser() || role.is_some_and(|role| role.replication)
    }

    /// The name that the client gives itself.
    pub fn application_name(&self) -> &str {
        &self.settings.application_name
    }

    /// Connections that the role may have at once; `None` is no limit.
    pub fn connection_limit(&self) -> Option<usize> {
        let snapshot = self.db.snapshot();
        let role = snapshot.access.roles.get(&self.info.role)?;
        usize::try_from(role.connection_limit).ok()
    }

    pub(super) async fn change_roles(
        &mut self,
        statement: &RoleStatement,
    ) -> SqlResult<StatementResult> {
        let snapshot = self.db.snapshot();
        match statement {
            RoleStatement::Assume(name) => {
                self.info = self.info.assuming(&snapshot, name.as_deref())?;
                self.settings.set_superuser(self.is_superuser());
                Ok(tag("SET"))
            }
            RoleStatement::Authorize(name) => {
                self.info = self.info.authorized(&snapshot, name.as_deref())?;
                self.settings.set_superuser(self.is_superuser());
                Ok(tag("SET"))
            }
            other => {
                let writing = self.writing_access().await?;
                let changed = crate::ddl::roles::change(&writing, &self.info, other).await;
                let (done, notices) = writing.settle(changed).await?;
                self.notices.extend(notices);
                Ok(tag(done))
            }
        }
    }
}
