//! What a transaction that has written does before it commits.

use std::collections::BTreeSet;

use sql::parse::{CreateTable, Drop, DropObject, OnCommit, RelationName, Statement};
use types::{SqlError, SqlResult};

use super::state::{Passing, Session};
use crate::{ddl, dml};

impl Session {
    /// Checks what was deferred, and empties or drops temporary tables that ask for it.
    ///
    /// # Errors
    /// 23503, 23505 and others; nothing of the transaction is to stay then.
    pub(super) async fn before_commit(&mut self) -> SqlResult<()> {
        self.check_doubts(&|_| true).await?;
        if self.passing.is_empty() {
            return Ok(());
        }
        self.db.leave_aside(BTreeSet::new());
        let snapshot = self.db.newest();
        let (mut dropped, mut emptied) = (vec![], vec![]);
        self.passing.retain(|passing| {
            let Some(entry) = snapshot.table_by_id(passing.table) else { return false };
            let names = match passing.on_commit {
                OnCommit::Drop => &mut dropped,
                _ => &mut emptied,
            };
            names.push(entry.def.name.clone());
            true
        });
        for name in emptied {
            self.empty(&name).await?;
        }
        self.drop_passing(dropped).await
    }

    async fn empty(&mut self, name: &str) -> SqlResult<()> {
        let text = format!("DELETE FROM {}", sql::quote_ident(name));
        let Some(Statement::Delete(delete)) = sql::parse::parse(&text)?.pop() else {
            return Err(SqlError::internal("a DELETE was read as something else"));
        };
        let writing = self.writing_rows().await?;
        Box::pin(dml::delete::delete(&writing, &delete)).await.map(drop)
    }

    async fn drop_passing(&mut self, names: Vec<String>) -> SqlResult<()> {
        if names.is_empty() {
            return Ok(());
        }
        self.drop_temporary(names).await
    }

    /// Drops temporary tables of the session.
    ///
    /// # Errors
    /// As [`Session::writing_definitions`], and those of storage.
    pub(crate) async fn drop_temporary(&self, names: Vec<String>) -> SqlResult<()> {
        let names = names.into_iter().map(RelationName::unqualified).collect();
        let drop = Drop { object: DropObject::Table, names, if_exists: true, cascade: true };
        let writing = self.writing_definitions(&Statement::Drop(drop.clone())).await?;
        let dropped = ddl::drop::drop_tables(&writing, &drop).await;
        writing.settle(dropped).await
    }

    /// A temporary table was made. Outside of a block its transaction has ended already.
    ///
    /// # Errors
    /// Those of dropping it.
    pub(super) async fn note_created(&mut self, create: &CreateTable) -> SqlResult<()> {
        let snapshot = self.db.newest();
        let Some(entry) = snapshot.tables.get(&create.name) else { return Ok(()) };
        self.passing.push(Passing { table: entry.def.id, on_commit: create.on_commit });
        match self.has_written() {
            true => Ok(()),
            false => Box::pin(self.before_commit()).await,
        }
    }
}
