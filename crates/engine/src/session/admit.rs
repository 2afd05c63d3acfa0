//! What a statement may do in the transaction that is open.

use sql::parse::{Copied, CursorStatement, Discard, RoleStatement, TableLock};
use sql::{Query, Statement};
use types::{SqlError, SqlResult, SqlState};

use super::state::Session;
use crate::activity::status::TransactionStatus;
use crate::block;
use crate::settings::kept;
use crate::statements::Executed;

impl Session {
    /// Whether the transaction lets a statement run. [`Session::run`] asks it too; ask before where
    /// something has to be done first, such as asking a client for data.
    ///
    /// # Errors
    /// 25P02 in a failed block, 25006 for what writes in a transaction that only reads, 25001 and 0A000
    /// for what runs outside of transactions of several statements only.
    pub fn admit(&mut self, statement: &Statement) -> SqlResult<()> {
        // Each step of a transaction knows itself.
        if let Statement::Transaction(step) = statement {
            return self.admit_step_in_recovery(step);
        }
        self.check_not_failed()?;
        // What it stands for is asked about itself.
        if matches!(statement, Statement::Execute(_)) {
            return Ok(());
        }
        if self.db.is_in_recovery() {
            self.admit_in_recovery(statement)?;
        } else if locks(statement)
            && self.transaction.status == TransactionStatus::Open
            && self.is_read_only()
        {
            let message = "cannot lock what may be written in a read-only transaction";
            return Err(SqlError::new(SqlState("25006"), message));
        }
        if !reads_only(statement) && !self.db.is_in_recovery() && self.is_read_only() {
            let message = "cannot execute a statement that writes in a read-only transaction";
            return Err(SqlError::new(SqlState("25006"), message));
        }
        if self.transaction.status == TransactionStatus::Open {
            may_run_in_block(statement)?;
        }
        match self.is_part() && writes(statement) {
            true => block::admit(statement),
            false => Ok(()),
        }
    }

    /// Whether the statements of a message may run one after the other, asked before the first of them
    /// runs: they form one transaction, unless the message says otherwise or none but the last writes.
    ///
    /// # Errors
    /// 25001 for what is a transaction of its own.
    pub fn admit_together(&self, statements: &[&Statement]) -> SqlResult<()> {
        let is_step = |statement: &Statement| matches!(statement, Statement::Transaction(_));
        let together = statements.iter().copied().take_while(|statement| !is_step(statement));
        let written = together.enumerate().filter(|(_, statement)| writes(statement));
        let written: Vec<(usize, &Statement)> = written.collect();
        let is_alone = matches!(*written, [(at, _)] if at + 1 == statements.len());
        if self.transaction.status != TransactionStatus::Idle || is_alone {
            return Ok(());
        }
        written.into_iter().try_for_each(|(_, statement)| block::admit(statement))
    }

    /// Whether a statement is the first outside of a block that writes: it is a transaction of its own if
    /// nothing follows it.
    pub fn may_be_alone(&self, statement: &Statement) -> bool {
        if !self.is_idle() {
            return false;
        }
        match statement {
            // What is wrong with it is told when it runs.
            Statement::Execute(execute) => match self.executed(execute) {
                Ok(Executed::Statement(executed)) => writes(&executed),
                _ => writes(statement),
            },
            other => writes(other),
        }
    }

    /// Whether the transaction lets anything run at all.
    ///
    /// # Errors
    /// 25P02 in a failed block; 08007 outside of one, once, when what was acknowledged before it was durable
    /// does not become so.
    pub fn check_not_failed(&self) -> SqlResult<()> {
        if self.transaction.status == TransactionStatus::Idle {
            return self.check_acknowledged();
        }
        if self.transaction.status != TransactionStatus::Failed {
            return Ok(());
        }
        let message =
            "current transaction is aborted, commands ignored until end of transaction block";
        Err(SqlError::new(SqlState::IN_FAILED_TRANSACTION, message))
    }

