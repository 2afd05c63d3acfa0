//! The cursors of a session, as `pg_cursors` shows them. Who serves the session has them; here is what
//! is known of them.

use std::collections::BTreeMap;
use std::sync::Arc;

use sql::parse::{CursorStatement, no_block, no_cursor};
use types::{SqlError, SqlResult};

use crate::activity::Announced;
use crate::result::StatementResult;
use crate::session::Session;
use crate::session::transaction::TransactionStatus;

/// A cursor.
#[derive(Clone, Debug)]
pub struct CursorInfo {
    /// The statement that declared it, as others see it.
    pub text: Announced,
    /// Whether its rows are in binary format.
    pub binary: bool,
    /// Whether it outlives its transaction.
    pub is_held: bool,
    /// When it was declared, in microseconds since 1970.
    pub declared_us: i64,
}

/// Cursors by name.
pub(crate) type Cursors = BTreeMap<String, CursorInfo>;

impl CursorInfo {
    /// A cursor that is declared now.
    pub fn new(text: Announced, binary: bool, is_held: bool) -> CursorInfo {
        CursorInfo { text, binary, is_held, declared_us: runtime::time::unix_us() }
    }
}

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
