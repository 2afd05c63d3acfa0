//! An object that a statement writes: its parts are sent while the statement goes on, and it is there when the
//! statement has come to its end, so one that fails leaves nothing behind.

use objectstore::{Condition, Upload};
use types::{SqlError, SqlResult};

use super::fault::of_object;
use super::path::ObjectPath;
use super::stores::Bucket;
use crate::catalog::snapshot::Snapshot;

/// Bytes of a part: what a request is worth (AnyBlob paper, section 2.4).
const PART_BYTES: usize = 16 << 20;

/// The least that stores take, but for the last part.
const PART_BYTES_MIN: usize = 5 << 20;

/// Parts that are in memory at least: one that is being made, one that is sent, and what its request needs.
const PARTS_MIN: usize = 4;

/// An object in the making.
pub(crate) struct ObjectWriter {
    bucket: Bucket,
    key: String,
    part_bytes: usize,
    at_once: usize,
    /// What follows the parts that were sent.
    rest: Vec<u8>,
    /// None while all of it is small.
    upload: Option<Upload>,
}

impl ObjectWriter {
    /// Nothing is sent yet. In memory are at most so many bytes, but at least 20 MiB.
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
        let part_bytes = (bytes_max / PARTS_MIN).clamp(PART_BYTES_MIN, PART_BYTES);
        let at_once = (bytes_max / part_bytes).saturating_sub(2).max(1);
        Ok(ObjectWriter { bucket, key, part_bytes, at_once, rest: vec![], upload: None })
    }

    /// Adds bytes, and waits while as much is on its way as may be.
    ///
    /// # Errors
    /// Those of the store. [`ObjectWriter::give_up`] then.
    pub(crate) async fn write(&mut self, bytes: &[u8]) -> SqlResult<()> {
        let mut left = bytes;
        while self.rest.len() + left.len() >= self.part_bytes {
            let (now, later) = left.split_at(self.part_bytes - self.rest.len());
            self.rest.extend_from_slice(now);
            self.send().await?;
            left = later;
        }
        self.rest.extend_from_slice(left);
        Ok(())
    }

    /// Sends what is there.
    async fn send(&mut self) -> SqlResult<()> {
        let part = std::mem::take(&mut self.rest);
        let upload = match &mut self.upload {
            Some(upload) => upload,
            None => {
                let begun = self.bucket.store.upload(&self.key, self.at_once).await;
                let begun = begun.map_err(|e| of_object(&e, &self.bucket.location, &self.key))?;
                self.upload.insert(begun)
            }
        };
        let sent = upload.send(part).await;
        sent.map_err(|error| of_object(&error, &self.bucket.location, &self.key))
    }

    /// Stores the object in place of what was there.
    ///
    /// # Errors
    /// Those of the store; there is nothing to be given up then.
    pub(crate) async fn finish(mut self) -> SqlResult<()> {
        if self.upload.is_some()
            && !self.rest.is_empty()
            && let Err(error) = self.send().await
        {
            self.give_up();
            return Err(error);
        }
        let ObjectWriter { bucket: Bucket { store, location, .. }, key, rest, upload, .. } = self;
        let stored = match upload {
            Some(upload) => upload.finish(&Condition::None).await,
            None => store.put(&key, &rest).await,
        };
        stored.map(drop).map_err(|error| of_object(&error, &location, &key))
    }

    /// The statement has failed: the store is to forget what it was sent. Nobody waits for that, for the store
    /// may be why it failed.
    pub(crate) fn give_up(self) {
        if let Some(upload) = self.upload {
            drop(runtime::spawn(upload.give_up()));
        }
    }
}
