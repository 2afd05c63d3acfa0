//! The files that paths with wildcards stand for: `*` and `?` within a name, `**` for any directories.

pub(crate) mod objects;

use std::io::ErrorKind;

use runtime::sync::Cancel;
use txn::waiting::give_way;
use types::{SqlError, SqlResult, SqlState};

use super::found::Found;
use crate::catalog::snapshot::Snapshot;
use crate::objects::path::is_object;

/// Files of one call, and names looked at for them: a statement keeps what it knows of each in memory.
const FILES_MAX: usize = 100_000;

/// Directories that `**` goes down: links may lead in a circle.
const DEPTH_MAX: usize = 32;

/// The files of all these paths: those of each in order of their names.
///
/// # Errors
/// 58P01 for wildcards that no file matches and objects that there are not, 54000 for too many files, 58030.
pub(super) async fn expand(
    paths: &[String],
    snapshot: &Snapshot,
    cancel: &Cancel,
) -> SqlResult<Vec<Found>> {
    let mut files = vec![];
    for path in paths {
        match (is_object(path), has_wildcard(path)) {
            (true, _) => files.extend(objects::expand(path, snapshot, cancel).await?),
            (_, true) => files.extend(matching(path, cancel).await?.into_iter().map(Found::local)),
            (_, false) => files.push(Found::local(path.clone())),
        }
    }
    Ok(files)
}

fn has_wildcard(text: &str) -> bool {
    text.contains(['*', '?'])
}

async fn matching(pattern: &str, cancel: &Cancel) -> SqlResult<Vec<String>> {
    let mut found = match pattern.starts_with('/') {
        true => vec!["/".to_owned()],
        false => vec![String::new()],
    };
    let names: Vec<&str> = pattern.split('/').filter(|name| !name.is_empty()).collect();
    for (at, name) in names.iter().enumerate() {
        let is_last = at + 1 == names.len();
        found = match *name {
            "**" if !is_last => with_all_below(found, cancel).await?,
            // At the end it stands for all files below.
            "**" => children(with_all_below(found, cancel).await?, "*", cancel).await?,
            name if has_wildcard(name) => children(found, name, cancel).await?,
            name => existing(found, name, cancel).await?,
        };
    }
    found.sort_unstable();
    found.dedup();
    let files = without_directories(found, cancel).await?;
    match files.is_empty() {
        true => Err(none_match(pattern)),
        false => Ok(files),
    }
}

fn none_match(pattern: &str) -> SqlError {
    SqlError::new(SqlState::UNDEFINED_FILE, format!("no files match the pattern \"{pattern}\""))
}

fn joined(directory: &str, name: &str) -> String {
    match directory {
        "" => name.to_owned(),
        "/" => format!("/{name}"),
        directory => format!("{directory}/{name}"),
    }
}

/// The names in a directory; `None` of what is none.
async fn list(directory: &str) -> SqlResult<Option<Vec<String>>> {
    let path = if directory.is_empty() { "." } else { directory };
    match runtime::fs::list(path).await {
        Ok(names) => Ok(Some(names)),
        Err(e) if matches!(e.kind(), ErrorKind::NotADirectory | ErrorKind::NotFound) => Ok(None),
        Err(error) => {
            let state = match error.kind() {
                ErrorKind::PermissionDenied => SqlState::INSUFFICIENT_PRIVILEGE,
                _ => SqlState::IO_ERROR,
            };
            let message = format!("could not open directory \"{path}\": {error}");
            Err(SqlError::new(state, message))
        }
    }
}

fn check_count(count: usize) -> SqlResult<()> {
    if count <= FILES_MAX {
        return Ok(());
    }
    let message = format!("more than {FILES_MAX} names match a pattern");
    Err(SqlError::new(SqlState::PROGRAM_LIMIT_EXCEEDED, message)
        .with_hint("Use a pattern that matches fewer files."))
}

/// What has a name that matches in these directories.
async fn children(
    directories: Vec<String>,
    pattern: &str,
    cancel: &Cancel,
) -> SqlResult<Vec<String>> {
    let mut found = vec![];
    for directory in directories {
        give_way(cancel).await?;
        let names = list(&directory).await?.unwrap_or_default();
        let matching = names.into_iter().filter(|name| is_match(pattern, name));
        found.extend(matching.map(|name| joined(&directory, &name)));
        check_count(found.len())?;
    }
    Ok(found)
}

async fn existing(directories: Vec<String>, name: &str, cancel: &Cancel) -> SqlResult<Vec<String>> {
    let mut found = vec![];
    for directory in directories {
        give_way(cancel).await?;
        let path = joined(&directory, name);
        if runtime::fs::exists(&path).await.unwrap_or(false) {
            found.push(path);
        }
    }
    Ok(found)
}

/// These directories and all below them.
async fn with_all_below(directories: Vec<String>, cancel: &Cancel) -> SqlResult<Vec<String>> {
    let (mut found, mut level) = (vec![], directories);
    for _ in 0..DEPTH_MAX {
        let mut below = vec![];
        for directory in level {
            give_way(cancel).await?;
            let Some(names) = list(&directory).await? else { continue };
            let shown = names.iter().filter(|name| !name.starts_with('.'));
            below.extend(shown.map(|name| joined(&directory, name)));
            found.push(directory);
            check_count(found.len() + below.len())?;
        }
        level = below;
    }
    Ok(found)
}

async fn without_directories(paths: Vec<String>, cancel: &Cancel) -> SqlResult<Vec<String>> {
    let mut files = vec![];
    for path in paths {
        give_way(cancel).await?;
        let is_directory = matches!(list(&path).await, Ok(Some(_)));
        files.extend((!is_directory).then_some(path));
    }
    Ok(files)
}

/// Whether a name matches. Names that begin with a point do so only where the pattern does.
fn is_match(pattern: &str, name: &str) -> bool {
    if name.starts_with('.') && !pattern.starts_with('.') {
        return false;
    }
    let (pattern, name): (Vec<char>, Vec<char>) =
        (pattern.chars().collect(), name.chars().collect());
    let (mut p, mut n, mut star) = (0, 0, None);
    while n < name.len() {
        match pattern.get(p) {
            Some('*') => {
                star = Some((p, n));
                p += 1;
            }
            Some(c) if *c == '?' || *c == name[n] => (p, n) = (p + 1, n + 1),
            // What the last star stands for is longer by a letter.
            _ => match star {
                Some((at, taken)) => {
                    star = Some((at, taken + 1));
                    (p, n) = (at + 1, taken + 1);
                }
                None => return false,
            },
        }
    }
    pattern[p..].iter().all(|c| *c == '*')
}

#[cfg(test)]
mod tests;
