//! Objects whose parts are sent while their writer still makes the next ones.

use std::collections::VecDeque;

use runtime::{Aborted, JoinHandle, spawn};

use super::{PART_BYTES_MIN, PART_COUNT_MAX, PARTS_AT_ONCE};
use crate::error::{Error, Result};
use crate::operation::{Condition, ObjectInfo, Part};
use crate::store::Store;
use crate::write::write_id;

/// An object in the making. Nobody sees it before [`Upload::finish`]; the store keeps what was sent, and may
/// bill for it, until [`Upload::give_up`] (Azure forgets it by itself). Stays on the worker that began it.
pub struct Upload {
    store: Store,
    key: String,
    /// The writer, by which an object is known whose answer was lost.
    write_id: String,
    /// The store's name of the upload.
    name: String,
    at_once: usize,
    part_count: usize,
    size: u64,
    is_ended: bool,
    sending: VecDeque<JoinHandle<Result<Part>>>,
    sent: Vec<Part>,
}

impl Store {
    /// Begins an object in parts, of which so many are sent at once: 1 to 8, others count as the nearest.
    ///
    /// # Errors
    /// What goes wrong; nothing is left behind then.
    pub async fn upload(&self, key: &str, at_once: usize) -> Result<Upload> {
        let write_id = write_id();
        let name = self.begin_upload(key, &write_id).await?;
        Ok(Upload {
            store: self.clone(),
            key: key.to_owned(),
            write_id,
            name,
            at_once: at_once.clamp(1, PARTS_AT_ONCE),
            part_count: 0,
            size: 0,
            is_ended: false,
            sending: VecDeque::new(),
            sent: vec![],
        })
    }
}

impl Upload {
    /// Begins to send the next part, when there are fewer on their way than may be. All parts but the last
    /// have at least 5 MiB; a smaller one ends the object.
    ///
    /// # Errors
    /// What went wrong with an earlier part; `Invalid` for more than 10,000 parts, an empty one, and one
    /// behind the last. Give the upload up then.
    pub async fn send(&mut self, bytes: Vec<u8>) -> Result<()> {
        if bytes.is_empty() || self.is_ended || self.part_count == PART_COUNT_MAX {
            let what = format!("up to {PART_COUNT_MAX} parts of {PART_BYTES_MIN} bytes and more");
            return Err(Error::invalid(what));
        }
        while self.sending.len() >= self.at_once {
            self.take_sent().await?;
        }
        self.is_ended = bytes.len() < PART_BYTES_MIN;
        self.size += bytes.len() as u64;
        self.part_count += 1;
        let number = u32::try_from(self.part_count).expect("at most 10,000");
        let (store, key, name) = (self.store.clone(), self.key.clone(), self.name.clone());
        let send = async move { store.send_part(&key, &name, number, &bytes).await };
        self.sending.push_back(spawn(send));
        Ok(())
    }

    /// Makes the object of its parts, if the condition holds, once all have been stored.
    ///
    /// # Errors
    /// As [`Store::put_if`]; `Invalid` when there are no parts. But for `OutcomeUnknown` the upload is given
    /// up.
    pub async fn finish(mut self, condition: &Condition) -> Result<ObjectInfo> {
        let done = self.try_finish(condition).await;
        if done.as_ref().is_err_and(|e| e.kind() != crate::ErrorKind::OutcomeUnknown) {
            self.give_up().await;
        }
        done
    }

    /// Has the store forget the parts. That it cannot be reached is no error: it forgets them by itself after
    /// a time that its owner sets.
    pub async fn give_up(mut self) {
        for sending in self.sending.drain(..) {
            sending.abort();
            // A part that comes after the end would stay.
            let _ = sending.await;
        }
        let _ = self.store.give_up_upload(&self.key, &self.name).await;
    }

    async fn try_finish(&mut self, condition: &Condition) -> Result<ObjectInfo> {
        while !self.sending.is_empty() {
            self.take_sent().await?;
        }
        if self.sent.is_empty() {
            return Err(Error::invalid("an upload has at least one part".to_owned()));
        }
        let parts = std::mem::take(&mut self.sent);
        let finished =
            self.store.finish_upload(&self.key, parts, condition, &self.write_id, &self.name);
        Ok(ObjectInfo { size: self.size, ..finished.await? })
    }

    /// Waits for the part that was begun first.
    async fn take_sent(&mut self) -> Result<()> {
        let first = self.sending.pop_front().expect("parts are on their way");
        let part = first.await.unwrap_or_else(|aborted| Err(ended(&aborted)))?;
        self.sent.push(part);
        Ok(())
    }
}

impl Drop for Upload {
    /// Who goes away sends no more.
    fn drop(&mut self) {
        self.sending.iter().for_each(JoinHandle::abort);
    }
}

/// A part whose task has ended without a result.
fn ended(aborted: &Aborted) -> Error {
    Error::invalid(format!("a part was not sent: {aborted}"))
}
