//! The tables of a bucket: folders that have a list.

use objectstore::ErrorKind;
use txn::waiting::{Beside, all};
use types::{SqlError, SqlResult, SqlState};

use super::list::LIST;
use crate::catalog::snapshot::Snapshot;
use crate::objects::fault::{of_object, of_store};

/// Folders that are looked into, at most.
const FOLDERS_MAX: usize = 10_000;

/// Folders that are asked for their lists at once.
const ASKED_AT_ONCE: usize = 32;

/// The names of the tables whose locations are one folder below this one.
///
/// # Errors
/// Those of the store, 54000 for too many folders.
pub(crate) async fn tables(snapshot: &Snapshot, location: &str) -> SqlResult<Vec<String>> {
    let bucket = snapshot.bucket(location)?;
    let (store, location) = (&bucket.store, &bucket.location);
    let begin = location.key("");
    let (mut names, mut from) = (vec![], None::<String>);
    loop {
        let page = store.list(&begin, Some("/"), from.as_deref()).await;
        let page = page.map_err(|error| of_store(&error, location))?;
        let folders = page.prefixes.iter().filter_map(|folder| folder.strip_prefix(&begin));
        names.extend(folders.map(|folder| folder.trim_end_matches('/').to_owned()));
        if names.len() > FOLDERS_MAX {
            let message = format!("there are more than {FOLDERS_MAX} folders at \"{location}\"");
            return Err(SqlError::new(SqlState::PROGRAM_LIMIT_EXCEEDED, message));
        }
        match page.next {
            Some(next) if Some(&next) != from.as_ref() => from = Some(next),
            _ => break,
        }
    }
    let mut tables = vec![];
    for some in names.chunks(ASKED_AT_ONCE) {
        let ask = |name| -> Beside<'_, bool> {
            Box::pin(async move {
                let list = format!("{name}/{LIST}");
                match store.head(&location.key(&list)).await {
                    Ok(_) => Ok(true),
                    Err(error) if error.kind() == ErrorKind::NotFound => Ok(false),
                    Err(error) => Err(of_object(&error, location, &list)),
                }
            })
        };
        let are_tables = all(some.iter().map(ask).collect()).await?;
        let found = some.iter().zip(are_tables).filter(|(_, is_table)| *is_table);
        tables.extend(found.map(|(name, _)| name.clone()));
    }
    Ok(tables)
}
