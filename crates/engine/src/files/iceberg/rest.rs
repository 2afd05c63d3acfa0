//! Tables by the REST protocol of catalogs: the configuration is asked for once, then the table, whose metadata is in
//! the answer, and keys for its files may be.

use std::sync::Arc;

use iceberg::{CatalogConfig, METADATA_BYTES_MAX, TableMetadata, place, table_key};
use objectstore::ErrorKind;
use sql::FileCall;
use txn::waiting::unless_cancelled;
use types::{SqlError, SqlResult, SqlState};

use super::super::options::{flag, invalid, text};
use super::counted::Counted;
use super::lake::{self, Reader, server_of};
use super::vended::Vended;
use super::versions::Located;
use crate::catalog::snapshot::Snapshot;
use crate::objects::fault::of_object;
use crate::objects::location::Scheme;
use crate::objects::path::is_object;
use crate::objects::stores::Bucket;

const CONFIG: &str = "v1/config";

/// Says that keys for the files of the table are wanted.
const DELEGATION: (&str, &str) = ("x-iceberg-access-delegation", "vended-credentials");

/// How a catalog is asked for a table.
pub(super) struct Question {
    pub(super) bucket: Bucket,
    pub(super) config: CatalogConfig,
    key: String,
    wants_keys: bool,
}

impl Question {
    /// What the catalog answers.
    ///
    /// # Errors
    /// Those of asking.
    pub(super) async fn answer(&self) -> objectstore::Result<Vec<u8>> {
        let headers = if self.wants_keys { &[DELEGATION][..] } else { &[] };
        self.bucket.store.document(&self.key, &[], headers, METADATA_BYTES_MAX as usize).await
    }

    /// What the answer is called in errors.
    fn path(&self) -> String {
        format!("{}/{}", self.bucket.location, self.key.replace('\u{1f}', "."))
    }
}

/// Asks the catalog at a URL for a table.
///
/// # Errors
/// 42P01 for a table that there is not, 28000 for a token that the catalog refuses, 42501 for a table among the
/// server's own files, and those of [`super::describe::describe`].
pub(super) async fn table(
    call: &FileCall,
    catalog: &str,
    name: &str,
    reader: &Reader<'_>,
) -> SqlResult<Located> {
    let question = question(call, catalog, name, reader).await?;
    let path = question.path();
    let answer = unless_cancelled(reader.cancel, question.answer()).await?;
    let answer = answer.map_err(|error| match error.kind() {
        ErrorKind::NotFound => {
            let message = format!("table \"{name}\" does not exist in the catalog \"{catalog}\"");
            SqlError::new(SqlState::UNDEFINED_TABLE, message)
        }
        _ => of_object(&error, &question.bucket.location, &question.key),
    })?;
    let mut held = Counted::new(&reader.memory);
    held.set(answer.len())?;
    let metadata = reader.metadata(&path, &answer, TableMetadata::of_answer)?;
    let root = place(&metadata.location).map_err(|error| lake::fault(&path, &error))?;
    if !is_object(&root) {
        let message = format!("the table \"{name}\" of a catalog lies in the folder \"{root}\"");
        return Err(SqlError::new(SqlState::INSUFFICIENT_PRIVILEGE, message)
            .with_detail("Who writes to a catalog names no files of the server.")
            .with_hint("Give the folder to iceberg_scan, without a catalog."));
    }
    let vended = match question.wants_keys {
        true => {
            let question = Arc::new(question);
            reader.parsed(&answer, |answer| Vended::of_answer(answer, &question, &path))??
        }
        false => Vended::default(),
    };
    Ok(Located { root, path, metadata, vended })
}

/// Where a catalog is to be asked that may have named another place, with the secret for that. It is the word of a
/// server: it names itself, or one that somebody has named who runs the database; no other one is asked.
///
/// # Errors
/// As [`Snapshot::bucket`].
fn moved_to(uri: Option<&str>, bucket: Bucket, snapshot: &Snapshot) -> SqlResult<Bucket> {
    let here = bucket.location.to_string();
    let plain = |url: &str| url.trim_end_matches('/').to_owned();
    let Some(uri) = uri.map(plain).filter(|uri| *uri != plain(&here)) else { return Ok(bucket) };
    let is_url = Scheme::of(&uri).is_some_and(Scheme::only_reads);
    let is_named = || server_of(&uri) == server_of(&here) || snapshot.names_server_of(&uri);
    if is_url && is_named() {
        return snapshot.bucket(&uri);
    }
    Ok(bucket)
}

/// Asks the catalog for its configuration, which says how it is to be asked for the table.
async fn question(
    call: &FileCall,
    catalog: &str,
    name: &str,
    reader: &Reader<'_>,
) -> SqlResult<Question> {
    let is_moved = flag(call, "allow_moved_paths")?.unwrap_or(false);
    if is_moved || text(call, "version").is_some() {
        let message = "version and allow_moved_paths are of use without a catalog only";
        return Err(invalid(message.to_owned()));
    }
    let wants_keys = flag(call, "vended_credentials")?.unwrap_or(true);
    if !Scheme::of(catalog).is_some_and(Scheme::only_reads) {
        return Err(invalid(format!("the catalog \"{catalog}\" does not begin with https://")));
    }
    let bucket = reader.snapshot.bucket(catalog)?;
    let query: Vec<_> =
        text(call, "warehouse").map(|name| ("warehouse", name)).into_iter().collect();
    let asked = bucket.store.document(CONFIG, &query, &[], METADATA_BYTES_MAX as usize);
    let config = unless_cancelled(reader.cancel, asked).await?;
    let config = config.map_err(|error| of_object(&error, &bucket.location, CONFIG))?;
    let config_path = format!("{}/{CONFIG}", bucket.location);
    let config = reader.parsed(&config, CatalogConfig::parse)?;
    let config = config.map_err(|error| lake::fault(&config_path, &error))?;
    let bucket = moved_to(config.uri(), bucket, &reader.snapshot)?;
    let key = table_key(config.prefix(text(call, "catalog_prefix")), name);
    let key = key.map_err(|error| invalid(error.to_string()))?;
    Ok(Question { bucket, config, key, wants_keys })
}
