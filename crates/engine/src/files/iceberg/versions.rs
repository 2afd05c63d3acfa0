//! Which metadata file of a table counts, and which of its snapshots.

use std::sync::Arc;

use iceberg::{Deletes, Snapshot, TableMetadata, hinted, version_of};
use sql::FileCall;
use types::datetime::parse_timestamptz;
use types::{SqlError, SqlResult, SqlState};

use super::super::options::{flag, invalid, text};
use super::super::paths;
use super::lake::{self, Lake, Reader};
use super::rest;
use super::vended::Vended;

const HINT: &str = "version-hint.text";

/// Versions after the one of the hint that are looked for one by one: who writes one writes the hint behind it. Where
/// there are more, all of them are listed.
const AHEAD_MAX: u64 = 64;

/// Opens a table by the call's options.
///
/// # Errors
/// As [`super::describe::describe`].
pub(super) async fn open(call: &FileCall, reader: &Reader<'_>) -> SqlResult<Lake> {
    let [given] = call.paths.as_slice() else {
        return Err(SqlError::unsupported("iceberg_scan of several tables at once"));
    };
    let catalog = text(call, "catalog");
    let Located { root, path, metadata, vended } = match catalog {
        Some(catalog) => rest::table(call, catalog, given, reader).await?,
        None => of_files(call, given, reader).await?,
    };
    let snapshot = snapshot_of(call, &metadata, &path)?;
    // Columns may have changed since the current snapshot was written; an earlier one has those of its time.
    let earlier = text(call, "snapshot_from_id").or(text(call, "snapshot_from_timestamp"));
    let schema =
        metadata.schema_of(earlier.and(snapshot)).map_err(|error| lake::fault(&path, &error))?;
    Ok(Lake {
        snapshot: reader.snapshot.clone(),
        vended: Arc::new(vended),
        root,
        home: catalog.unwrap_or(given).to_owned(),
        is_moved: flag(call, "allow_moved_paths")?.unwrap_or(false),
        schema: schema.clone(),
        manifest_list: snapshot.map(|snapshot| snapshot.manifest_list.clone()),
        deletes: Deletes::default(),
        _memory: reader.memory.clone(),
        metadata: Arc::new(metadata),
    })
}

/// A table that was found.
pub(super) struct Located {
    /// Its folder.
    pub(super) root: String,
    /// What its metadata is called in errors.
    pub(super) path: String,
    pub(super) metadata: TableMetadata,
    /// Keys that a catalog has handed out for it.
    pub(super) vended: Vended,
}

/// Options that say how a catalog is asked.
const OF_CATALOGS: [&str; 3] = ["catalog_prefix", "vended_credentials", "warehouse"];

/// A table by its folder or its metadata file.
async fn of_files(call: &FileCall, given: &str, reader: &Reader<'_>) -> SqlResult<Located> {
    if let Some(option) = OF_CATALOGS.iter().find(|option| text(call, option).is_some()) {
        return Err(invalid(format!("{option} is of use with a catalog only")));
    }
    if given.contains(['*', '?']) {
        return Err(SqlError::unsupported("iceberg_scan with a pattern of names"));
    }
    let given = given.trim_end_matches('/');
    let name = given.rsplit('/').next().unwrap_or(given);
    let (root, path) = match version_of(name) {
        Some(_) => {
            let folder = given.strip_suffix(name).unwrap_or_default().trim_end_matches('/');
            let root = folder.rsplit_once('/').map_or("", |(root, _)| root);
            (root.to_owned(), given.to_owned())
        }
        None => (given.to_owned(), metadata_path(given, text(call, "version"), reader).await?),
    };
    let bytes = reader.whole(&path).await?;
    let metadata = reader.metadata(&path, &bytes, TableMetadata::parse)?;
    Ok(Located { root, path, metadata, vended: Vended::default() })
}

