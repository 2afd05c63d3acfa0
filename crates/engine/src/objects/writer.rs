//! An object that a statement writes: gathered in memory and stored when the statement has come to its end, so
//! one that fails leaves nothing behind.

use objectstore::Condition;
use types::{SqlError, SqlResult, SqlState};

use super::{Bucket, ObjectPath, of_object};
use crate::catalog::Snapshot;

/// Bytes of a part: what a request is worth (AnyBlob paper, section 2.4).
const PART_BYTES: usize = 16 << 20;

/// Parts that stores allow.
const PART_COUNT_MAX: usize = 10_000;

/// An object in the making.
pub(crate) struct ObjectWriter {
    bucket: Bucket,
    key: String,
    body: Vec<u8>,
    bytes_max: usize,
}

impl ObjectWriter {
    /// Nothing is sent yet. The object has at most so many bytes.
    ///
    /// # Errors
    /// 0A000 for a server that only gives files, and those of the bucket.
    pub(crate) fn new(
        snapshot: &Snapshot,
        path: &ObjectPath,
        bytes_max: usize,
    ) -> SqlResult<ObjectWriter> {
        if path.location.scheme.only_reads() {
            let what = format!("writing \"{}\", which can only be read", path.text);
            return Err(SqlError::unsupported(what));
        }
        let (bucket, key) = (snapshot.bucket_of(path)?, path.key.clone());
        Ok(ObjectWriter { bucket, key, body: vec![], bytes_max })
    }

    /// Adds bytes.
    ///
    /// # Errors
    /// 54000 when they become too many.
    pub(crate) fn write(&mut self, bytes: &[u8]) -> SqlResult<()> {
        if self.body.len() + bytes.len() > self.bytes_max {
            let message =
                format!("object \"{}/{}\" would be too large", self.bucket.location, self.key);
            return Err(SqlError::new(SqlState::PROGRAM_LIMIT_EXCEEDED, message)
                .with_detail(format!(
                    "It is kept in memory, of which it may have {} MB.",
                    self.bytes_max >> 20
                ))
                .with_hint("Copy to several objects, or give the database more memory."));
        }
        self.body.extend_from_slice(bytes);
        Ok(())
    }

    /// Stores the object in place of what was there.
    ///
    /// # Errors
    /// Those of the store.
    pub(crate) async fn finish(self) -> SqlResult<()> {
        let ObjectWriter { bucket: Bucket { store, location }, key, body, .. } = self;
        let stored = match body.len() <= PART_BYTES {
            true => store.put(&key, &body).await,
            false => {
                let part_bytes = PART_BYTES.max(body.len().div_ceil(PART_COUNT_MAX));
                store.put_parts(&key, &body, part_bytes, &Condition::None).await
            }
        };
        stored.map(drop).map_err(|error| of_object(&error, &location, &key))
    }
}
