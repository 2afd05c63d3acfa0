//! Transactions, as the protocol tells of them; what they are is the session's.

use std::io;

use engine::{
    Client, Session, SqlResult, Statement, StatementResult, Transaction, TransactionStatus,
};

use crate::connection::Connection;
use crate::extended::CursorEnd;

/// As `ReadyForQuery` says it.
pub(crate) fn status_byte(status: TransactionStatus) -> u8 {
    match status {
        TransactionStatus::Idle => b'I',
        TransactionStatus::Open => b'T',
        TransactionStatus::Failed => b'E',
    }
}

impl Connection {
    /// Begins or ends a transaction block, whose cursors end before it.
    pub(crate) async fn transact(
        &mut self,
        step: Transaction,
    ) -> io::Result<SqlResult<StatementResult>> {
        let is_end = matches!(step, Transaction::Commit | Transaction::Rollback);
        let commits = matches!(step, Transaction::Commit)
            && self.session.transaction_status() != TransactionStatus::Failed;
        if is_end {
            self.end_cursors(CursorEnd::Transaction);
        }
        let has_work = is_end && self.session.has_written();
        let step = Statement::Transaction(step);
        let run = async |session: &mut Session| session.run(step, Client::default()).await;
        let done = self.attended(run).await?;
        if is_end && commits && done.is_ok() {
            self.hold_cursors();
        } else if is_end {
            self.end_cursors(CursorEnd::Rollback);
        }
        if has_work {
            self.has_run();
        }
        Ok(done)
    }

    /// Commits the statements of a message, or of a pipeline, if they form a transaction.
    pub(crate) async fn end_implicit(&mut self) -> io::Result<SqlResult<()>> {
        if !self.session.is_implicit() {
            return Ok(Ok(()));
        }
        let ended = self.attended(async |session| session.end_implicit().await).await?;
        self.has_run();
        Ok(ended)
    }
}
