//! The transaction block: what begins and ends it, and what it lets run.

use std::io;

use engine::{
    Copied, Discard, Notice, Session, SqlError, SqlResult, SqlState, Statement, StatementResult,
    Transaction,
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

    /// A block that has written is ended by the engine, which may refuse to keep its work.
    pub(crate) async fn end_or_begin(
        &mut self,
        step: Transaction,
    ) -> io::Result<SqlResult<StatementResult>> {
        let written = self.session.as_ref().is_some_and(Session::has_written);
        let end = match (&step, self.block) {
            _ if !written => return Ok(self.transaction(&step)),
            (Transaction::Commit, Block::Open) => Transaction::Commit,
            (Transaction::Commit | Transaction::Rollback, _) => Transaction::Rollback,
            (Transaction::Begin(_), _) => {
                return Ok(self.transaction(&step));
            }
            _ => return Ok(Err(SqlError::unsupported("savepoints in a block that writes"))),
        };
        let told = self.transaction(&step);
        let ended = self.perform(Statement::Transaction(end), None).await?;
        Ok(ended.and(told))
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

    /// Savepoints of a block that only reads: they say from where a failed block goes on.
    fn savepoint(&mut self, step: &Transaction) -> SqlResult<&'static str> {
        let (Transaction::Savepoint(name)
        | Transaction::Release(name)
        | Transaction::RollbackTo(name)) = step
        else {
            return Err(SqlError::internal("no step of a savepoint"));
        };
        let is_rollback = matches!(step, Transaction::RollbackTo(_));
        match self.block {
            Block::Idle => {
                let message = "savepoints can only be used in transaction blocks";
                return Err(SqlError::new(SqlState("25P01"), message));
            }
            Block::Failed if !is_rollback => return Err(in_failed_block()),
            _ => {}
        }
        if let Transaction::Savepoint(name) = step {
            self.savepoints.push(name.clone());
            return Ok("SAVEPOINT");
        }
        let Some(at) = self.savepoints.iter().rposition(|s| s == name) else {
            let message = format!("savepoint \"{name}\" does not exist");
            return Err(SqlError::new(SqlState("3B001"), message));
        };
        self.savepoints.truncate(if is_rollback { at + 1 } else { at });
        if is_rollback {
            self.block = Block::Open;
        }
        Ok(if is_rollback { "ROLLBACK" } else { "RELEASE" })
    }

    /// Whether the transaction block lets a statement run.
    pub(crate) fn allow(&mut self, statement: &Statement) -> SqlResult<()> {
        if self.block != Block::Failed && !reads_only(statement) && self.is_read_only() {
            let message = "cannot execute a statement that writes in a read-only transaction";
            return Err(SqlError::new(SqlState("25006"), message));
        }
        match (self.block, &mut self.session) {
            (Block::Idle, _) => Ok(()),
            (Block::Failed, _) => Err(in_failed_block()),
            (Block::Open, _) if matches!(statement, Statement::Discard(Discard::All)) => {
                let message = "DISCARD ALL cannot run inside a transaction block";
                Err(SqlError::new(SqlState("25001"), message))
            }
            (Block::Open, _) if locks_rows(statement) => {
                Err(SqlError::unsupported("SELECT .. FOR UPDATE in a transaction block")
                    .with_detail("Rows stay as they are for one statement only."))
            }
            (Block::Open, _) if reads_only(statement) => Ok(()),
            (Block::Open, _) if !self.savepoints.is_empty() => {
                Err(SqlError::unsupported("writing in a transaction block with savepoints"))
            }
            (Block::Open, Some(session)) => session.write_in_block(statement),
            (Block::Open, None) => Err(SqlError::internal("a statement runs already")),
        }
    }
}

fn locks_rows(statement: &Statement) -> bool {
    matches!(statement, Statement::Query(query) if query.locks_rows())
}

fn reads_only(statement: &Statement) -> bool {
    matches!(
        statement,
        Statement::Query(_)
            | Statement::Explain(_)
            | Statement::Set { .. }
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
