//! Transaction blocks as a session sees them.

use sql::parse::{Statement, Transaction};
use types::{SqlError, SqlResult};

use super::{Session, tag};
use crate::block;
use crate::result::StatementResult;

impl Session {
    /// Whether a statement that writes may run in the transaction block that is open, and makes the
    /// block one that writes.
    ///
    /// # Errors
    /// 0A000 with what may.
    pub fn write_in_block(&mut self, statement: &Statement) -> SqlResult<()> {
        block::admit(self.db.block().map(|b| &**b), statement)?;
        self.block_begins = self.db.block().is_none();
        Ok(())
    }

    /// A transaction block begins or ends.
    pub fn enter_block(&mut self, is_open: bool) {
        self.in_block = is_open;
    }

    /// Whether the transaction block that is open has written.
    pub fn has_written(&self) -> bool {
        self.db.block().is_some()
    }

    /// Ends a block that has written; there is nothing to do for others.
    pub(super) fn end_block(&mut self, step: &Transaction) -> SqlResult<StatementResult> {
        let Some(block) = self.db.block().cloned() else {
            let hint = "Connect to the server; in the shell each statement is a transaction.";
            return Err(SqlError::unsupported("transaction blocks here").with_hint(hint));
        };
        self.db = block.public().clone();
        match step {
            Transaction::Commit => block.commit().map(|()| tag("COMMIT")),
            Transaction::Rollback => Ok(tag("ROLLBACK")),
            _ => Err(SqlError::internal("this does not end a block")),
        }
    }
}
