//! An object that is read as a file: some ranges of it at once, each answer compared with what was found
//! when the statement began.

use std::ops::Range;
use std::sync::{Arc, OnceLock};

use bytes::Bytes;
use objectstore::{ObjectInfo, Usage};
use runtime::IoBuf;
use txn::waiting::{Beside, all};
use types::{SqlError, SqlResult, SqlState};

use super::fault::of_object;
use super::path::ObjectPath;
use super::ranges::{joined, requests};
use super::stores::Bucket;
use super::tally::Tally;
use crate::catalog::snapshot::Snapshot;

/// An object as a statement found it; clones are the same.
#[derive(Clone, Debug)]
pub(crate) struct ObjectFile {
    bucket: Bucket,
    key: String,
    size: u64,
    /// What its bytes are known by: as the store told when it was asked for the object, or else with the first bytes.
    /// It stays empty where a store tells none.
    tag: Arc<OnceLock<String>>,
}

/// Bytes that were received.
struct Received(IoBuf);

impl AsRef<[u8]> for Received {
    fn as_ref(&self) -> &[u8] {
        self.0.as_slice()
    }
}

impl ObjectFile {
    /// Asks for an object.
    ///
    /// # Errors
    /// 58P01 when there is none, those of the bucket and of the store.
    pub(crate) async fn open(snapshot: &Snapshot, path: &ObjectPath) -> SqlResult<ObjectFile> {
        ObjectFile::open_in(snapshot.bucket_of(path)?, path).await
    }

    /// The same in a bucket that is open.
    ///
    /// # Errors
    /// As [`ObjectFile::open`].
    pub(crate) async fn open_in(bucket: Bucket, path: &ObjectPath) -> SqlResult<ObjectFile> {
        let info = bucket.store.head(&path.key).await;
        let info = info.map_err(|error| of_object(&error, &bucket.location, &path.key))?;
        Ok(ObjectFile::of(bucket, ObjectInfo { key: path.key.clone(), ..info }))
    }

    /// One that a store has told of.
    pub(crate) fn of(bucket: Bucket, info: ObjectInfo) -> ObjectFile {
        let tag = Arc::new(info.tag.map(OnceLock::from).unwrap_or_default());
        ObjectFile { bucket, key: info.key, size: info.size, tag }
    }

    /// Its bytes when it was found.
    pub(crate) fn length(&self) -> u64 {
        self.size
    }

    /// Bytes that all of these ranges take in memory together.
    pub(crate) fn bytes_of(ranges: &[Range<u64>]) -> u64 {
        joined(ranges).iter().map(|range| range.end - range.start).sum()
    }

    /// The bytes of ranges, which must lie in the object: each within one of those that are given back.
    /// All requests for them are sent at once.
    ///
    /// # Errors
    /// Those of the store, and XX001 when the object is another one by now.
    pub(crate) async fn fetch(
        &self,
        ranges: &[Range<u64>],
        tally: &Tally,
    ) -> SqlResult<Vec<(Range<u64>, Bytes)>> {
        let begun = runtime::time::now();
        let joined = joined(ranges);
        let get = |range: &Range<u64>| -> Beside<'_, Bytes> {
            let range = range.clone();
            Box::pin(async move {
                let parts = requests(&range);
                let get = |part| -> Beside<'_, IoBuf> { Box::pin(self.get(part, tally)) };
                let parts = all(parts.into_iter().map(get).collect()).await?;
                Ok(Bytes::from_owner(Received(whole(parts))))
            })
        };
        let bytes = all(joined.iter().map(get).collect()).await;
        tally.waited(begun);
        Ok(joined.into_iter().zip(bytes?).collect())
    }

    /// Whether bytes that came with this are of the object that was found.
    fn is_same(&self, info: &ObjectInfo) -> bool {
        let has_tag = match &info.tag {
            Some(tag) => self.tag.get_or_init(|| tag.clone()) == tag,
            None => self.tag.get().is_none(),
        };
        info.size == self.size && has_tag
    }

    async fn get(&self, range: Range<u64>, tally: &Tally) -> SqlResult<IoBuf> {
        let Bucket { store, location, .. } = &self.bucket;
        let usage = Arc::new(Usage::default());
        let counted = store.counted_in(usage.clone());
        let buf = IoBuf::alloc((range.end - range.start) as usize);
        let (got, buf) = counted.get_into(&self.key, range, buf, 0).await;
        tally.add(1, &usage, &self.bucket);
        let info = got.map_err(|error| of_object(&error, location, &self.key))?;
        match self.is_same(&info) {
            true => Ok(buf),
            false => {
                let message = format!("object \"{location}/{}\" was replaced meanwhile", self.key);
                Err(SqlError::new(SqlState::DATA_CORRUPTED, message).with_hint("Try again."))
            }
        }
    }
}

/// Parts one behind the other, as one.
fn whole(mut parts: Vec<IoBuf>) -> IoBuf {
    if parts.len() == 1
        && let Some(part) = parts.pop()
    {
        return part;
    }
    let mut whole = IoBuf::alloc(parts.iter().map(IoBuf::len).sum());
    let mut at = 0;
    for part in parts {
        whole.as_mut_slice()[at..at + part.len()].copy_from_slice(part.as_slice());
        at += part.len();
    }
    whole
}

#[cfg(test)]
mod tests;
