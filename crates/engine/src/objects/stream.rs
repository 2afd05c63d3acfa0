//! An object from its begin to its end: some requests ahead of whoever takes its bytes.

use std::collections::VecDeque;
use std::sync::Arc;

use bytes::Bytes;
use runtime::RemoteHandle;
use types::{SqlError, SqlResult};

use super::file::ObjectFile;
use super::room::{Room, Taken};
use super::tally::Tally;

/// Bytes of a request: what one is worth (AnyBlob paper, section 2.4), and few enough that the first ones
/// are soon there.
const REQUEST_BYTES: u64 = 8 << 20;

/// Bytes of the first request, by which formats are guessed.
const FIRST_BYTES: u64 = 1 << 20;

/// Requests on their way for one object: records are parsed at some 100 MB/s for each worker, so this
/// many hide 300 ms.
const AHEAD_MAX: usize = 4;

/// An object that is being read.
pub(crate) struct ObjectStream {
    file: ObjectFile,
    tally: Tally,
    /// The memory of the query; a stream without one keeps to its own limits.
    room: Option<Arc<Room>>,
    /// Up to where it was asked for.
    asked: u64,
    coming: VecDeque<Coming>,
}

/// A request on its way, and the memory for what comes.
struct Coming {
    bytes: RemoteHandle<SqlResult<Bytes>>,
    _taken: Option<Taken>,
}

impl ObjectStream {
    /// Nothing is asked for yet.
    pub(crate) fn new(file: ObjectFile, room: Option<Arc<Room>>, tally: Tally) -> ObjectStream {
        ObjectStream { file, tally, room, asked: 0, coming: VecDeque::new() }
    }

    /// The next bytes; `None` at the end.
    ///
    /// # Errors
    /// As [`ObjectFile::fetch`].
    pub(crate) async fn next(&mut self) -> SqlResult<Option<Bytes>> {
        // Who only looks at the begin needs no more.
        let ahead = if self.asked == 0 { 1 } else { AHEAD_MAX };
        self.ask(ahead);
        let Some(first) = self.coming.pop_front() else { return Ok(None) };
        let aborted = |_| Err(SqlError::internal("the reading of an object was aborted"));
        first.bytes.await.unwrap_or_else(aborted).map(Some)
    }

    /// Sends requests, as far as there is memory; one in any case, so nobody waits for memory.
    fn ask(&mut self, ahead: usize) {
        while self.coming.len() < ahead && self.asked < self.file.length() {
            let bytes = if self.asked == 0 { FIRST_BYTES } else { REQUEST_BYTES };
            let range = self.asked..self.file.length().min(self.asked + bytes);
            let count = (range.end - range.start) as usize;
            let taken = match &self.room {
                None => None,
                Some(room) if self.coming.is_empty() => Some(room.hold(count)),
                Some(room) => match room.try_hold(count) {
                    None => return,
                    taken => taken,
                },
            };
            self.asked = range.end;
            let (file, tally) = (self.file.clone(), self.tally.clone());
            let bytes = runtime::spawn_on(runtime::worker(), move || async move {
                let fetched = file.fetch(&[range], &tally).await?;
                let (_, bytes) = fetched.into_iter().next().unwrap_or_default();
                Ok(bytes)
            });
            self.coming.push_back(Coming { bytes, _taken: taken });
        }
    }
}

impl Drop for ObjectStream {
    /// Whoever gives up reading wants no more of it.
    fn drop(&mut self) {
        self.coming.iter().for_each(|coming| coming.bytes.abort());
    }
}