    /// Whether a statement that begins now is part of a transaction of several.
    fn is_part(&self) -> bool {
        !self.is_idle() || self.transaction.goes_on
    }

    /// Whether a statement is the first that writes in a transaction of several.
    pub(super) fn begins_writing(&self, statement: &Statement) -> bool {
        let is_first = self.is_part() && !self.has_written();
        is_first && writes(statement) && !matches!(statement, Statement::Execute(_))
    }

    /// Whether the transaction only reads, by its own mode or by that of the session.
    pub(super) fn is_read_only(&mut self) -> bool {
        let setting = match self.transaction.status {
            TransactionStatus::Idle => &kept::DEFAULT_READ_ONLY,
            _ => &kept::READ_ONLY,
        };
        self.settings().is_kept_on(setting)
    }
}

fn may_run_in_block(statement: &Statement) -> SqlResult<()> {
    match statement {
        Statement::Discard(Discard::All) => {
            let message = "DISCARD ALL cannot run inside a transaction block";
            Err(SqlError::new(SqlState("25001"), message))
        }
        _ => Ok(()),
    }
}

/// Whether a statement is one that a transaction keeps or undoes.
fn writes(statement: &Statement) -> bool {
    let assumes = matches!(
        statement,
        Statement::Role(RoleStatement::Assume(_) | RoleStatement::Authorize(_))
    );
    !assumes && !reads_only(statement) && !matches!(statement, Statement::Transaction(_))
}

/// Whether a statement keeps others from writing until the transaction ends.
fn locks(statement: &Statement) -> bool {
    match statement {
        Statement::Lock(lock) => matches!(lock.mode, TableLock::Changes | TableLock::Writes),
        other => computed(other).is_some_and(|query| query.row_locks().is_some()),
    }
}

/// The query whose rows a statement computes, where it changes nothing itself: a cursor begins with
/// its `DECLARE`.
pub(super) fn computed(statement: &Statement) -> Option<&Query> {
    match statement {
        Statement::Query(query) => Some(query),
        Statement::Explain(explain) if explain.analyze => Some(&explain.query),
        Statement::Cursor(CursorStatement::Declare(declare)) => Some(&declare.query),
        Statement::CopyTo(copy) => match &copy.copied {
            Copied::Query(query) => Some(query),
            Copied::Table { .. } | Copied::Returning(_) => None,
        },
        _ => None,
    }
}

/// Whether a statement looks at rows, or at what is defined: the transaction has its snapshot then.
pub(super) fn looks(statement: &Statement) -> bool {
    !matches!(
        statement,
        Statement::Set { .. }
            | Statement::SetTransaction(_)
            | Statement::SetLocal { .. }
            | Statement::SetConstraints(_)
            | Statement::Notification(_)
            | Statement::Show { .. }
            | Statement::Reset { .. }
            | Statement::Lock(_)
            | Statement::Prepare(_)
            | Statement::Execute(_)
            | Statement::Deallocate { .. }
            | Statement::Discard(_)
            | Statement::Cursor(_)
            | Statement::Role(_)
            | Statement::Checkpoint
            | Statement::Backup { .. }
            | Statement::Member(_)
            | Statement::Transaction(_)
    )
}

pub(super) fn reads_only(statement: &Statement) -> bool {
    matches!(
        statement,
        Statement::Query(_)
            | Statement::Explain(_)
            | Statement::Lock(_)
            | Statement::Set { .. }
            | Statement::SetTransaction(_)
            | Statement::SetLocal { .. }
            | Statement::SetConstraints(_)
            | Statement::Notification(_)
            | Statement::Show { .. }
            | Statement::CheckDatabase
            | Statement::Reset { .. }
            | Statement::Prepare(_)
            | Statement::Deallocate { .. }
            | Statement::Discard(_)
            | Statement::Cursor(_)
            | Statement::Nominal(_)
    ) || matches!(statement, Statement::ExplainWrite(explain) if !explain.options.analyze)
        || matches!(statement, Statement::CopyTo(copy) if !matches!(copy.copied, Copied::Returning(_)))
}
