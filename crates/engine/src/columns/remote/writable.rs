//! Tables that are only read.

use sql::parse::{RelationName, Statement};
use types::{SqlError, SqlResult, SqlState};

use crate::catalog::snapshot::Snapshot;

/// Refuses to change a table that another database writes.
///
/// # Errors
/// 25006
pub(crate) fn check_writable(snapshot: &Snapshot, statement: &Statement) -> SqlResult<()> {
    let names: &[RelationName] = match statement {
        Statement::Insert(insert) => std::slice::from_ref(&insert.table),
        Statement::Update(update) => std::slice::from_ref(&update.table),
        Statement::Delete(delete) => std::slice::from_ref(&delete.table),
        Statement::Copy(copy) => std::slice::from_ref(&copy.table),
        Statement::CreateIndex(index) => std::slice::from_ref(&index.table),
        Statement::AlterTable(alter) => std::slice::from_ref(&alter.table),
        Statement::Reorganize { table } => std::slice::from_ref(table),
        Statement::Truncate(truncate) => &truncate.tables,
        _ => return Ok(()),
    };
    match names.iter().find(|name| is_only_read(snapshot, name)) {
        None => Ok(()),
        Some(name) => {
            let message = format!("table \"{name}\" is only read: another database writes it");
            Err(SqlError::new(SqlState("25006"), message))
        }
    }
}

fn is_only_read(snapshot: &Snapshot, name: &str) -> bool {
    let columns = snapshot.tables.get(name).and_then(|entry| entry.columns.as_ref());
    let remote = columns.and_then(|columns| columns.remote.as_ref());
    remote.is_some_and(|remote| remote.writer.is_none())
}
