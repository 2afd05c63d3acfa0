//! A file that is read as a table.

use std::sync::Arc;

use plan::catalog::TableStatistics;

use super::columns::FileColumn;
use crate::objects::path::is_object;

/// One of them.
#[derive(Debug)]
pub(crate) struct File {
    /// What its path says of its rows, for each column that is there alone.
    pub(crate) parts: Vec<Option<String>>,
    pub(crate) content: Content,
}

/// What is known of a file's content.
#[derive(Debug)]
pub(crate) enum Content {
    Parquet(Arc<super::parquet::footer::ParquetFile>),
    Csv(Box<super::csv::file::CsvFile>),
    Iceberg(Box<super::iceberg::file::TableFile>),
}

impl File {
    pub(crate) fn path(&self) -> &str {
        match &self.content {
            Content::Parquet(file) => &file.found.path,
            Content::Csv(file) => &file.found.path,
            Content::Iceberg(file) => file.path(),
        }
    }

    /// Whether memory of a scan is counted for it: that of downloads, and of deletes.
    pub(crate) fn wants_room(&self) -> bool {
        match &self.content {
            Content::Iceberg(file) => is_object(file.path()) || file.has_deletes(),
            _ => is_object(self.path()),
        }
    }
}

/// What a format tells of its files.
pub(crate) struct Described {
    pub(crate) columns: Vec<FileColumn>,
    pub(crate) files: Vec<File>,
    pub(crate) statistics: TableStatistics,
}
