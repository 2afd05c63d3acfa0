//! Loads a table from batches.

use arrow_array::RecordBatch;
use runtime::sync::Cancel;
use txn::locks::table::{LockWait, WriteRight};
use types::SqlResult;

use super::leaving::Left;
use super::loader::Loader;
use super::target::Target;
use crate::database::Database;
use crate::door;

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

impl Database {
    /// Fills the empty table named `table`.
    pub fn load(&self, table: &str) -> SqlResult<TableLoader<'_>> {
        TableLoader::new(self, table)
    }
}
