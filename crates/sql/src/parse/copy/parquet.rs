//! The options of `COPY` for Parquet.

use types::{SqlError, SqlResult, SqlState};

/// How a Parquet file is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ParquetOptions {
    /// How pages are compressed.
    pub compression: Compression,
    /// Rows of a row group at most.
    pub row_group_rows: usize,
}

/// How pages of a file are compressed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Compression {
    /// Not at all.
    None,
    /// Fast.
    Snappy,
    /// Smaller than `Snappy`, and slower to write.
    Zstd,
}

/// Rows of a row group unless a statement says how many: as other engines have it (DuckDB).
const ROW_GROUP_ROWS: usize = 122_880;

/// A row group is kept in memory until it is written.
const ROW_GROUP_ROWS_MAX: usize = 1 << 24;

impl Default for ParquetOptions {
    fn default() -> ParquetOptions {
        ParquetOptions { compression: Compression::Snappy, row_group_rows: ROW_GROUP_ROWS }
    }
}

/// What a statement says of Parquet.
#[derive(Default)]
pub(super) struct Given {
    pub(super) compression: Option<Compression>,
    pub(super) row_group_rows: Option<usize>,
}

impl Given {
    /// The options of a statement; `other` is one that is given and is not for Parquet.
    ///
    /// # Errors
    /// 42601 and 0A000 for options that do not go with the format.
    pub(super) fn complete(
        self,
        is_parquet: bool,
        is_from: bool,
        other: Option<&str>,
    ) -> SqlResult<ParquetOptions> {
        let own = [("COMPRESSION", self.compression.is_some())];
        let own = own.into_iter().chain([("ROW_GROUP_SIZE", self.row_group_rows.is_some())]);
        let own = own.filter(|(_, is_given)| *is_given).map(|(name, _)| name).next();
        let not_so = |message| Err(SqlError::new(SqlState::FEATURE_NOT_SUPPORTED, message));
        match (own, other) {
            (Some(name), _) if !is_parquet => {
                return not_so(format!("COPY {name} available only in PARQUET mode"));
            }
            (_, Some(name)) if is_parquet => {
                let message = format!("cannot specify {name} in PARQUET mode");
                return Err(SqlError::new(SqlState::SYNTAX_ERROR, message));
            }
            (Some(name), _) if is_from => {
                return not_so(format!("COPY {name} only available using COPY TO"));
            }
            _ => {}
        }
        let default = ParquetOptions::default();
        Ok(ParquetOptions {
            compression: self.compression.unwrap_or(default.compression),
            row_group_rows: self.row_group_rows.unwrap_or(default.row_group_rows),
        })
    }
}

pub(super) fn compression(name: &str) -> SqlResult<Compression> {
    match name.to_lowercase().as_str() {
        "none" | "uncompressed" => Ok(Compression::None),
        "snappy" => Ok(Compression::Snappy),
        "zstd" => Ok(Compression::Zstd),
        other => Err(invalid(format!("COPY compression \"{other}\" not recognized"))),
    }
}

pub(super) fn row_count(text: &str) -> SqlResult<usize> {
    match text.parse() {
        Ok(count) if (1..=ROW_GROUP_ROWS_MAX).contains(&count) => Ok(count),
        _ => Err(invalid(format!("ROW_GROUP_SIZE must be between 1 and {ROW_GROUP_ROWS_MAX}"))),
    }
}

fn invalid(message: String) -> SqlError {
    SqlError::new(SqlState::INVALID_PARAMETER_VALUE, message)
}
