//! Tables by the REST protocol of catalogs: the configuration is asked for once, then the table, whose metadata is in
//! the answer. What the catalog says of credentials is not used: the secrets for the locations of files are.

use iceberg::{CatalogConfig, METADATA_BYTES_MAX, TableMetadata, place, table_key};
use objectstore::ErrorKind;
use sql::FileCall;
use types::{SqlError, SqlResult, SqlState};

use super::super::options::{flag, invalid, text};
use super::lake::{self, Reader};
use crate::objects::{Bucket, Scheme, is_object, of_object};
use crate::waiting::unless_cancelled;

const CONFIG: &str = "v1/config";

/// Asks the catalog at a URL for a table: where it lies, what it is called in errors, and its metadata.
///
/// # Errors
/// 42P01 for a table that there is not, 28000 for a token that the catalog refuses, 42501 for a table among the
/// server's own files, and those of [`super::describe`].
pub(super) async fn table(
    call: &FileCall,
    catalog: &str,
    name: &str,
    reader: &Reader<'_>,
) -> SqlResult<(String, String, TableMetadata)> {
    let is_moved = flag(call, "allow_moved_paths")?.unwrap_or(false);
    if is_moved || text(call, "version").is_some() {
        let message = "version and allow_moved_paths are of use without a catalog only";
        return Err(invalid(message.to_owned()));
    }
    if !Scheme::of(catalog).is_some_and(Scheme::only_reads) {
        return Err(invalid(format!("the catalog \"{catalog}\" does not begin with https://")));
    }
    let bucket = reader.snapshot.bucket(catalog)?;
    let config = ask(&bucket, CONFIG, reader).await?;
    let config = config.map_err(|error| of_object(&error, &bucket.location, CONFIG))?;
    let config_path = format!("{}/{CONFIG}", bucket.location);
    let config = CatalogConfig::parse(&config).map_err(|e| lake::fault(&config_path, &e))?;
    let key = table_key(config.prefix(text(call, "catalog_prefix")), name);
    let key = key.map_err(|error| invalid(error.to_string()))?;
    let path = format!("{}/{}", bucket.location, key.replace('\u{1f}', "."));
    let answer = ask(&bucket, &key, reader).await?;
    let answer = answer.map_err(|error| match error.kind() {
        ErrorKind::NotFound => {
            let message = format!("table \"{name}\" does not exist in the catalog \"{catalog}\"");
            SqlError::new(SqlState::UNDEFINED_TABLE, message)
        }
        _ => of_object(&error, &bucket.location, &key),
    })?;
    let metadata = reader.metadata(&path, &answer, TableMetadata::of_answer)?;
    let root = place(&metadata.location).map_err(|error| lake::fault(&path, &error))?;
    if !is_object(&root) {
        let message = format!("the table \"{name}\" of a catalog lies in the folder \"{root}\"");
        return Err(SqlError::new(SqlState::INSUFFICIENT_PRIVILEGE, message)
            .with_detail("Who writes to a catalog names no files of the server.")
            .with_hint("Give the folder to iceberg_scan, without a catalog."));
    }
    Ok((root, path, metadata))
}

async fn ask(
    bucket: &Bucket,
    key: &str,
    reader: &Reader<'_>,
) -> SqlResult<Result<Vec<u8>, objectstore::Error>> {
    let got = unless_cancelled(reader.cancel, bucket.store.get(key)).await?;
    let Ok(got) = got else { return Ok(got.map(|_| vec![])) };
    let bytes = got.body.as_slice();
    if bytes.len() as u64 > METADATA_BYTES_MAX {
        let message = format!("an answer of more than {METADATA_BYTES_MAX} bytes");
        return Err(SqlError::new(SqlState::PROGRAM_LIMIT_EXCEEDED, message));
    }
    Ok(Ok(bytes.to_vec()))
}
