//! Where the chunks of a table are downloaded from.

use types::SqlResult;

use super::remote::stored::StoredRemote;
use super::table::Columns;
use crate::catalog::snapshot::Snapshot;
use crate::objects::stores::Bucket;

impl StoredRemote {
    /// The location, opened.
    ///
    /// # Errors
    /// As [`Snapshot::bucket`] and [`Bucket::of_table`].
    pub(crate) fn bucket(&self, snapshot: &Snapshot) -> SqlResult<Bucket> {
        snapshot.bucket(&self.location)?.of_table(self.sealed.as_deref())
    }
}

impl Columns {
    /// The location of bodies, opened; `None` where they are in the parts.
    ///
    /// # Errors
    /// As [`Snapshot::bucket`].
    pub(crate) fn bucket(&self, snapshot: &Snapshot) -> SqlResult<Option<Bucket>> {
        self.remote.as_ref().map(|remote| remote.bucket(snapshot)).transpose()
    }
}
