//! Putting objects, on conditions if there are any. A write whose answer is lost is never guessed at.

use std::cell::Cell;

use runtime::time::{self, Instant};

use crate::encode;
use crate::error::{Error, ErrorKind, Result};
use crate::operation::{Condition, ObjectInfo, Operation, Payload};
use crate::store::Store;

/// What a store says of an object, at most.
pub(crate) const RECEIPT_BYTES_MAX: usize = 64 << 10;

impl Store {
    /// Stores an object, in place of the old one if there is one.
    ///
    /// # Errors
    /// What goes wrong. The object may have been stored all the same unless the error says otherwise.
    pub async fn put(&self, key: &str, body: &[u8]) -> Result<ObjectInfo> {
        self.put_if(key, body, &Condition::None).await
    }

    /// Stores an object if the condition holds. When an answer is lost and the request repeated, the
    /// store is asked whose object it has.
    ///
    /// # Errors
    /// `Precondition` when the condition does not hold: nothing was stored. `OutcomeUnknown` when
    /// nobody can say whether it was. What else goes wrong: nothing was stored.
    pub async fn put_if(
        &self,
        key: &str,
        body: &[u8],
        condition: &Condition,
    ) -> Result<ObjectInfo> {
        let payload = Payload::of(body, self.provider().signs_bodies()).await;
        let is_plain = *condition == Condition::None;
        let id = write_id();
        let write_id = (!is_plain).then_some(id.as_str());
        let operation = Operation::Put { key, payload: &payload, condition, write_id };
        let deadline = self.deadline();
        let stored = match is_plain {
            true => {
                let (head, body) = self.ask(&operation, RECEIPT_BYTES_MAX).await?;
                self.provider().receipt(key, &head, &body).map(|receipt| receipt.info)
            }
            false => self.write_once(&operation, key, &id, condition, deadline).await,
        };
        Ok(ObjectInfo { size: body.len() as u64, ..stored? })
    }

    /// Makes a write that must not be done twice; what the store says of the object. Once an answer was
    /// lost, a refusal is no answer by itself: what is stored may be ours.
    pub(crate) async fn write_once(
        &self,
        operation: &Operation<'_>,
        key: &str,
        id: &str,
        condition: &Condition,
        deadline: Instant,
    ) -> Result<ObjectInfo> {
        let is_unsure = Cell::new(false);
        let end = self.deadline_of_writing(deadline);
        let written = self
            .repeat(end, async || {
                let asked = self.ask_once(operation, RECEIPT_BYTES_MAX, end).await;
                let asked = asked.and_then(|(head, body)| {
                    let info = self.provider().receipt(key, &head, &body)?.info;
                    match operation {
                        Operation::CompleteUpload { .. } => {
                            let tag = self.provider().end_of_upload(&head, &body)?;
                            Ok(ObjectInfo { tag: tag.or(info.tag), ..info })
                        }
                        _ => Ok(info),
                    }
                });
                if asked.as_ref().is_err_and(may_be_done) {
                    is_unsure.set(true);
                }
                asked
            })
            .await;
        match written {
            Err(error) if is_unsure.get() => {
                // Rare, and as large as all the rest.
                Box::pin(self.settle(error, key, id, condition, deadline)).await
            }
            written => written,
        }
    }

    /// Some of the time is kept for asking what has become of it.
    fn deadline_of_writing(&self, deadline: Instant) -> Instant {
        let left = deadline - time::now();
        time::now() + left * 4 / 5
    }

    /// Finds out whether a write was done whose answer was lost.
    async fn settle(
        &self,
        error: Error,
        key: &str,
        id: &str,
        condition: &Condition,
        deadline: Instant,
    ) -> Result<ObjectInfo> {
        let unknown = |why: &str| {
            let what =
                format!("whether {key:?} was written is not known: {why}; before that: {error}");
            Err(Error::new(ErrorKind::OutcomeUnknown, what).with_attempts(error.attempt_count()))
        };
        let asked = self.ask_until(&Operation::Head { key }, RECEIPT_BYTES_MAX, deadline).await;
        let found = asked.and_then(|(head, body)| self.provider().receipt(key, &head, &body));
        match found {
            Ok(found) if found.write_id.as_deref() == Some(id) => Ok(found.info),
            // Whoever has the name first has it for good, as long as nobody removes it.
            Ok(_) if *condition == Condition::Absent && is_refusal(&error) => Err(error),
            Ok(_) => unknown("another object is there now"),
            Err(asked) if asked.kind() == ErrorKind::NotFound => unknown("no object is there now"),
            Err(asked) => unknown(&asked.to_string()),
        }
    }
}

/// A name that no other write has.
pub(crate) fn write_id() -> String {
    encode::hex(&runtime::entropy::<16>())
}

/// Whether the store may have done what it was asked, though this is no success.
fn may_be_done(error: &Error) -> bool {
    let is_unclear = |status: u16| !(300..500).contains(&status) || status == 408;
    error.is_ambiguous() || error.status().is_some_and(is_unclear)
}

/// Whether the store has refused because of what is there.
fn is_refusal(error: &Error) -> bool {
    matches!(error.kind(), ErrorKind::Precondition | ErrorKind::NotFound)
}
