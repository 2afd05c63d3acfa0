//! Transaction blocks as a session sees them.

use sql::parse::{Statement, Transaction};
use types::{SqlError, SqlResult, SqlState};

use super::{Session, tag};
use crate::block;
use crate::notice::Notice;
use crate::result::StatementResult;

/// Whether a statement that writes may run in a transaction of several statements.
///
/// # Errors
/// 25001 for what is a transaction of its own.
pub fn may_run_in_block(statement: &Statement) -> SqlResult<()> {
    block::admit(statement)
}

impl Session {
    /// Whether a statement that writes may run in the transaction of several statements that is open,
    /// and makes the transaction one that writes.
    ///
    /// # Errors
    /// 25001 for what is a transaction of its own.
    pub fn write_in_block(&mut self, statement: &Statement) -> SqlResult<()> {
        may_run_in_block(statement)?;
        self.block_begins = self.db.block().is_none();
        Ok(())
    }

    /// Sets a savepoint behind `depth` others.
    pub fn save(&self, depth: usize) {
        self.db.block().into_iter().for_each(|block| block.save(depth));
    }

    /// Forgets the savepoint behind `depth` others and those after it.
    pub fn release(&self, depth: usize) {
        self.db.block().into_iter().for_each(|block| block.release(depth));
    }

    /// Undoes what was written since the savepoint behind `depth` others was set. Call it in a task of
    /// the database's runtime.
    ///
    /// # Errors
    /// Those of storage, which writes no more then.
    pub async fn go_back(&self, depth: usize) -> SqlResult<()> {
        match self.db.block() {
            Some(block) => block.go_back(depth).await,
            None => Ok(()),
        }
    }

    /// Undoes what the transaction has written, and lets others write.
    pub fn roll_back(&mut self) {
        self.block_begins = false;
        if let Some(block) = self.db.block().cloned() {
            self.db = block.public().clone();
        }
    }

    /// A transaction block begins or ends.
    pub fn enter_block(&mut self, is_open: bool) {
        self.in_block = is_open;
        if !is_open {
            self.settings.end_local();
        }
    }

    /// `SET LOCAL`: outside of a block there is nothing that would end.
    pub(super) fn set_local(&mut self, name: &str, value: Option<&str>) -> SqlResult<()> {
        if self.in_block {
            return self.settings.set_local(name, value);
        }
        self.settings.clone().set_local(name, value)?;
        let message = "SET LOCAL can only be used in transaction blocks";
        let message = SqlError::new(SqlState("25P01"), message);
        self.notices.push(Notice { severity: "WARNING", message });
        Ok(())
    }

    /// Whether the transaction that is open has written.
    pub fn has_written(&self) -> bool {
        self.db.block().is_some()
    }

    /// Ends a block that has written; there is nothing to do for others.
    pub(super) async fn end_block(&mut self, step: &Transaction) -> SqlResult<StatementResult> {
        let Some(block) = self.db.block().cloned() else {
            let hint = "Connect to the server; in the shell each statement is a transaction.";
            return Err(SqlError::unsupported("transaction blocks here").with_hint(hint));
        };
        self.db = block.public().clone();
        match step {
            Transaction::Commit => block.commit().await.map(|()| tag("COMMIT")),
            Transaction::Rollback => Ok(tag("ROLLBACK")),
            _ => Err(SqlError::internal("this does not end a block")),
        }
    }
}
