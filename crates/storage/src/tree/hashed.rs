//! Trees whose keys begin with a hash (hash indexes): a search begins at the leaf that the directory
//! names, so it comes to an entry by two far accesses, the slot and the leaf, whatever the height.
//!
//! In its pages such a tree is like any other: what changes entries, splits, merges, logs and
//! recovers knows nothing of hashes. A bucket is a leaf, and a range of hashes splits where it is full,
//! as in extendible hashing.

pub(super) mod directory;

use std::sync::atomic::Ordering;

use runtime::IoCounters;

use self::directory::hash_at;
use super::{Descent, Lookup, Step, Tree};
use crate::error::{Result, StorageError};
use crate::node::Node;
use crate::page::PageId;

/// What a leaf says of a key, of a tree whose keys begin with a hash.
enum Seen<R> {
    Leaf(Lookup<R>),
    /// The page is a leaf of the tree with keys before it, or (true) behind it.
    Beside(bool),
    Elsewhere,
}

impl Tree {
    /// The same tree, whose keys begin with eight bytes that are spread evenly: [`Tree::range_batch`]
    /// and [`Tree::get_hashed`] begin at the leaf.
    pub fn hashed(mut self, on: bool) -> Tree {
        self.hashed = on;
        self
    }

    /// As [`Tree::get`], for a tree whose keys begin with a hash.
    ///
    /// # Errors
    /// As [`Tree::get`].
    pub async fn get_hashed<R>(
        &self,
        key: &[u8],
        io: &IoCounters,
        f: impl FnOnce(&[u8]) -> R,
    ) -> Result<Option<R>> {
        let (pool, hash, mut f) = (&self.store.pool, hash_at(key), Some(f));
        if self.gives_way() && self.shared.hashes.is_out_of_cache() {
            self.shared.hashes.hint(hash);
            runtime::interleave().await;
        }
        let mut next = self.shared.hashes.guess(hash);
        // The leaf that the slot names, and the one beside it where two meet within the slot.
        for _ in 0..2 {
            let Some(pid) = next else { break };
            if self.gives_way() && self.is_out_of_cache(0) {
                self.approach(&mut Descent::at_leaf(self, pid), key).await;
            }
            let mut look = |page: &[u8]| self.look_hashed(page, key, &mut f);
            let seen = match pool.peek(pid, &mut look) {
                Some(seen) => seen,
                None => excused(pool.read(pid, io, look).await)?,
            };
            match seen {
                Seen::Leaf(Lookup::Absent) => return Ok(None),
                Seen::Leaf(Lookup::Seen(seen)) => return Ok(Some(seen)),
                Seen::Beside(behind) => next = self.shared.hashes.beside(hash, behind),
                // Values of hash indexes are short; whatever it is, it is found from the root.
                Seen::Leaf(Lookup::Overflow(_)) | Seen::Elsewhere => break,
            }
        }
        // On the heap: what few searches need is not to lie in the frame of each.
        Box::pin(async {
            self.note_leaf(key, io).await?;
            self.get(key, io, f.take().expect("not called yet")).await
        })
        .await
    }

    /// Looks from the root for the leaf of `key`, and notes it; nothing in trees of other keys.
    pub(super) async fn note_leaf(&self, key: &[u8], io: &IoCounters) -> Result<()> {
        if !self.hashed {
            return Ok(());
        }
        let pid = self.leaf_for(key, io).await?;
        self.store.pool.peek(pid, |page| {
            if self.owns(page) {
                self.note_hashed(pid, &Node::new(page), key);
            }
        });
        Ok(())
    }

    fn look_hashed<R, F: FnOnce(&[u8]) -> R>(
        &self,
        page: &[u8],
        key: &[u8],
        f: &mut Option<F>,
    ) -> Seen<R> {
        match self.find(page, key, f) {
            Err(found) => Seen::Leaf(found),
            Ok(Step::Astray) if self.owns(page) && Node::new(page).is_leaf() => {
                Seen::Beside(Node::new(page).lower() <= key)
            }
            Ok(_) => Seen::Elsewhere,
        }
    }

    /// The leaf at which a search may begin; none in trees of other keys.
    #[inline]
    pub(super) fn guess(&self, key: &[u8]) -> Option<PageId> {
        self.hashed.then(|| self.shared.hashes.guess(hash_at(key))).flatten()
    }

    /// Brings the leaf of a range closer that is searched alone, while other tasks of the window run.
    pub(super) async fn approach_hashed(&self, low: &[u8]) {
        if !self.hashed || !self.gives_way() {
            return;
        }
        if self.shared.hashes.is_out_of_cache() {
            self.shared.hashes.hint(hash_at(low));
            runtime::interleave().await;
        }
        if let Some(pid) = self.guess(low).filter(|_| self.is_out_of_cache(0)) {
            self.approach(&mut Descent::at_leaf(self, pid), low).await;
        }
    }

    /// Notes that a search came to this leaf of the tree, which has `key`'s place.
    #[inline]
    pub(super) fn note_hashed(&self, pid: PageId, leaf: &Node<'_>, key: &[u8]) {
        if self.hashed && leaf.is_leaf() && leaf.covers(key) {
            let fences = (leaf.lower(), leaf.upper());
            let leaf_pages = self.shared.leaf_pages.load(Ordering::Relaxed);
            self.shared.hashes.note(hash_at(key), pid, fences, leaf_pages);
        }
    }
}

/// A guess may lead to a page whose place is used for something else.
fn excused<R>(seen: Result<Seen<R>>) -> Result<Seen<R>> {
    match seen {
        Err(StorageError::Corrupt { .. }) => Ok(Seen::Elsewhere),
        seen => seen,
    }
}
