//! Large objects in parts.

use std::future::Future;
use std::pin::Pin;
use std::task::Poll;

use crate::error::{Error, ErrorKind, Result};
use crate::operation::{Condition, ObjectInfo, Operation, Part, Payload};
use crate::provider::Assembly;
use crate::store::Store;
use crate::write::{RECEIPT_BYTES_MAX, write_id};

mod joined;
mod stream;

pub use stream::Upload;

/// Parts sent at once for one object.
const PARTS_AT_ONCE: usize = 8;
/// What stores allow.
const PART_COUNT_MAX: usize = 10_000;
/// What S3 wants of all parts but the last.
pub(crate) const PART_BYTES_MIN: usize = 5 << 20;

type Sent<'a, T> = Pin<Box<dyn Future<Output = Result<T>> + 'a>>;

impl Store {
    /// Stores an object in parts of `part_bytes`, some of them at once, if the condition holds at the
    /// end. It is there with the last part or not at all.
    ///
    /// # Errors
    /// As [`Store::put_if`]; `Invalid` for parts that are too small or too many.
    pub async fn put_parts(
        &self,
        key: &str,
        body: &[u8],
        part_bytes: usize,
        condition: &Condition,
    ) -> Result<ObjectInfo> {
        let part_count = body.len().div_ceil(part_bytes.max(1));
        if part_bytes < PART_BYTES_MIN || part_count > PART_COUNT_MAX || body.is_empty() {
            let what = format!("1 to {PART_COUNT_MAX} parts of at least {PART_BYTES_MIN} bytes");
            return Err(Error::invalid(what));
        }
        let id = write_id();
        let upload = self.begin_upload(key, &id).await?;
        let done = self.send_parts(key, body, part_bytes, condition, &id, &upload).await;
        // What may be done is not to be undone.
        let is_failed = done.as_ref().is_err_and(|e| e.kind() != ErrorKind::OutcomeUnknown);
        if is_failed {
            // The store bills for parts until they are given up; it does so by itself after a time.
            let _ = self.give_up_upload(key, &upload).await;
        }
        done
    }

    /// Has the store forget the parts that it has, where they are not forgotten by themselves.
    pub(crate) async fn give_up_upload(&self, key: &str, upload: &str) -> Result<()> {
        match self.provider().assembly() {
            Assembly::Upload => {
                let operation = Operation::AbortUpload { key, upload };
                self.ask(&operation, RECEIPT_BYTES_MAX).await.map(drop)
            }
            Assembly::Blocks => Ok(()),
            Assembly::Objects { .. } => self.delete_parts(key, upload).await,
        }
    }

    pub(crate) async fn begin_upload(&self, key: &str, id: &str) -> Result<String> {
        if self.provider().assembly() != Assembly::Upload {
            return Ok(id.to_owned());
        }
        let operation = Operation::CreateUpload { key, write_id: id };
        let (_, document) = self.ask(&operation, RECEIPT_BYTES_MAX).await?;
        self.provider().upload(&String::from_utf8_lossy(&document))
    }

    async fn send_parts(
        &self,
        key: &str,
        body: &[u8],
        part_bytes: usize,
        condition: &Condition,
        id: &str,
        upload: &str,
    ) -> Result<ObjectInfo> {
        let pieces = body.chunks(part_bytes).zip(1..);
        let parts = pieces.map(|(bytes, number)| -> Sent<'_, Part> {
            Box::pin(self.send_part(key, upload, number, bytes))
        });
        let parts = some_at_once(parts, PARTS_AT_ONCE).await?;
        let info = self.finish_upload(key, parts, condition, id, upload).await?;
        Ok(ObjectInfo { size: body.len() as u64, ..info })
    }

    /// Makes the object of its parts.
    pub(crate) async fn finish_upload(
        &self,
        key: &str,
        mut parts: Vec<Part>,
        condition: &Condition,
        id: &str,
        upload: &str,
    ) -> Result<ObjectInfo> {
        parts.sort_by_key(|part| part.number);
        let assembly = self.provider().assembly();
        if let Assembly::Objects { joined_max } = assembly {
            parts = self.join_parts(key, parts, upload, joined_max).await?;
        }
        let list = self.provider().all_parts(key, upload, &parts, Some(id));
        let payload = Payload::of(list.as_bytes(), self.provider().signs_bodies()).await;
        let operation =
            Operation::CompleteUpload { key, upload, payload: &payload, condition, write_id: id };
        let deadline = self.deadline();
        let info = self.write_once(&operation, key, id, condition, deadline).await?;
        if matches!(assembly, Assembly::Objects { .. }) {
            // The object is there; parts that stay cost their bytes.
            let _ = self.delete_parts(key, upload).await;
        }
        Ok(info)
    }

    pub(crate) async fn send_part(
        &self,
        key: &str,
        upload: &str,
        number: u32,
        bytes: &[u8],
    ) -> Result<Part> {
        if number as usize > PART_COUNT_MAX {
            return Err(Error::invalid(format!("an upload has {PART_COUNT_MAX} parts at most")));
        }
        let payload = Payload::of(bytes, self.provider().signs_bodies()).await;
        let operation = Operation::PutPart { key, upload, number, payload: &payload };
        let (head, body) = self.ask(&operation, RECEIPT_BYTES_MAX).await?;
        let tag = self.provider().part_tag(upload, number, &head, &body)?;
        Ok(Part { number, tag, crc32c: payload.crc32c_base64() })
    }
}

/// Runs futures, so many at once, until all have ended or one has failed; the others are dropped then.
async fn some_at_once<'a, T>(
    mut waiting: impl Iterator<Item = Sent<'a, T>>,
    count_max: usize,
) -> Result<Vec<T>> {
    let mut running: Vec<Sent<'a, T>> = waiting.by_ref().take(count_max).collect();
    let mut done = Vec::new();
    std::future::poll_fn(|cx| {
        let mut place = 0;
        while place < running.len() {
            match running[place].as_mut().poll(cx) {
                Poll::Pending => place += 1,
                Poll::Ready(Err(error)) => return Poll::Ready(Err(error)),
                Poll::Ready(Ok(one)) => {
                    done.push(one);
                    match waiting.next() {
                        Some(next) => running[place] = next,
                        None => drop(running.swap_remove(place)),
                    }
                }
            }
        }
        match running.is_empty() {
            true => Poll::Ready(Ok(std::mem::take(&mut done))),
            false => Poll::Pending,
        }
    })
    .await
}
