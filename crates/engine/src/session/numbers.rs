//! Numbers of sequences that a session takes.

use sql::Query;
use sql::parse::{DropObject, Statement};
use types::SqlResult;

use super::state::Session;
use crate::catalog::snapshot::{Numbered, Snapshot};
use crate::numbers::Given;

impl Session {
    /// Before a query that takes numbers: it waits for who has altered sequences, so that it takes
    /// none by what they were.
    ///
    /// # Errors
    /// 40P01, 55P03, 57014.
    pub(super) async fn await_numbers(&self, query: &Query) -> SqlResult<()> {
        let database = self.database();
        match database.alters_numbers() && query.takes_numbers() {
            true => database.await_numbers(&self.lock_wait()).await,
            false => Ok(()),
        }
    }

    /// Makes durable that sequences have given numbers out.
    pub(crate) async fn save_numbers(&self, given: Vec<Given>) -> SqlResult<()> {
        let (wait, waits) = (self.lock_wait(), self.waits_for_device());
        let acknowledged = self.database().save_numbers(given, &wait, waits).await?;
        self.note_acknowledged(acknowledged);
        Ok(())
    }
}

/// True if a statement alters or drops sequences that others may take numbers of.
pub(super) fn alters_numbers(statement: &Statement, snapshot: &Snapshot) -> bool {
    let has_numbers = |name: &str| {
        let entry = snapshot.tables.get(name);
        entry.is_some_and(|entry| Numbered::of_table(&entry.def).next().is_some())
    };
    match statement {
        Statement::AlterSequence(_) => true,
        Statement::Truncate(truncate) => truncate.restart_identity,
        Statement::Drop(drop) => match drop.object {
            DropObject::Sequence => true,
            DropObject::Table => drop.names.iter().any(|name| has_numbers(name.as_str())),
            DropObject::Index | DropObject::View => false,
        },
        _ => false,
    }
}
