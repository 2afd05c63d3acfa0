//! Cursors of a session.

use std::sync::Arc;

use sql::parse::{CursorStatement, no_block, no_cursor};
use types::{SqlError, SqlResult};

use super::state::Session;
use crate::activity::status::TransactionStatus;
use crate::cursors::CursorInfo;
use crate::result::StatementResult;

impl Session {
    /// A cursor is open from now on.
    pub fn show_cursor(&mut self, name: &str, cursor: CursorInfo) {
        Arc::make_mut(&mut self.cursors).insert(name.to_owned(), cursor);
    }

    /// A cursor is closed, or all are.
    pub fn hide_cursors(&mut self, name: Option<&str>) {
        match name {
            None if self.cursors.is_empty() => {}
            None => self.cursors = Arc::default(),
            Some(name) => {
                Arc::make_mut(&mut self.cursors).remove(name);
            }
        }
    }
}

/// What a session says that nobody serves: its results come whole, so it has no cursors.
pub(crate) fn unserved(
    statement: &CursorStatement,
    status: TransactionStatus,
) -> SqlResult<StatementResult> {
    Err(match statement {
        CursorStatement::Declare(declare) if declare.hold => {
            SqlError::unsupported("a cursor WITH HOLD")
        }
        CursorStatement::Declare(_) if status == TransactionStatus::Idle => {
            no_block("DECLARE CURSOR")
        }
        CursorStatement::Declare(_) => SqlError::unsupported("DECLARE CURSOR without a server")
            .with_hint("Run the query itself, or connect to the server."),
        CursorStatement::Fetch(fetch) => no_cursor(&fetch.cursor),
        CursorStatement::Close(Some(name)) => no_cursor(name),
        CursorStatement::Close(None) => {
            return Ok(StatementResult::Command { tag: "CLOSE CURSOR ALL".to_owned() });
        }
    })
}
