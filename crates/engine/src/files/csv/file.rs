//! A CSV file that is read as a table.

use std::sync::Arc;

use sql::parse::CopyOptions;
use types::{LogicalType, SqlResult};

use super::reading::Reading;
use crate::files::found::Found;
use crate::objects::room::Room;

/// Records that types are guessed from, unless the call says how many.
pub(crate) const SAMPLE_RECORDS: usize = 20_480;

/// A CSV file, and how it is read.
#[derive(Clone, Debug)]
pub(crate) struct CsvFile {
    pub(crate) found: Found,
    pub(crate) format: CopyOptions,
    /// Names of all columns.
    pub(crate) names: Vec<String>,
}

impl CsvFile {
    /// Begins to read it: columns by their numbers, with their types; what is downloaded is counted in
    /// `room`.
    ///
    /// # Errors
    /// Those of opening it.
    pub(crate) async fn read(
        &self,
        columns: &[(usize, LogicalType)],
        room: Option<Arc<Room>>,
    ) -> SqlResult<Reading> {
        Reading::begin(self, columns, room).await
    }
}
