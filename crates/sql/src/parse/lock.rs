//! `LOCK TABLE`, and rows that a query locks.

use std::ops::ControlFlow;

use datafusion_sql::sqlparser::ast::{self, LockTableMode, Visit};
use types::SqlResult;

use super::{Query, name};

/// What a query that locks rows does when it cannot have them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RowLocks {
    /// It waits. So does one with `SKIP LOCKED`, which is as if it had come later.
    Waits,
    /// It fails: `NOWAIT`.
    DoesNotWait,
}

/// `LOCK TABLE`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LockTables {
    /// The tables.
    pub tables: Vec<String>,
    /// What others may do meanwhile.
    pub mode: TableLock,
    /// Whether it fails instead of waiting.
    pub nowait: bool,
}

/// The modes of `LOCK TABLE`, as far as they differ here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TableLock {
    /// `ACCESS SHARE`: reading.
    Reads,
    /// `ROW SHARE`: reading, and locking rows.
    ReadsToChange,
    /// `ROW EXCLUSIVE` and above: nobody else writes. Who reads is not kept from it.
    Writes,
}

impl Query {
    /// Whether it says `FOR UPDATE` or the like somewhere, and what it does then.
    pub fn row_locks(&self) -> Option<RowLocks> {
        self.ast.visit(&mut Locks).break_value()
    }
}

struct Locks;

impl ast::Visitor for Locks {
    type Break = RowLocks;

    fn pre_visit_query(&mut self, query: &ast::Query) -> ControlFlow<RowLocks> {
        let Some(lock) = query.locks.first() else { return ControlFlow::Continue(()) };
        ControlFlow::Break(match lock.nonblock {
            Some(ast::NonBlock::Nowait) => RowLocks::DoesNotWait,
            Some(ast::NonBlock::SkipLocked) | None => RowLocks::Waits,
        })
    }
}

pub(super) fn lock(lock: &ast::Lock) -> SqlResult<LockTables> {
    let tables = lock.tables.iter().map(|table| name(&table.name)).collect::<SqlResult<_>>()?;
    let mode = match lock.lock_mode {
        Some(LockTableMode::AccessShare) => TableLock::Reads,
        Some(LockTableMode::RowShare) => TableLock::ReadsToChange,
        _ => TableLock::Writes,
    };
    Ok(LockTables { tables, mode, nowait: lock.nowait })
}
