//! The transaction block: what begins and ends it, and what it lets run.

use std::io;

use engine::{
    Copied, Discard, Notice, RoleStatement, Session, SqlError, SqlResult, SqlState, Statement,
    StatementResult, Transaction,
};

use crate::connection::Connection;

/// The transaction block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Block {
    /// None is open.
    Idle,
    /// Open.
    Open,
    /// Open, and a statement failed: nothing runs until it ends.
    Failed,
}

impl Block {
    /// As `ReadyForQuery` says it.
    pub fn status(self) -> u8 {
        match self {
            Block::Idle => b'I',
            Block::Open => b'T',
            Block::Failed => b'E',
        }
    }
}

impl Connection {
    /// Whether the transaction only reads, by its own mode or by that of the session.
    fn is_read_only(&mut self) -> bool {
        let Some(session) = &mut self.session else { return false };
        let name = match self.block {
            Block::Idle => "default_transaction_read_only",
            _ => "transaction_read_only",
        };
        session.settings().show(name).is_ok_and(|value| value == "on")
    }

    /// Gives the transaction its modes: its own, or those of the session.
    fn set_modes(&mut self, step: &Transaction) {
        let Some(session) = &mut self.session else { return };
        let (read_only, isolation) = match step {
            Transaction::Begin(modes) => {
                let word = |on| if on { "on" } else { "off" };
                (modes.read_only.map(|on| word(on).to_owned()), modes.isolation.clone())
            }
            _ => (None, None),
        };
        let settings = session.settings();
        for (name, value) in [("read_only", read_only), ("isolation", isolation)] {
            let default = || settings.show(&format!("default_transaction_{name}")).ok();
            let Some(value) = value.or_else(default) else { continue };
            // The settings are there and take these values.
            let _ = settings.set(&format!("transaction_{name}"), &value);
        }
    }

    /// A transaction that has written is ended by the engine, which may fail to keep its work.
    pub(crate) async fn end_or_begin(
        &mut self,
        step: Transaction,
    ) -> io::Result<SqlResult<StatementResult>> {
        if let Transaction::RollbackTo(name) = &step {
            return Ok(self.go_back(name).await);
        }
        let is_end = matches!(step, Transaction::Commit | Transaction::Rollback);
        if !is_end || !self.has_written() {
            return Ok(self.transaction(&step));
        }
        let end = match (&step, self.block) {
            (Transaction::Commit, Block::Idle | Block::Open) => Transaction::Commit,
            _ => Transaction::Rollback,
        };
        let told = self.transaction(&step);
        let ended = self.perform(Statement::Transaction(end)).await?;
        Ok(ended.and(told))
    }

    /// Whether the transaction has written.
    pub(crate) fn has_written(&self) -> bool {
        self.session.as_ref().is_some_and(Session::has_written)
    }

    /// Whether statements that no `BEGIN` has put together form one transaction, which has written.
    pub(crate) fn is_implicit(&self) -> bool {
        self.block == Block::Idle && self.has_written()
    }

    /// Commits the statements of a message, or of a pipeline, if they form a transaction.
    pub(crate) async fn end_implicit(&mut self) -> io::Result<SqlResult<()>> {
        if !self.is_implicit() {
            return Ok(Ok(()));
        }
        let commit = Statement::Transaction(Transaction::Commit);
        Ok(self.perform(commit).await?.map(drop))
    }

    /// After an error nothing of the transaction stays. Where a savepoint may save some of it, that is
    /// for the client to say.
    pub(crate) fn abandon(&mut self) {
        if self.block == Block::Open {
            self.block = Block::Failed;
        }
        if let (Some(session), true) = (&mut self.session, self.savepoints.is_empty()) {
            session.roll_back();
        }
    }

    fn transaction(&mut self, step: &Transaction) -> SqlResult<StatementResult> {
        let (tag, block) = match (step, self.block) {
            (
                Transaction::Savepoint(_) | Transaction::Release(_) | Transaction::RollbackTo(_),
                _,
            ) => {
                let tag = self.savepoint(step)?.to_owned();
                return Ok(StatementResult::Command { tag });
            }
            (Transaction::Begin(_), Block::Failed) => {
                return Err(in_failed_block());
            }
            (Transaction::Begin(modes), _) if modes.is_start => ("START TRANSACTION", Block::Open),
            (Transaction::Begin(_), _) => ("BEGIN", Block::Open),
            (Transaction::Commit, Block::Failed) => ("ROLLBACK", Block::Idle),
            (Transaction::Commit, _) => ("COMMIT", Block::Idle),
            (Transaction::Rollback, _) => ("ROLLBACK", Block::Idle),
        };
        let warning = match (step, self.block) {
            (Transaction::Begin(_), Block::Open) => {
                Some(("25001", "there is already a transaction in progress"))
            }
            (Transaction::Commit | Transaction::Rollback, Block::Idle) => {
                Some(("25P01", "there is no transaction in progress"))
            }
            _ => None,
        };
        if let Some((state, message)) = warning {
            let message = SqlError::new(SqlState(state), message);
            self.output.notice(&Notice { severity: "WARNING", message });
        }
        if block != self.block {
            self.set_modes(step);
        }
        self.block = block;
        if let Some(session) = &mut self.session {
            session.enter_block(block != Block::Idle);
        }
        if block == Block::Idle {
            self.end_cursors();
            self.savepoints.clear();
        }
        Ok(StatementResult::Command { tag: tag.to_owned() })
    }

