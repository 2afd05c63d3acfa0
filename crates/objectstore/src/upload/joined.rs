//! Parts that are objects of their own, of which the store makes larger ones.

use super::{PART_COUNT_MAX, PARTS_AT_ONCE, Sent, some_at_once};
use crate::error::Result;
use crate::operation::{Operation, Part, Payload};
use crate::store::Store;
use crate::write::RECEIPT_BYTES_MAX;

/// Parts of one upload, at most, those that were made of others among them.
const OBJECTS_MAX: usize = PART_COUNT_MAX * 2;

impl Store {
    /// Makes larger parts of so many each, again and again, until there are no more than that.
    pub(super) async fn join_parts(
        &self,
        key: &str,
        mut parts: Vec<Part>,
        upload: &str,
        joined_max: usize,
    ) -> Result<Vec<Part>> {
        // The numbers behind those of the parts that were sent.
        let mut last = u32::try_from(PART_COUNT_MAX).expect("10,000");
        while parts.len() > joined_max {
            let groups = parts.chunks(joined_max).zip(last + 1..);
            let joined = groups.map(|(group, number)| -> Sent<'_, Part> {
                Box::pin(self.join_some(key, upload, number, group))
            });
            let mut joined = some_at_once(joined, PARTS_AT_ONCE).await?;
            joined.sort_by_key(|part| part.number);
            last += u32::try_from(joined.len()).expect("fewer than there are parts");
            parts = joined;
        }
        Ok(parts)
    }

    /// Doing it twice is the same as doing it once.
    async fn join_some(
        &self,
        key: &str,
        upload: &str,
        number: u32,
        group: &[Part],
    ) -> Result<Part> {
        let list = self.provider().all_parts(key, upload, group, None);
        let payload = Payload::of(list.as_bytes(), self.provider().signs_bodies()).await;
        let operation = Operation::JoinParts { key, upload, number, payload: &payload };
        let (head, body) = self.ask(&operation, RECEIPT_BYTES_MAX).await?;
        let tag = self.provider().part_tag(upload, number, &head, &body)?;
        // The store knows it by its tag alone.
        Ok(Part { number, tag, crc32c: String::new() })
    }

    /// Removes all parts of an upload that there are.
    pub(super) async fn delete_parts(&self, key: &str, upload: &str) -> Result<()> {
        let prefix = self.provider().parts_prefix(key, upload);
        let parts = self.list_all(&prefix, OBJECTS_MAX).await?;
        let deletes = parts.iter().map(|part| -> Sent<'_, ()> { Box::pin(self.delete(&part.key)) });
        some_at_once(deletes, PARTS_AT_ONCE).await.map(drop)
    }
}
