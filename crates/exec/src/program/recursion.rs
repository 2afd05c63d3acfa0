//! `WITH RECURSIVE` in a program: the step runs over the rows of the last round until it has none.

use std::collections::HashSet;

use plan::{Node, Recursion};
use types::SqlError;
use types::cells::Cells;

use super::keys::RowKey;
use super::{ROOM, Run, Stopped};

impl Run<'_> {
    /// All rows of all rounds. Each has a row at least, so there are no more rounds than rows.
    pub(super) async fn rounds(
        &self,
        node: &Node,
        recursion: &Recursion,
    ) -> Result<Cells, Stopped> {
        let (mut seen, mut key) = (HashSet::new(), RowKey::default());
        let mut all = Cells::new(node.schema.fields().len());
        let mut source = &recursion.base;
        loop {
            let mut rows = self.rows(source).await?;
            if recursion.distinct {
                let mut is_new = |row: &u32| {
                    key.read(&rows, *row as usize, 0..rows.width());
                    seen.insert(key.bytes().to_vec())
                };
                let new: Vec<u32> = (0..rows.len() as u32).filter(|row| is_new(row)).collect();
                rows = rows.take(&new);
            }
            if rows.is_empty() {
                break;
            }
            all.append(&rows);
            if all.len() > ROOM.rows || all.memory() > ROOM.bytes {
                return Err(Stopped::TooMany);
            }
            self.work.borrow_mut().insert(node.id, rows);
            source = &recursion.step;
        }
        self.work.borrow_mut().remove(&node.id);
        Ok(all)
    }

    /// Columns of the rows of the last round of a recursion, by the number of its node.
    pub(super) fn last_round(&self, recursion: usize, columns: &[usize]) -> Result<Cells, Stopped> {
        let none = || SqlError::internal("a round of no recursion");
        let rows = self.work.borrow().get(&recursion).cloned().ok_or_else(none)?;
        Ok(rows.columns(columns))
    }
}
