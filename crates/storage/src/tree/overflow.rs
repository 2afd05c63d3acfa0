//! Reading long values, which lie on pages of their own (`crate::overflow`).
//!
//! A leaf that holds a reference cannot be visited under its latch, since the value has to be read:
//! it is copied, and the copy is visited. Only leaves with references pay for this.

use std::ops::Range;

use runtime::IoCounters;

use super::{Step, Tree, misplaced};
use crate::error::{Result, StorageError};
use crate::node::{self, Node, Value};
use crate::overflow::Reference;
use crate::page::PageId;
use crate::pool::load::RUN_PAGES_MAX;

/// A value, or where it lies.
pub(super) enum Found {
    Inline(Vec<u8>),
    Overflow(Reference),
}

/// A leaf that holds references, taken out of the pool.
pub(super) struct LeafCopy {
    page: Vec<u8>,
}

impl LeafCopy {
    /// Copies `page` if it has to be visited as a copy.
    pub fn of(page: &[u8]) -> Option<LeafCopy> {
        Node::new(page).has_overflow().then(|| LeafCopy { page: page.to_vec() })
    }

    pub fn node(&self) -> Node<'_> {
        Node::new(&self.page)
    }
}

impl Tree {
    /// Calls `visit` with key and value of the entries of a copied leaf, until `long_bytes_left`
    /// bytes of long values have been read, which it counts down: the key of the first entry that
    /// is left then.
    pub(super) async fn visit_copy(
        &self,
        leaf: &LeafCopy,
        positions: Range<usize>,
        long_bytes_left: &mut usize,
        io: &IoCounters,
        visit: &mut dyn FnMut(&[u8], &[u8]),
    ) -> Result<Option<Vec<u8>>> {
        let mut key = Vec::new();
        for position in positions {
            leaf.node().key_into(position, &mut key);
            if *long_bytes_left == 0 {
                return Ok(Some(key));
            }
            match leaf.node().value(position) {
                Value { bytes, overflow: false } => visit(&key, bytes),
                Value { bytes, .. } => {
                    let reference = Reference::decode(bytes);
                    *long_bytes_left = long_bytes_left.saturating_sub(reference.len as usize);
                    let value = self.resolve(&key, reference, io).await?;
                    value.into_iter().for_each(|value| visit(&key, &value));
                }
            }
        }
        Ok(None)
    }

    /// The value of `key`, which a leaf said to lie at `reference` a moment ago; `None` when the
    /// entry is gone meanwhile.
    pub(super) async fn resolve(
        &self,
        key: &[u8],
        mut reference: Reference,
        io: &IoCounters,
    ) -> Result<Option<Vec<u8>>> {
        loop {
            let error = match self.read_overflow(reference, io).await {
                Err(error @ StorageError::Corrupt { .. }) => error,
                read => return read.map(Some),
            };
            // The value may have been freed, and its place used again.
            match self.find_now(key, io).await? {
                None => return Ok(None),
                Some(Found::Inline(value)) => return Ok(Some(value)),
                Some(Found::Overflow(now)) if now == reference => return Err(error),
                Some(Found::Overflow(now)) => reference = now,
            }
        }
    }

    /// What the leaf of `key` holds now.
    pub(super) async fn find_now(&self, key: &[u8], io: &IoCounters) -> Result<Option<Found>> {
        loop {
            let leaf = self.leaf_for(key, io).await?;
            let look = |page: &[u8]| match self.step(page, key) {
                Step::Leaf => Some(found(Node::new(page), key)),
                _ => None,
            };
            match self.store.pool.read(leaf, io, look).await {
                Ok(Some(found)) => return Ok(found),
                Ok(None) | Err(StorageError::Corrupt { .. }) => runtime::yield_now().await,
                Err(error) => return Err(error),
            }
        }
    }

    /// Reads a value, a run of pages in each request.
    pub(super) async fn read_overflow(
        &self,
        reference: Reference,
        io: &IoCounters,
    ) -> Result<Vec<u8>> {
        let pool = &self.store.pool;
        let extent = reference.extent(pool.page_size());
        let mut value = Vec::with_capacity(reference.len as usize);
        let window = pool.window(RUN_PAGES_MAX) as u32;
        for index in 0..extent.pages {
            if index % window == 0 && extent.pages > 1 {
                let pids = extent.start + index..extent.start + extent.pages.min(index + window);
                pool.prefetch(pids, io);
            }
            let pid: PageId = extent.start + index;
            let take = |page: &[u8]| match reference.piece(page, self.shared.id.0, index) {
                Some(piece) => {
                    value.extend_from_slice(piece);
                    Ok(())
                }
                None => Err(misplaced(pid, "a page that is not part of the value")),
            };
            pool.read(pid, io, take).await??;
        }
        Ok(value)
    }

    /// The references of a leaf.
    pub(super) fn references(node: &Node<'_>) -> Vec<Reference> {
        let values = (0..if node.has_overflow() { node.count() } else { 0 }).map(|i| node.value(i));
        values.filter(|value| value.overflow).map(|value| Reference::decode(value.bytes)).collect()
    }

    /// Replaces the references of a copied leaf by their values, for a cursor: the values, by
    /// position. Entries that are gone meanwhile go from the copy as well.
    pub(super) async fn resolve_copy(
        &self,
        page: &mut [u8],
        positions: &mut Range<usize>,
        io: &IoCounters,
    ) -> Result<Vec<(usize, Vec<u8>)>> {
        let mut values = Vec::new();
        let mut position = positions.start;
        while position < positions.end {
            let node = Node::new(page);
            let value = node.value(position);
            if value.overflow {
                let key = node.key(position);
                match self.resolve(&key, Reference::decode(value.bytes), io).await? {
                    Some(value) => values.push((position, value)),
                    None => {
                        node::remove(page, position);
                        positions.end -= 1;
                        continue;
                    }
                }
            }
            position += 1;
        }
        Ok(values)
    }
}

fn found(node: Node<'_>, key: &[u8]) -> Option<Found> {
    let (position, true) = node.lower_bound(key) else { return None };
    Some(match node.value(position) {
        Value { bytes, overflow: true } => Found::Overflow(Reference::decode(bytes)),
        Value { bytes, .. } => Found::Inline(bytes.to_vec()),
    })
}
