//! Changing single entries: in a leaf under its latch alone, else with a split (`split`).
//!
//! Whoever changes a page holds a pass of the store's `writers` lock. Any number of tasks may
//! change entries at a time; each change is one moment under the latch of a leaf, or of a path.

use std::sync::atomic::Ordering;

use runtime::IoCounters;

use super::merge::{wants_merge, wants_merge_after_replace};
use super::{Step, Tree};
use crate::error::{Result, StorageError};
use crate::node::{self, Node, Value};
use crate::overflow::Reference;
use crate::page_map::Claim;
use crate::planted;
use crate::store::draft::Draft;

/// Outcome of an insertion.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Inserted {
    /// The entry is in the tree.
    New,
    /// The tree holds this key already, and is unchanged.
    Duplicate,
}

/// What is to be done about a key.
#[derive(Clone, Copy)]
pub(super) enum Change<'a> {
    /// Add an entry with this value, unless there is one.
    Insert(Value<'a>),
    /// Give the entry this value, if there is one.
    Replace(Value<'a>),
    /// Remove the entry, if there is one.
    Delete,
}

/// Outcome of an attempt at a leaf.
enum AtLeaf {
    /// Whether the tree has changed.
    Done(bool),
    /// The tree has changed, and has a leaf that should be merged with a neighbour.
    Underfull,
    /// The leaf has no room.
    Full,
    /// A latch was in the way, or the leaf was split meanwhile.
    Again,
    /// Too many old pages are changed: some have to be written to the double-write buffer first.
    Crowded,
}

impl Tree {
    /// Adds an entry.
    ///
    /// Durable with the next checkpoint, and not before, however many entries there are.
    ///
    /// # Errors
    /// `TooLarge`; `Io`, `Corrupt` when the path cannot be read; `Full`, `Io` when the disk is full;
    /// `Poisoned` after a failed write. The tree is unchanged then.
    pub async fn insert(&self, key: &[u8], value: &[u8]) -> Result<Inserted> {
        let changed = self.put(key, value, false, &self.store.io).await?;
        Ok(if changed { Inserted::New } else { Inserted::Duplicate })
    }

    /// Gives the entry of `key` another value, of any length that an entry may have; false, and no
    /// change, when there is no such entry. Reads and waits are counted to `io`.
    ///
    /// # Errors
    /// As `insert`.
    pub async fn replace(&self, key: &[u8], value: &[u8], io: &IoCounters) -> Result<bool> {
        self.put(key, value, true, io).await
    }

    /// Removes the entry of `key`; false when there is none. Reads and waits are counted to `io`.
    ///
    /// # Errors
    /// `Io`, `Corrupt` when the path cannot be read; `Poisoned` after a failed write.
    pub async fn delete(&self, key: &[u8], io: &IoCounters) -> Result<bool> {
        self.change(key, Change::Delete, &mut None, io).await
    }

    /// Makes a change with a value, which goes to pages of its own first when it is long.
    async fn put(&self, key: &[u8], value: &[u8], replaces: bool, io: &IoCounters) -> Result<bool> {
        self.check_size(key, value)?;
        let change = if replaces { Change::Replace } else { Change::Insert };
        if !self.is_long(key, value) {
            return self.change(key, change(Value::inline(value)), &mut None, io).await;
        }
        let claim = self.purpose(Claim::Ordinary);
        let mut draft = Draft::with(&self.store, claim, self.held().cloned());
        let reference = draft.write(self.shared.id, value).await?.encode();
        let value = Value { bytes: &reference, overflow: true };
        self.change(key, change(value), &mut Some(draft), io).await
    }

    /// Makes a change; the pages of `draft` become part of the tree with it.
    async fn change(
        &self,
        key: &[u8],
        change: Change<'_>,
        draft: &mut Option<Draft>,
        io: &IoCounters,
    ) -> Result<bool> {
        loop {
            self.wait_for_room(change).await?;
            self.store.pool.relieve_ahead();
            self.store.clean_ahead();
            let _pass = self.store.writers.shared().await;
            self.store.check_writable()?;
            match self.change_at_leaf(key, change, io).await? {
                AtLeaf::Done(changed) => {
                    self.adopt(draft, changed);
                    return Ok(changed);
                }
                AtLeaf::Underfull => {
                    self.adopt(draft, true);
                    // The entry is changed in any case. A node that cannot be read now stops the
                    // merge, and is reported to whoever needs it.
                    drop(self.merge_around(key, io).await);
                    return Ok(true);
                }
                AtLeaf::Full => {
                    let changed = self.change_with_split(key, change, io).await?;
                    self.adopt(draft, changed);
                    return Ok(changed);
                }
                AtLeaf::Again => runtime::yield_now().await,
                AtLeaf::Crowded => {}
            }
        }
    }

    /// Waits until the pool is not crowded. What undoes goes on where the disk is too full for
    /// that: the pages that it changes are mostly those that were changed before.
    async fn wait_for_room(&self, change: Change<'_>) -> Result<()> {
        let claim = self.purpose(change.claim());
        if !self.store.is_crowded(claim) {
            return Ok(());
        }
        match self.store.relieve(claim).await {
            Err(error) if error.is_disk_full() && !self.is_too_crowded(change) => Ok(()),
            relieved => relieved,
        }
    }

    /// True if so many old pages are changed that this change has to wait.
    fn is_too_crowded(&self, change: Change<'_>) -> bool {
        match self.goes_back {
            true => self.store.pool.is_overcrowded(),
            false => self.store.is_crowded(self.purpose(change.claim())),
        }
    }

    fn adopt(&self, draft: &mut Option<Draft>, changed: bool) {
        if let Some(draft) = draft.as_mut().filter(|_| changed) {
            self.shared.overflow_pages.fetch_add(draft.pages, Ordering::Relaxed);
            draft.keep();
        }
    }

    /// Lets go of the long value that a changed entry had.
    pub(super) fn release_value(&self, value: Option<Reference>) {
        let Some(reference) = value else { return };
        let extent = reference.extent(self.store.pool.page_size());
        self.shared.overflow_pages.fetch_sub(u64::from(extent.pages), Ordering::Relaxed);
        if !planted::is("long-values-stay") {
            self.store.space().release(extent);
        }
        self.store.mark_changed();
    }

    async fn change_at_leaf(
        &self,
        key: &[u8],
        change: Change<'_>,
        io: &IoCounters,
    ) -> Result<AtLeaf> {
        let store = &self.store;
        let leaf = self.leaf_for(key, io).await?;
        let pin = match store.pool.fix(leaf, io).await {
            // It was intact a moment ago: the way is outdated, or the next one ends here as well.
            Err(StorageError::Corrupt { .. }) => return Ok(AtLeaf::Again),
            fixed => fixed?,
        };
        // Asked when nothing can come between the answer and the change.
        if self.is_too_crowded(change) {
            return Ok(AtLeaf::Crowded);
        }
        let Some(mut guard) = pin.try_exclusive() else { return Ok(AtLeaf::Again) };
        if !matches!(self.step(guard.page(), key), Step::Leaf) {
            return Ok(AtLeaf::Again);
        }
        let place = Place::of(guard.page(), key);
        if place.found != change.wants_entry() {
            return Ok(AtLeaf::Done(false));
        }
        if !change.fits(guard.page(), key, place) {
            return Ok(AtLeaf::Full);
        }
        let freed = change.freed_bytes(guard.page(), place);
        self.apply(guard.page_mut(), key, change, place);
        let underfull = match change {
            Change::Insert(_) => false,
            Change::Replace(_) => wants_merge_after_replace(guard.page(), place.position, freed),
            Change::Delete => wants_merge(guard.page()),
        };
        Ok(if underfull && leaf != self.shared.root {
            AtLeaf::Underfull
        } else {
            AtLeaf::Done(true)
        })
    }

    /// Does what `Change::fits` has allowed.
    pub(super) fn apply(&self, leaf: &mut [u8], key: &[u8], change: Change<'_>, place: Place) {
        let old = place.reference(leaf);
        let done = match change {
            Change::Insert(value) => node::insert(leaf, place.position, key, value),
            Change::Replace(value) => node::replace(leaf, place.position, value),
            Change::Delete => {
                node::remove(leaf, place.position);
                true
            }
        };
        assert!(done, "the leaf has room");
        self.release_value(old);
        self.count(change);
    }

    pub(super) fn count(&self, change: Change<'_>) {
        match change {
            Change::Insert(_) => self.shared.entries.fetch_add(1, Ordering::Relaxed),
            Change::Delete => self.shared.entries.fetch_sub(1, Ordering::Relaxed),
            Change::Replace(_) => return,
        };
    }
}

/// Where a key is in a leaf, or would be.
#[derive(Clone, Copy)]
pub(super) struct Place {
    pub position: usize,
    pub found: bool,
}

impl Place {
    pub fn of(leaf: &[u8], key: &[u8]) -> Place {
        let (position, found) = Node::new(leaf).lower_bound(key);
        Place { position, found }
    }

    /// Where the value lies that the leaf has for the key, if it is a long one.
    pub fn reference(self, leaf: &[u8]) -> Option<Reference> {
        let value = self.found.then(|| Node::new(leaf).value(self.position))?;
        value.overflow.then(|| Reference::decode(value.bytes))
    }
}

impl<'a> Change<'a> {
    /// Whether the change is about an entry that exists; without one, or with one, it does nothing.
    /// The purpose that it wants places for.
    pub fn claim(self) -> Claim {
        match self {
            Change::Delete => Claim::Freeing,
            Change::Insert(_) | Change::Replace(_) => Claim::Ordinary,
        }
    }

    pub fn wants_entry(self) -> bool {
        !matches!(self, Change::Insert(_))
    }

    /// The value that the leaf is to hold.
    pub fn value(self) -> Option<Value<'a>> {
        match self {
            Change::Insert(value) | Change::Replace(value) => Some(value),
            Change::Delete => None,
        }
    }

    /// Bytes of the leaf's value that the change does without.
    fn freed_bytes(self, leaf: &[u8], place: Place) -> usize {
        let new_len = self.value().map_or(0, |value| value.bytes.len());
        let old_len =
            if place.found { Node::new(leaf).value(place.position).bytes.len() } else { 0 };
        old_len.saturating_sub(new_len)
    }

    /// Whether the leaf has room for it.
    pub fn fits(self, leaf: &[u8], key: &[u8], place: Place) -> bool {
        let node = Node::new(leaf);
        match self {
            Change::Insert(value) => node.has_room(key.len(), value.bytes.len()),
            Change::Replace(value) => node.has_room_instead(place.position, value.bytes.len()),
            Change::Delete => true,
        }
    }
}
