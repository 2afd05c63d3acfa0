//! Bulk load: rows are encoded, sorted per tree, and written bottom-up into new trees, which
//! replace the old ones in one checkpoint. A crash at any moment leaves the old or the new table.

pub(crate) mod index;
pub(crate) mod leaving;
pub(crate) mod loader;
pub(crate) mod sorting;
pub(crate) mod tree;

use leaving::Left;
use loader::{Loader, Target};

use arrow_array::{ArrayRef, RecordBatch};
use runtime::sync::Cancel;
use storage::{Store, TreeId};
use types::key::KeyColumn;
use types::{SqlError, SqlResult, SqlState};

use crate::database::Database;
use crate::locks::{LockWait, WriteRight};
use crate::{door, fault};

/// Adds many rows to one table.
///
/// Lives on an ordinary thread; other writers wait until it is finished or dropped. Dropping it
/// leaves the table as it was.
pub struct TableLoader<'a> {
    db: &'a Database,
    loader: Loader,
    /// The right to write.
    right: Option<WriteRight>,
}

/// What a load did.
#[derive(Clone, Copy, Debug)]
pub struct LoadReport {
    /// Rows in the table.
    pub row_count: u64,
}

impl<'a> TableLoader<'a> {
    /// A loader that keeps the rows that are there: they are read and written again.
    pub(crate) fn new(db: &'a Database, table: &str) -> SqlResult<TableLoader<'a>> {
        let begun = door::wait(&db.handle(), || {
            Box::pin(async {
                let right = db.writer(&LockWait::default()).await?;
                let entry = db.newest().table(table)?.clone();
                let target = Target::of(entry);
                let loader = Loader::without(db, target, Left::Nothing, Cancel::default());
                SqlResult::Ok((loader.await?, right))
            })
        });
        let (loader, right) = begun?;
        Ok(TableLoader { db, loader, right })
    }

    /// Adds rows: all columns of the table in order.
    pub fn push(&mut self, batch: &RecordBatch) -> SqlResult<()> {
        let loader = &mut self.loader;
        door::wait(&self.db.handle(), || Box::pin(loader.push(batch)))
    }

    /// Writes the trees and makes them durable. Progress is in [`Database::job`].
    pub fn finish(self) -> SqlResult<LoadReport> {
        let TableLoader { db, loader, right } = self;
        door::wait(&db.handle(), || {
            Box::pin(async move {
                let report = loader.finish(db, right.as_ref()).await?;
                db.settle(right).await.map(|()| report)
            })
        })
    }
}

/// The columns of a key in `batch`.
pub(crate) fn key_arrays(key: &[KeyColumn], batch: &RecordBatch, ids: &ArrayRef) -> Vec<ArrayRef> {
    let array = |k: &KeyColumn| match k.ordinal < batch.num_columns() {
        true => batch.column(k.ordinal).clone(),
        false => ids.clone(),
    };
    key.iter().map(array).collect()
}

/// 23505 for the constraint.
pub(crate) fn duplicate_key(constraint: &str) -> SqlError {
    let message = format!("duplicate key value violates unique constraint \"{constraint}\"");
    SqlError::new(SqlState::UNIQUE_VIOLATION, message).of_constraint(constraint)
}

pub(crate) async fn drop_trees(store: &Store, trees: &[TreeId]) -> SqlResult<()> {
    for &tree in trees {
        store.drop_tree(tree).await.map_err(fault::storage)?;
    }
    Ok(())
}
