//! A table as a statement found it, and how its files are read.

use std::io::ErrorKind;
use std::sync::Arc;

use exec::{Access, Reservation};
use iceberg::{DataFile, Deletes, Error, METADATA_BYTES_MAX, Schema, TableMetadata};
use objectstore::ObjectInfo;
use runtime::sync::Cancel;
use txn::waiting::{Beside, all, unless_cancelled};
use types::{SqlError, SqlResult, SqlState};

use super::super::found::Found;
use super::super::parquet;
use super::counted::{Counted, Whole};
use super::vended::Vended;
use crate::catalog::snapshot::Snapshot;
use crate::files::parquet::footer::ParquetFile;
use crate::input::files::cannot_open;
use crate::objects::file::ObjectFile;
use crate::objects::location::Scheme;
use crate::objects::path::{ObjectPath, is_object};
use crate::objects::tally::Tally;

/// A table, by one snapshot of it.
pub(crate) struct Lake {
    /// Opens objects with the secrets of the statement.
    pub(super) snapshot: Arc<Snapshot>,
    /// Keys that a catalog has handed out for it.
    pub(super) vended: Arc<Vended>,
    /// The folder of the table.
    pub(super) root: String,
    /// What the statement names: the table, its metadata file, or the catalog.
    pub(super) home: String,
    /// Whether what lay where the table was written lies in its folder now.
    pub(super) is_moved: bool,
    pub(super) metadata: Arc<TableMetadata>,
    /// The columns that the statement sees.
    pub(super) schema: Schema,
    /// Where the list of manifests lies; `None` for a table without rows so far.
    pub(super) manifest_list: Option<String>,
    pub(super) deletes: Deletes,
    /// All of this is counted there.
    pub(super) _memory: Arc<Reservation>,
}

/// Bytes of memory for each of JSON while it is parsed: numbers of ten digits take 32, and short names 80.
const JSON_RATIO: usize = 8;

impl std::fmt::Debug for Lake {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Lake").field("root", &self.root).finish_non_exhaustive()
    }
}

/// Reads whole files of metadata.
pub(super) struct Reader<'a> {
    pub(super) snapshot: Arc<Snapshot>,
    /// Keys for what is read.
    pub(super) vended: Arc<Vended>,
    /// That of the table: what is counted there without being given back goes with it.
    pub(super) memory: Arc<Reservation>,
    pub(super) cancel: &'a Cancel,
}

impl Reader<'_> {
    /// The bytes of a file.
    ///
    /// # Errors
    /// 58P01 and others of opening and reading, 54000 for one that is too long, 53200 when there is no memory for it.
    pub(super) async fn whole(&self, path: &str) -> SqlResult<Whole> {
        let read = async {
            let mut counted = Counted::new(&self.memory);
            let file = self.found(path).await?.open().await?;
            if file.length() > METADATA_BYTES_MAX {
                let message = format!("file \"{path}\" of {} bytes", file.length());
                let limit =
                    format!("Metadata of more than {METADATA_BYTES_MAX} bytes is not read.");
                let error = SqlError::new(SqlState::PROGRAM_LIMIT_EXCEEDED, message);
                return Err(error.with_detail(limit));
            }
            counted.set(usize::try_from(file.length()).unwrap_or(usize::MAX))?;
            let bytes = file.read(0..file.length()).await?;
            Ok(Whole { bytes, _counted: counted })
        };
        unless_cancelled(self.cancel, read).await?
    }

    /// The bytes of several files, all of which are asked for at once.
    ///
    /// # Errors
    /// As [`Reader::whole`].
    pub(super) async fn all(&self, paths: impl Iterator<Item = &str>) -> SqlResult<Vec<Whole>> {
        let whole = |path| -> Beside<'_, Whole> { Box::pin(self.whole(path)) };
        all(paths.map(whole).collect()).await
    }

    /// What a document of JSON says, with memory for reading it counted.
    ///
    /// # Errors
    /// 53200 when there is none.
    pub(super) fn parsed<T>(&self, bytes: &[u8], parse: impl FnOnce(&[u8]) -> T) -> SqlResult<T> {
        let mut parsing = Counted::new(&self.memory);
        parsing.set(bytes.len().saturating_mul(JSON_RATIO))?;
        Ok(parse(bytes))
    }

    /// What the bytes of a metadata file say, or of the answer of a catalog.
    ///
    /// # Errors
    /// Those of the metadata, and 53200 when there is no memory for it.
    pub(super) fn metadata(
        &self,
        path: &str,
        bytes: &[u8],
        parse: impl FnOnce(&[u8]) -> iceberg::Result<TableMetadata>,
    ) -> SqlResult<TableMetadata> {
        let fault = |error| fault(path, &error);
        let plain = iceberg::unzipped(bytes).map_err(fault)?;
        let metadata = self.parsed(&plain, parse)?.map_err(fault)?;
        self.memory.grow(plain.len())?;
        Ok(metadata)
    }

    async fn found(&self, path: &str) -> SqlResult<Found> {
        if !is_object(path) {
            return Ok(Found::local(path.to_owned()));
        }
        let object = ObjectPath::parse(path)?;
        let bucket = self.vended.bucket_of(&object, &self.snapshot)?;
        let object = ObjectFile::open_in(bucket, &object).await?;
        Ok(Found::object(path.to_owned(), object))
    }

    /// Whether there is such a file.
    ///
    /// # Errors
    /// Those of asking.
    pub(super) async fn exists(&self, path: &str) -> SqlResult<bool> {
        if !is_object(path) {
            return match runtime::fs::exists(path).await {
                Ok(exists) => Ok(exists),
                Err(error) if error.kind() == ErrorKind::NotADirectory => Ok(false),
                Err(error) => Err(cannot_open(path, "reading", &error)),
            };
        }
        match unless_cancelled(self.cancel, self.found(path)).await? {
            Ok(_) => Ok(true),
            Err(error) if error.state == SqlState::UNDEFINED_FILE => Ok(false),
            Err(error) => Err(error),
        }
    }
}