fn snapshot_of<'a>(
    call: &FileCall,
    metadata: &'a TableMetadata,
    path: &str,
) -> SqlResult<Option<&'a Snapshot>> {
    let (id, time) = (text(call, "snapshot_from_id"), text(call, "snapshot_from_timestamp"));
    let snapshot = match (id, time) {
        (None, None) => metadata.current_snapshot(),
        (Some(_), Some(_)) => {
            let message = "snapshot_from_id and snapshot_from_timestamp exclude each other";
            return Err(invalid(message.to_owned()));
        }
        (Some(id), None) => {
            let wrong = |_| invalid(format!("snapshot_from_id \"{id}\" is no number"));
            metadata.snapshot_of_id(id.parse().map_err(wrong)?).map(Some)
        }
        (None, Some(time)) => {
            let us = parse_timestamptz(time)?;
            metadata.snapshot_at(us.div_euclid(1000)).map(Some)
        }
    };
    snapshot.map_err(|error| lake::fault(path, &error))
}

/// The metadata file of a version; without one, of the newest.
async fn metadata_path(root: &str, version: Option<&str>, r: &Reader<'_>) -> SqlResult<String> {
    if let Some(version) = version {
        return match first(root, &hinted(version), r).await? {
            Some(path) => Ok(path),
            None => listed(root, Some(version), r).await,
        };
    }
    let hint = format!("{root}/metadata/{HINT}");
    if !r.exists(&hint).await? {
        return listed(root, None, r).await;
    }
    let bytes = r.whole(&hint).await?;
    let text = String::from_utf8_lossy(&bytes);
    let names = hinted(&text);
    if names.iter().any(|name| name.contains(['/', '*', '?'])) {
        return Err(lake::damaged(&hint, "It names no version."));
    }
    let Some(mut path) = first(root, &names, r).await? else {
        let message = format!("no metadata file of the version that \"{hint}\" names");
        return Err(SqlError::new(SqlState::UNDEFINED_FILE, message));
    };
    let Ok(version) = text.trim().parse::<u64>() else { return Ok(path) };
    for version in (1..=AHEAD_MAX).filter_map(|ahead| version.checked_add(ahead)) {
        match first(root, &hinted(&version.to_string()), r).await? {
            Some(next) => path = next,
            None => return Ok(path),
        }
    }
    // The hint is older than any writer leaves it.
    listed(root, None, r).await
}

/// The first of some metadata files that there is.
async fn first(root: &str, names: &[String], reader: &Reader<'_>) -> SqlResult<Option<String>> {
    for name in names {
        let path = format!("{root}/metadata/{name}");
        if reader.exists(&path).await? {
            return Ok(Some(path));
        }
    }
    Ok(None)
}

/// The metadata file of a version by the list of all of them; without one, of the newest.
async fn listed(root: &str, version: Option<&str>, reader: &Reader<'_>) -> SqlResult<String> {
    let pattern = format!("{root}/metadata/*.metadata.json*");
    let found = paths::expand(&[pattern], &reader.snapshot, reader.cancel).await;
    let found = found.map_err(|error| match error.state == SqlState::UNDEFINED_FILE {
        true => no_table(root),
        false => error.with_hint("Give the path of a metadata file instead of a folder."),
    })?;
    let versions = found.iter().filter_map(|found| {
        let name = found.path.rsplit('/').next()?;
        Some((version_of(name)?, found.path.as_str()))
    });
    let wanted = version.map(|version| version.parse().unwrap_or(u64::MAX));
    let fits = |(known, _): &(u64, &str)| wanted.is_none_or(|wanted| *known == wanted);
    let mut versions: Vec<(u64, &str)> = versions.filter(fits).collect();
    versions.sort_unstable();
    match versions.as_slice() {
        [] => Err(no_table(root)),
        // A commit that failed may have left its own behind, so it is not known which of them counts.
        [.., (one, first), (other, second)] if one == other => {
            let message = format!("there are two metadata files of version {one}");
            Err(SqlError::new(SqlState::DATA_CORRUPTED, message)
                .with_detail(format!("One is \"{first}\", another one \"{second}\"."))
                .with_hint("Give the path of the one that counts, as the catalog says."))
        }
        [.., (_, newest)] => Ok((*newest).to_owned()),
    }
}

fn no_table(root: &str) -> SqlError {
    let message = format!("there is no metadata file of a table of Iceberg in \"{root}/metadata\"");
    SqlError::new(SqlState::UNDEFINED_FILE, message)
}
