//! The objects that a path stands for: one that is asked for, or those of a list whose names match.

use objectstore::ObjectInfo;
use runtime::sync::Cancel;
use txn::waiting::{give_way, unless_cancelled};
use types::{SqlError, SqlResult, SqlState};

use super::super::found::Found;
use super::{check_count, has_wildcard, is_match, none_match};
use crate::catalog::snapshot::Snapshot;
use crate::objects::fault::of_store;
use crate::objects::file::ObjectFile;
use crate::objects::path::ObjectPath;
use crate::objects::stores::Bucket;

/// The objects of a path, in order of their names.
pub(super) async fn expand(
    path: &str,
    snapshot: &Snapshot,
    cancel: &Cancel,
) -> SqlResult<Vec<Found>> {
    let parsed = ObjectPath::parse(path)?;
    if has_wildcard(&parsed.key) {
        return matching(&parsed, snapshot, cancel).await;
    }
    let object = unless_cancelled(cancel, ObjectFile::open(snapshot, &parsed)).await??;
    Ok(vec![Found::object(path.to_owned(), object)])
}

/// Lists what begins as the pattern does, directory by directory up to a `**`.
async fn matching(
    pattern: &ObjectPath,
    snapshot: &Snapshot,
    cancel: &Cancel,
) -> SqlResult<Vec<Found>> {
    if pattern.location.scheme.only_reads() {
        return Err(SqlError::unsupported("a pattern of names at a server that gives no lists")
            .with_hint("Name its files, as ARRAY['..', '..'] where they are several."));
    }
    let bucket = snapshot.bucket_of(pattern)?;
    let search = Search { pattern, bucket: &bucket, cancel };
    let names: Vec<&str> = pattern.key.split('/').collect();
    let plain = names.iter().take_while(|name| !has_wildcard(name)).count();
    let begin = names[..plain].iter().map(|name| format!("{name}/")).collect();
    let mut found = search.find(&names[plain..], begin).await?;
    if found.is_empty() {
        return Err(none_match(&pattern.text));
    }
    found.sort_unstable_by(|a, b| a.key.cmp(&b.key));
    let object = |info: ObjectInfo| {
        let path = pattern.with_key(&info.key).text;
        Found::object(path, ObjectFile::of(bucket.clone(), info))
    };
    Ok(found.into_iter().map(object).collect())
}

/// The search for objects of a pattern.
struct Search<'a> {
    pattern: &'a ObjectPath,
    bucket: &'a Bucket,
    cancel: &'a Cancel,
}

impl Search<'_> {
    /// The objects below a folder whose names match the rest of a pattern.
    async fn find(&self, names: &[&str], begin: String) -> SqlResult<Vec<ObjectInfo>> {
        let (mut folders, mut found) = (vec![begin], vec![]);
        for (at, name) in names.iter().enumerate() {
            let is_deep = *name == "**";
            for folder in std::mem::take(&mut folders) {
                let start = if is_deep { "" } else { before_wildcard(name) };
                let delimiter = (!is_deep).then_some("/");
                let (objects, inner) = self.list(&format!("{folder}{start}"), delimiter).await?;
                if is_deep || at + 1 == names.len() {
                    found.extend(objects.into_iter().filter(|object| {
                        let rest = object.key.strip_prefix(&folder).unwrap_or_default();
                        fits(&names[at..], &rest.split('/').collect::<Vec<_>>())
                    }));
                } else {
                    folders.extend(inner.into_iter().filter(|inner| {
                        let own = inner.strip_prefix(&folder).unwrap_or_default();
                        is_match(name, own.trim_end_matches('/'))
                    }));
                }
                check_count(found.len() + folders.len())?;
            }
            if is_deep {
                break;
            }
        }
        Ok(found)
    }

    /// The objects whose names begin so, and the folders among them.
    async fn list(
        &self,
        prefix: &str,
        delimiter: Option<&str>,
    ) -> SqlResult<(Vec<ObjectInfo>, Vec<String>)> {
        let (mut objects, mut folders, mut from) = (vec![], vec![], None::<String>);
        loop {
            give_way(self.cancel).await?;
            let page = self.bucket.store.list(prefix, delimiter, from.as_deref());
            let page = unless_cancelled(self.cancel, page).await?;
            let page = page.map_err(|error| of_store(&error, &self.pattern.location))?;
            objects.extend(page.objects);
            folders.extend(page.prefixes);
            check_count(objects.len() + folders.len())?;
            match page.next {
                None => return Ok((objects, folders)),
                next if next == from => {
                    let message = format!("the list of \"{}\" does not end", self.pattern.text);
                    return Err(SqlError::new(SqlState::IO_ERROR, message));
                }
                next => from = next,
            }
        }
    }
}

/// What names begin with that match.
fn before_wildcard(pattern: &str) -> &str {
    let end = pattern.find(['*', '?']).unwrap_or(pattern.len());
    &pattern[..end]
}

/// Whether the parts of a name match those of a pattern; `**` stands for any number of them that do not begin
/// with a point. What ends with a slash stands for a folder and is no file.
fn fits(pattern: &[&str], parts: &[&str]) -> bool {
    let (mut p, mut n, mut star) = (0, 0, None);
    while n < parts.len() {
        let fits_here = |name: &&str| !parts[n].is_empty() && is_match(name, parts[n]);
        match pattern.get(p) {
            Some(&"**") => {
                star = Some((p, n));
                p += 1;
            }
            Some(name) if fits_here(name) => (p, n) = (p + 1, n + 1),
            // What the last `**` stands for is longer by a part.
            _ => match star {
                Some((at, taken)) if is_shown(parts[taken]) => {
                    star = Some((at, taken + 1));
                    (p, n) = (at + 1, taken + 1);
                }
                _ => return false,
            },
        }
    }
    p == pattern.len() && parts.last().is_some_and(|last| !last.is_empty())
}

fn is_shown(part: &str) -> bool {
    !part.is_empty() && !part.starts_with('.')
}

#[cfg(test)]
mod tests;
