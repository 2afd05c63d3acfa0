//! Transactions of programs that embed the engine: a piece of work that is committed as a whole, and may
//! be done again when it came into conflict with others.

use types::{SqlError, SqlResult, SqlState};

use super::state::Session;
use crate::activity::status::TransactionStatus;
use crate::database::Database;
use crate::door;
use crate::isolation::Isolation;

/// How a transaction of a program runs.
#[derive(Clone, Copy, Debug)]
pub struct TransactionOptions {
    /// What it promises about what it reads.
    pub isolation: Isolation,
    /// Whether it is refused to write.
    pub read_only: bool,
    /// How often it is tried when it fails with 40001 or 40P01, at least once.
    pub attempts: u32,
}

impl Default for TransactionOptions {
    fn default() -> TransactionOptions {
        TransactionOptions { isolation: Isolation::ReadCommitted, read_only: false, attempts: 1 }
    }
}

impl TransactionOptions {
    fn begin(&self) -> String {
        let access = if self.read_only { "read only" } else { "read write" };
        format!("begin isolation level {}, {access}", self.isolation.name())
    }
}

impl Database {
    /// Runs `work` in a transaction of a session of its own: see [`Session::in_transaction`]. From an
    /// ordinary thread; the work is a task of the runtime.
    ///
    /// # Errors
    /// As [`Session::in_transaction`].
    pub fn transaction<T: Send>(
        &self,
        options: &TransactionOptions,
        work: impl AsyncFnMut(&mut Session) -> SqlResult<T> + Send,
    ) -> SqlResult<T> {
        let mut session = self.session();
        door::wait(&self.handle(), || Box::pin(session.in_transaction(options, work)))
    }
}

/// What others have brought about, and may not bring about again.
const RETRIED: [SqlState; 2] = [SqlState("40001"), SqlState("40P01")];

/// The session of a transaction that may be dropped before its end.
struct Unfinished<'a>(&'a mut Session);

impl Drop for Unfinished<'_> {
    fn drop(&mut self) {
        self.0.abandon();
    }
}

impl Session {
    /// Runs `work` in a transaction: what it has done is committed as a whole when it returns `Ok`, and
    /// undone otherwise. A transaction that fails with 40001 or 40P01, which others have brought about, is undone
    /// and the work is done again, as often as the options say. Call it in a task of the database's
    /// runtime. Dropped before its end, it leaves nothing.
    ///
    /// # Errors
    /// That of the work; 25P02 when a statement has failed and the work did not; 25001 in a transaction;
    /// and what keeps it from becoming durable.
    pub async fn in_transaction<T>(
        &mut self,
        options: &TransactionOptions,
        mut work: impl AsyncFnMut(&mut Session) -> SqlResult<T>,
    ) -> SqlResult<T> {
        if !self.is_idle() {
            return Err(SqlError::new(SqlState("25001"), "there is a transaction in progress"));
        }
        let Unfinished(session) = &mut Unfinished(self);
        let mut attempt = 1;
        loop {
            session.run_all(&options.begin()).await?;
            let done = match work(session).await {
                Ok(value) => session.commit().await.map(|()| value),
                failed => failed,
            };
            let error = match done {
                Ok(value) => return Ok(value),
                Err(error) => error,
            };
            if session.transaction_status() != TransactionStatus::Idle {
                session.run_all("rollback").await?;
            }
            if !RETRIED.contains(&error.state) || attempt >= options.attempts {
                return Err(error);
            }
            attempt += 1;
        }
    }

    async fn commit(&mut self) -> SqlResult<()> {
        self.check_not_failed()?;
        self.run_all("commit").await.map(drop)
    }
}
