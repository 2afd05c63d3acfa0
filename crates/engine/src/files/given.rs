//! What a scan reads of one file, and what it knows of its rows without.

use std::sync::Arc;

use arrow_array::{ArrayRef, BooleanArray};
use plan::ScalarValue;
use types::parse::ColumnParser;
use types::{LogicalType, SqlError, SqlResult};

use super::columns::{FileColumn, Origin};
use super::iceberg::deletions::Deleted;
use super::parquet::footer::ParquetFile;

/// Where the values of a column come from, in the rows of one file.
#[derive(Clone, Debug)]
pub(super) enum Given {
    /// Those that stand here among what is read.
    Stored(usize),
    /// All are this one.
    Always(ScalarValue),
}

impl Given {
    /// The values in some rows.
    ///
    /// # Errors
    /// XX000
    pub(super) fn array(&self, stored: &[ArrayRef], row_count: usize) -> SqlResult<ArrayRef> {
        match self {
            Given::Stored(place) => {
                let array = stored.get(*place).cloned();
                array.ok_or_else(|| SqlError::internal("a file gave too few columns"))
            }
            Given::Always(value) => {
                let array = value.to_array_of_size(row_count);
                array.map_err(|error| SqlError::internal(error.to_string()))
            }
        }
    }
}

/// A file of which it is known what is read.
pub(crate) struct Opened {
    /// For each column of the scan.
    pub(super) given: Vec<Given>,
    /// What is read, by the numbers of columns of the file, with their types.
    pub(super) stored: Vec<(usize, LogicalType)>,
    /// The file, if it is Parquet.
    pub(super) parquet: Option<Arc<ParquetFile>>,
    /// The rows that are not there any more.
    pub(super) deleted: Option<Deleted>,
}

impl Opened {
    /// One whose columns come from it and its path, which says `parts`.
    ///
    /// # Errors
    /// What is wrong with a part.
    pub(super) fn of(
        read: &[FileColumn],
        parts: &[Option<String>],
        parquet: Option<Arc<ParquetFile>>,
    ) -> SqlResult<Opened> {
        let (mut given, mut stored) = (vec![], vec![]);
        for column in read {
            given.push(match column.origin {
                Origin::Path(part) => Given::Always(told(column, &parts[part])?),
                Origin::Stored(number) => {
                    stored.push((number, column.declared().ty));
                    Given::Stored(stored.len() - 1)
                }
            });
        }
        Ok(Opened { given, stored, parquet, deleted: None })
    }

    /// Which of some rows are there; `None` for all. The first one has this number in the file.
    ///
    /// # Errors
    /// XX000
    pub(super) fn kept(
        &self,
        stored: &[ArrayRef],
        first_row: u64,
        row_count: usize,
    ) -> SqlResult<Option<BooleanArray>> {
        match &self.deleted {
            None => Ok(None),
            Some(deleted) => deleted.kept(stored, first_row, row_count),
        }
    }
}

/// What a path says.
fn told(column: &FileColumn, value: &Option<String>) -> SqlResult<ScalarValue> {
    let mut parser = ColumnParser::new(&column.declared());
    parser.push(value.as_deref())?;
    let value = ScalarValue::try_from_array(&parser.finish(), 0);
    value.map_err(|error| SqlError::internal(error.to_string()))
}
