//! Puts the bodies of chunks, some at a time.

use std::collections::VecDeque;

use objectstore::Condition;
use runtime::JoinHandle;
use types::{SqlError, SqlResult};

use super::name::ChunkName;
use crate::objects::fault::of_object;
use crate::objects::stores::Bucket;

/// Bodies on their way at once: enough to hide a round trip behind the encoding of the next ones, few
/// enough that they are little beside what is being encoded.
const UPLOADS_MAX: usize = 4;

/// Bodies on their way.
pub(crate) struct Uploads {
    bucket: Bucket,
    sending: VecDeque<JoinHandle<SqlResult<()>>>,
}

impl Uploads {
    pub(crate) fn new(bucket: Bucket) -> Uploads {
        Uploads { bucket, sending: VecDeque::new() }
    }

    /// Begins to put a body; its name. Waits while too many are on their way.
    ///
    /// # Errors
    /// Those of the store, of earlier bodies too.
    pub(crate) async fn put(&mut self, body: Vec<u8>) -> SqlResult<ChunkName> {
        while self.sending.len() >= UPLOADS_MAX {
            self.await_first().await?;
        }
        let (name, bucket) = (ChunkName::new(), self.bucket.clone());
        self.sending.push_back(runtime::spawn(async move {
            let Bucket { store, location, seal, .. } = &bucket;
            let body = match seal {
                Some(seal) => seal.seal_body(&name.0, &body).await?,
                None => body,
            };
            let key = location.key(&name.to_string());
            // The name is new; if the store says otherwise, something is wrong with one of them.
            let done = store.put_if(&key, &body, &Condition::Absent).await;
            done.map(drop).map_err(|error| of_object(&error, location, &name.to_string()))
        }));
        Ok(name)
    }

    /// Waits until all are there.
    ///
    /// # Errors
    /// Those of the store.
    pub(crate) async fn finish(mut self) -> SqlResult<()> {
        while !self.sending.is_empty() {
            self.await_first().await?;
        }
        Ok(())
    }

    async fn await_first(&mut self) -> SqlResult<()> {
        let Some(first) = self.sending.pop_front() else { return Ok(()) };
        let aborted = |_| Err(SqlError::internal("the upload of a chunk was aborted"));
        first.await.unwrap_or_else(aborted)
    }
}

impl Drop for Uploads {
    /// Whoever gives up a load wants none of it.
    fn drop(&mut self) {
        self.sending.iter().for_each(JoinHandle::abort);
    }
}