    /// Sets or forgets a savepoint.
    fn savepoint(&mut self, step: &Transaction) -> SqlResult<&'static str> {
        if self.block == Block::Failed {
            return Err(in_failed_block());
        }
        match step {
            Transaction::Savepoint(name) => {
                self.in_block()?.save(self.savepoints.len());
                self.savepoints.push(name.clone());
                Ok("SAVEPOINT")
            }
            Transaction::Release(name) => {
                let at = self.savepoint_named(name)?;
                self.in_block()?.release(at);
                self.savepoints.truncate(at);
                Ok("RELEASE")
            }
            _ => Err(SqlError::internal("no step of a savepoint")),
        }
    }

    /// `ROLLBACK TO SAVEPOINT`: from there a failed block goes on.
    async fn go_back(&mut self, name: &str) -> SqlResult<StatementResult> {
        let at = self.savepoint_named(name)?;
        self.in_block()?.go_back(at).await?;
        self.savepoints.truncate(at + 1);
        self.block = Block::Open;
        Ok(StatementResult::Command { tag: "ROLLBACK".to_owned() })
    }

    /// The place of a savepoint among those that there are.
    fn savepoint_named(&self, name: &str) -> SqlResult<usize> {
        self.in_block()?;
        self.savepoints.iter().rposition(|s| s == name).ok_or_else(|| {
            let message = format!("savepoint \"{name}\" does not exist");
            SqlError::new(SqlState("3B001"), message)
        })
    }

    /// The session, in whose transaction block there may be savepoints.
    fn in_block(&self) -> SqlResult<&Session> {
        if self.block == Block::Idle {
            let message = "savepoints can only be used in transaction blocks";
            return Err(SqlError::new(SqlState("25P01"), message));
        }
        self.session.as_ref().ok_or_else(|| SqlError::internal("a statement runs already"))
    }

    /// Whether the transaction block lets a statement run.
    pub(crate) fn allow(&mut self, statement: &Statement) -> SqlResult<()> {
        if self.block != Block::Failed && !reads_only(statement) && self.is_read_only() {
            let message = "cannot execute a statement that writes in a read-only transaction";
            return Err(SqlError::new(SqlState("25006"), message));
        }
        match self.block {
            Block::Failed => return Err(in_failed_block()),
            Block::Open if matches!(statement, Statement::Discard(Discard::All)) => {
                let message = "DISCARD ALL cannot run inside a transaction block";
                return Err(SqlError::new(SqlState("25001"), message));
            }
            Block::Open if locks_rows(statement) => {
                return Err(SqlError::unsupported("SELECT .. FOR UPDATE in a transaction block")
                    .with_detail("Rows stay as they are for one statement only."));
            }
            _ => {}
        }
        let is_alone = self.block == Block::Idle && !self.goes_on && !self.has_written();
        match &mut self.session {
            _ if is_alone || !writes(statement) => Ok(()),
            Some(session) => session.write_in_block(statement),
            None => Err(SqlError::internal("a statement runs already")),
        }
    }

    /// Whether a statement that writes is the first that does so outside of a block: it is a
    /// transaction of its own if nothing follows it.
    pub(crate) fn may_be_alone(&self, statement: &Statement) -> bool {
        self.block == Block::Idle && !self.has_written() && writes(statement)
    }
}

fn locks_rows(statement: &Statement) -> bool {
    matches!(statement, Statement::Query(query) if query.locks_rows())
}

/// Whether a statement is one that a transaction keeps or undoes.
pub(crate) fn writes(statement: &Statement) -> bool {
    let assumes = matches!(
        statement,
        Statement::Role(RoleStatement::Assume(_) | RoleStatement::Authorize(_))
    );
    !assumes && !reads_only(statement) && !matches!(statement, Statement::Transaction(_))
}

fn reads_only(statement: &Statement) -> bool {
    matches!(
        statement,
        Statement::Query(_)
            | Statement::Explain(_)
            | Statement::Set { .. }
            | Statement::SetTransaction(_)
            | Statement::SetLocal { .. }
            | Statement::Show { .. }
            | Statement::CheckDatabase
            | Statement::Reset { .. }
            | Statement::Prepare(_)
            | Statement::Deallocate { .. }
            | Statement::Discard(_)
            | Statement::Cursor(_)
    ) || matches!(statement, Statement::CopyTo(copy) if !matches!(copy.copied, Copied::Returning(_)))
}

pub(crate) fn in_failed_block() -> SqlError {
    let message = "current transaction is aborted, commands ignored until end of transaction block";
    SqlError::new(SqlState::IN_FAILED_TRANSACTION, message)
}
