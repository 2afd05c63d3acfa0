//! An Iceberg table that is read as files.

use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

use exec::Access;
use iceberg::DataFile;
use types::SqlResult;

use super::deletions::{Deleted, Deletions};
use super::lake::Lake;
use crate::files::columns::{FileColumn, Origin};
use crate::files::given::Opened;
use crate::files::restrict::Test;
use crate::objects::room::Room;

/// A data file of a table.
#[derive(Debug)]
pub(crate) struct TableFile {
    pub(crate) lake: Arc<Lake>,
    pub(crate) data: DataFile,
    /// Where it lies, as statements name files.
    pub(crate) path: String,
}

impl TableFile {
    pub(crate) fn path(&self) -> &str {
        &self.path
    }

    /// Whether something may be deleted in the table.
    pub(crate) fn has_deletes(&self) -> bool {
        !self.lake.deletes.files().is_empty()
    }

    /// The deletes of its table, for a scan with this memory.
    pub(crate) fn deletions(&self, room: &Arc<Room>) -> Option<Deletions> {
        self.has_deletes().then(|| Deletions::new(&self.lake, room))
    }

    /// Opens it; `None` where no row of it is wanted.
    ///
    /// # Errors
    /// XX001 and 22P04 for a damaged file, 58P01 for a missing one, 0A000 for what is not read of it.
    pub(crate) async fn open(
        &self,
        read: &[FileColumn],
        tests: &[Test],
        deletions: Option<&Deletions>,
        access: Access<'_>,
    ) -> SqlResult<Option<Opened>> {
        access.skips.files.fetch_add(1, Relaxed);
        let number = |column: &FileColumn| match column.origin {
            Origin::Stored(number) | Origin::Path(number) => number,
        };
        let mut tests = tests.iter().map(|test| (number(&read[test.place]), test));
        if tests.any(|(column, test)| self.excludes(column, &test.restriction.test)) {
            access.skips.files_skipped.fetch_add(1, Relaxed);
            return Ok(None);
        }
        let mut wanted = vec![];
        for column in read {
            wanted.push(&self.lake.schema.fields[number(column)]);
        }
        let deletes = match deletions {
            Some(deletions) => deletions.of(&self.data, access).await?,
            None => vec![],
        };
        let keys = super::deletions::key_fields(&self.lake, &deletes)?;
        wanted.extend(keys.iter());
        let parquet = self.lake.opened(&self.data, &self.path, access).await?;
        let mut opened = super::layout::of(&self.lake, &self.data, parquet, &wanted)?;
        let key_places = opened.given.split_off(read.len());
        opened.deleted = Deleted::new(deletes, &keys, &key_places, &self.data.path);
        Ok(Some(opened))
    }
}
