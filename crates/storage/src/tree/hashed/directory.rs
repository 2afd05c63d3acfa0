//! Which leaf is likely to hold the keys that begin with a hash: one number for each value of the
//! hash's first bits, as in the directory of extendible hashing (Fagin et al., 1979).
//!
//! It is a hint in memory that is never wrong for long and never believed: owner and fences of the
//! page prove it (`README.md`, section 4). So it is written without a latch, is in no file, and
//! fills itself with the leaves that searches come to.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};

use crate::cache::prefetch_line;
use crate::page::PageId;

/// Slots for each leaf, at least. Where two leaves meet within a slot, every other search comes to
/// the wrong one of the two: with eight, less than one search in sixteen.
const SLOTS_PER_LEAF: u64 = 8;

/// Bits of the hash that the smallest directory tells apart: its slots fill four lines.
const BITS_MIN: u32 = 6;

/// Bits that the greatest one tells apart: 256 MiB of slots, for some 8 million leaves. A greater
/// tree has fewer slots a leaf.
const BITS_MAX: u32 = 26;

/// Slots on each side of a hash that a leaf is noted in. It has more in small trees, and where many
/// entries have the same hash; then others find it later.
const NOTED_MAX: u64 = 16;

/// Slots of this many bits stay in the cache of a core.
const BITS_CACHED: u32 = 17;

/// No page has this number: it is that of a header slot.
const NONE: PageId = 0;

/// The directory of a tree. It doubles when the tree has outgrown it; what a smaller one knew is asked
/// where the new one knows nothing yet.
#[derive(Default)]
pub(crate) struct HashDirectory {
    /// By the number of bits above the smallest; each is made once.
    sizes: [OnceLock<Box<[AtomicU32]>>; (BITS_MAX - BITS_MIN + 1) as usize],
    /// Bits of the greatest one that there is; 0 before there is any.
    bits: AtomicU32,
}

/// The number that the first eight bytes of a key are, as if zeros followed where it is shorter.
pub(crate) fn hash_at(key: &[u8]) -> u64 {
    let mut word = [0; 8];
    let len = key.len().min(8);
    word[..len].copy_from_slice(&key[..len]);
    u64::from_be_bytes(word)
}

impl HashDirectory {
    /// The leaf that is likely to hold a key with this hash.
    #[inline]
    pub fn guess(&self, hash: u64) -> Option<PageId> {
        let bits = self.bits.load(Ordering::Acquire);
        let near = self.at(bits, hash >> (u64::BITS - bits.max(1)));
        near.or_else(|| self.at(bits.checked_sub(1)?, hash >> (u64::BITS + 1 - bits)))
    }

    /// The leaf that is likely to hold the keys before or behind those of the leaf guessed.
    pub fn beside(&self, hash: u64, behind: bool) -> Option<PageId> {
        let bits = self.bits.load(Ordering::Acquire);
        let slot = hash >> (u64::BITS - bits.max(1));
        let slot = if behind { slot.checked_add(1) } else { slot.checked_sub(1) };
        self.at(bits, slot?)
    }

    /// Whether a look at a slot is likely to miss the processor's caches. In debug builds each is, so
    /// that tests take this way.
    #[inline]
    pub fn is_out_of_cache(&self) -> bool {
        cfg!(debug_assertions) || self.bits.load(Ordering::Relaxed) > BITS_CACHED
    }

    /// Brings the slot of a hash closer.
    #[inline]
    pub fn hint(&self, hash: u64) {
        let bits = self.bits.load(Ordering::Acquire);
        let slot = hash >> (u64::BITS - bits.max(1));
        if let Some(slot) = self.slots(bits).and_then(|slots| slots.get(slot as usize)) {
            prefetch_line(std::ptr::from_ref(slot).cast());
        }
    }

    /// Notes that a search for `hash` came to this leaf of a tree of so many, which has the keys from
    /// `lower` up to `upper`.
    pub fn note(&self, hash: u64, pid: PageId, (lower, upper): Fences<'_>, leaf_pages: u64) {
        let bits = self.grown(leaf_pages);
        let Some(slots) = self.slots(bits) else { return };
        let slot = |hash: u64| hash >> (u64::BITS - bits);
        if slots[slot(hash) as usize].load(Ordering::Relaxed) == pid {
            return;
        }
        let last = match upper {
            None => u64::MAX,
            Some(upper) if upper.len() > 8 => hash_at(upper),
            Some(upper) => hash_at(upper).saturating_sub(1),
        };
        let first = slot(hash_at(lower)).max(slot(hash).saturating_sub(NOTED_MAX));
        let last = slot(last).min(slot(hash) + NOTED_MAX);
        for slot in first..=last {
            slots[slot as usize].store(pid, Ordering::Relaxed);
        }
    }

    /// A bulk load begins: its pages look like leaves of the tree before it is finished, so nothing that is
    /// known may lead to them.
    pub fn forget(&self) {
        let slots = self.sizes.iter().filter_map(OnceLock::get).flat_map(|size| size.iter());
        slots.for_each(|slot| slot.store(NONE, Ordering::Relaxed));
    }

    /// The number of bits, once the directory is large enough for so many leaves.
    fn grown(&self, leaf_pages: u64) -> u32 {
        let slots = leaf_pages.saturating_mul(SLOTS_PER_LEAF).next_power_of_two();
        let wanted = slots.trailing_zeros().clamp(BITS_MIN, BITS_MAX);
        if wanted > self.bits.load(Ordering::Acquire) {
            let size = &self.sizes[(wanted - BITS_MIN) as usize];
            // Written one after the other, by whoever comes first: a millisecond for 100,000 leaves.
            size.get_or_init(|| (0..1 << wanted).map(|_| AtomicU32::new(NONE)).collect());
            self.bits.fetch_max(wanted, Ordering::Release);
        }
        self.bits.load(Ordering::Acquire)
    }

    #[inline]
    fn slots(&self, bits: u32) -> Option<&[AtomicU32]> {
        let size = self.sizes.get(bits.checked_sub(BITS_MIN)? as usize)?;
        size.get().map(AsRef::as_ref)
    }

    #[inline]
    fn at(&self, bits: u32, slot: u64) -> Option<PageId> {
        let slot = self.slots(bits)?.get(usize::try_from(slot).ok()?)?;
        Some(slot.load(Ordering::Relaxed)).filter(|pid| *pid != NONE)
    }
}

/// The fences of a leaf.
pub(crate) type Fences<'a> = (&'a [u8], Option<&'a [u8]>);

#[cfg(test)]
mod tests;