impl Lake {
    /// Where something lies that the metadata names.
    ///
    /// # Errors
    /// 0A000 for another kind of store, 42501 for a file of the server in a table of a store, or the other way round,
    /// and for a server that the statement does not name: who wrote the table may not be whoever may read the server's
    /// files, nor whoever may speak to the hosts of its network.
    pub(super) fn resolve(&self, named: &str) -> SqlResult<String> {
        let moved = match self.is_moved {
            true => iceberg::moved(named, &self.metadata.location, &self.root),
            false => None,
        };
        let path = match moved {
            Some(path) => path,
            None => iceberg::place(named).map_err(|error| self.fault(named, &error))?,
        };
        let kind = |path: &str| Scheme::of(path).map(Scheme::only_reads);
        let refused = |detail: &str, hint: &str| {
            let message = format!("the table at \"{}\" names the file \"{path}\"", self.root);
            let error = SqlError::new(SqlState::INSUFFICIENT_PRIVILEGE, message);
            Err(error.with_detail(detail).with_hint(hint))
        };
        if kind(&path) != kind(&self.root) {
            return refused(
                "It does not lie in a store of the same kind as the table.",
                "Was the table moved? Then say allow_moved_paths => true.",
            );
        }
        if kind(&path) == Some(true) && !self.may_ask(&path) {
            return refused(
                "It lies on another server than what the statement names.",
                "Create a secret of type http for it, or list its host in object_store_hosts.",
            );
        }
        Ok(path)
    }

    /// Whether the server that a path names is that of the statement, or one that whoever runs the database has named.
    fn may_ask(&self, path: &str) -> bool {
        server_of(path) == server_of(&self.home) || self.snapshot.names_server_of(path)
    }

    /// What is wrong with a file.
    pub(super) fn fault(&self, path: &str, error: &Error) -> SqlError {
        fault(path, error)
    }

    /// Opens a file of rows or deletes.
    ///
    /// # Errors
    /// 0A000 for another format than Parquet; those of opening it, and 22P04.
    pub(super) async fn opened(
        &self,
        file: &DataFile,
        path: &str,
        access: Access<'_>,
    ) -> SqlResult<ParquetFile> {
        if file.format != "PARQUET" {
            let what = format!("the file \"{path}\" in the format {}", file.format);
            return Err(SqlError::unsupported(what));
        }
        let found = match is_object(path) {
            false => Found::local(path.to_owned()),
            // Its size is known, which saves the request that would ask for it.
            true => {
                let object = ObjectPath::parse(path)?;
                let bucket = self.vended.bucket_of(&object, &self.snapshot)?;
                let (key, size) = (object.key, file.file_bytes);
                let info = ObjectInfo { key, size, tag: None, modified_s: None };
                Found::object(path.to_owned(), ObjectFile::of(bucket, info))
            }
        };
        // A scan is dropped when it is not wanted any more; nobody else cancels it.
        let (tally, cancel) = (Tally::default(), Cancel::default());
        let opened = parquet::footer::open(&found, &tally, &cancel).await;
        tally.tell(access.skips);
        opened
    }
}

/// Scheme, host and port of a path on a server of files.
pub(super) fn server_of(path: &str) -> Option<(Scheme, String)> {
    let scheme = Scheme::of(path)?;
    let host = path[scheme.start().len()..].split('/').next()?.to_ascii_lowercase();
    let usual = if scheme == Scheme::Https { ":443" } else { ":80" };
    Some((scheme, host.strip_suffix(usual).unwrap_or(&host).to_owned()))
}

/// What is wrong with a file of metadata.
pub(super) fn fault(path: &str, error: &Error) -> SqlError {
    use iceberg::ErrorKind;
    match error.kind() {
        ErrorKind::Damaged => damaged(path, error.to_string()),
        ErrorKind::Unsupported => {
            SqlError::unsupported(error.to_string()).with_context(format!("file \"{path}\""))
        }
        ErrorKind::TooLarge => SqlError::new(SqlState::PROGRAM_LIMIT_EXCEEDED, error.to_string())
            .with_context(format!("file \"{path}\"")),
        ErrorKind::Absent => SqlError::new(SqlState::INVALID_PARAMETER_VALUE, error.to_string())
            .with_context(format!("file \"{path}\"")),
    }
}

/// XX001
pub(super) fn damaged(path: &str, why: impl Into<String>) -> SqlError {
    let message = format!("file \"{path}\" is not as a table of Iceberg should have it");
    SqlError::new(SqlState::DATA_CORRUPTED, message).with_detail(why)
}

#[cfg(test)]
mod tests;
