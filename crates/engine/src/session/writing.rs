//! What the statements of a session write with.

use txn::waiting::let_others;
use types::SqlResult;

use super::state::Session;
use crate::writing::Writing;

impl Session {
    /// What a statement works with that writes alone; waits until no other one writes.
    pub(crate) async fn writing_alone(&self) -> SqlResult<Writing<'_>> {
        let wait = self.lock_wait();
        let right = self.db.writer(&wait).await?;
        Ok(Writing::new(self, wait, right))
    }

    /// What a statement that changes roles and privileges works with.
    pub(crate) async fn writing_access(&self) -> SqlResult<Writing<'_>> {
        let wait = self.lock_wait();
        let right = self.db.definer(&wait).await?;
        Ok(Writing::new(self, wait, right))
    }

    /// What a statement works with that cannot run again, in a block: the definitions of its table, and of
    /// those to which it refers, stay as they are.
    pub(crate) async fn writing_table(&self, table: &str) -> SqlResult<Writing<'_>> {
        loop {
            let mut writing = self.writing_rows().await?;
            let entry = writing.entry(table)?;
            let referred = writing.snapshot().tables.referred(&entry).cloned();
            let tables: Vec<_> = std::iter::once(entry.clone()).chain(referred).collect();
            let locked_before = writing.block()?.count_locked();
            let locked = writing.lock_definitions(&tables).await;
            let block = writing.block()?;
            match locked {
                Err(error) if block.has_let_go(locked_before, &error) => {
                    let_others(&writing.cancel).await?;
                }
                Err(_) if block.take_runs_again() => {}
                locked => return locked.map(|()| writing),
            }
        }
    }

    /// What a statement that changes rows works with, in a block.
    pub(crate) async fn writing_rows(&self) -> SqlResult<Writing<'_>> {
        let wait = self.lock_wait();
        if let Some(block) = self.db.block() {
            block.enter(&wait).await?;
        }
        Ok(Writing::new(self, wait, None))
    }
}
