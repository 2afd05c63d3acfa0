//! Uploads of the public trait: parts that the caller makes, in any order and number at once.

use std::fmt;
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use bytes::Bytes;
use object_store::{MultipartUpload, PutPayload, PutResult, UploadPart};

use super::wording::{generic, public_error, receipt};
use super::{ObjectStoreBridge, PublicResult};
use crate::lock::lock;
use crate::operation::{Condition, Part};
use crate::write::write_id;

/// An upload that was begun.
pub(super) struct Upload {
    bridge: ObjectStoreBridge,
    key: String,
    /// The writer, by which an object is known whose answer was lost.
    write_id: String,
    /// The store's name of the upload.
    upload: String,
    part_count: u32,
    stored: Arc<Mutex<Vec<Part>>>,
}

impl Upload {
    pub(super) async fn begin(bridge: &ObjectStoreBridge, key: &str) -> PublicResult<Upload> {
        let name = key.to_owned();
        let begun = bridge.run(async move |store| {
            let id = write_id();
            let upload = store.begin_upload(&name, &id).await?;
            Ok((id, upload))
        });
        let (write_id, upload) = begun.await.map_err(|error| public_error(key, error))?;
        let (bridge, key, stored) = (bridge.clone(), key.to_owned(), Arc::default());
        Ok(Upload { bridge, key, write_id, upload, part_count: 0, stored })
    }
}

#[async_trait]
impl MultipartUpload for Upload {
    fn put_part(&mut self, payload: PutPayload) -> UploadPart {
        self.part_count += 1;
        let number = self.part_count;
        let (bridge, stored) = (self.bridge.clone(), self.stored.clone());
        let (key, upload) = (self.key.clone(), self.upload.clone());
        Box::pin(async move {
            let (name, body) = (key.clone(), Bytes::from(payload));
            let sent = bridge
                .run(async move |store| store.send_part(&name, &upload, number, &body).await)
                .await;
            let part = sent.map_err(|error| public_error(&key, error))?;
            lock(&stored).push(part);
            Ok(())
        })
    }

    async fn complete(&mut self) -> PublicResult<PutResult> {
        let parts = lock(&self.stored).clone();
        if parts.len() != self.part_count as usize {
            return Err(generic("a part of the upload was not stored"));
        }
        if parts.is_empty() {
            // Stores take no upload without parts, but callers do end some.
            self.abort().await?;
            let key = self.key.clone();
            let put = self.bridge.run(async move |store| store.put(&key, &[]).await).await;
            return put.map(receipt).map_err(|error| public_error(&self.key, error));
        }
        let (key, id, upload) = (self.key.clone(), self.write_id.clone(), self.upload.clone());
        let finished = self.bridge.run(async move |store| {
            store.finish_upload(&key, parts, &Condition::None, &id, &upload).await
        });
        finished.await.map(receipt).map_err(|error| public_error(&self.key, error))
    }

    async fn abort(&mut self) -> PublicResult<()> {
        let (key, upload) = (self.key.clone(), self.upload.clone());
        let given_up =
            self.bridge.run(async move |store| store.give_up_upload(&key, &upload).await).await;
        given_up.map_err(|error| public_error(&self.key, error))
    }
}

impl fmt::Debug for Upload {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Upload({:?}, {} parts)", self.key, self.part_count)
    }
}
