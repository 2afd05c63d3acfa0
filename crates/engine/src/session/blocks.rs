//! Transaction blocks as a session sees them.

use sql::parse::{Statement, Transaction};
use types::{SqlError, SqlResult, SqlState};

use super::{Session, tag};
use crate::block;
use crate::notice::Notice;
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
