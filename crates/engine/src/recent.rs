//! Values that were used lately: a bounded number of them, with a bounded length of long texts.

use std::borrow::Borrow;
use std::hash::{BuildHasher, Hash};

use foldhash::fast::FixedState;
use foldhash::{HashMap, HashMapExt, HashSet};

/// Texts of this length and more are long ones.
pub(crate) const LONG_TEXT_BYTES: usize = 2 << 10;

/// Bytes of all long texts that are kept, at least. A byte of them has some 120 bytes of logical
/// plan, and as many of a physical one (an estimate): 16 MiB.
pub(crate) const LONG_TEXTS_BYTES_MIN: usize = 64 << 10;

/// Bytes of all long texts that are kept, at most.
pub(crate) const LONG_TEXTS_BYTES_MAX: usize = 1 << 20;

/// Bytes of a database's memory for each byte of them: their plans take a 34th of it.
const MEMORY_PER_LONG_TEXT: usize = 8 << 10;

/// Keys that came once and are remembered as that, by their hashes.
const ONCE_MAX: usize = 4_096;

/// Bytes that all long texts of a database with so much memory may have.
pub(crate) fn long_texts_max(memory: usize) -> usize {
    (memory / MEMORY_PER_LONG_TEXT).clamp(LONG_TEXTS_BYTES_MIN, LONG_TEXTS_BYTES_MAX)
}

/// A key that is or has a text.
pub(crate) trait Texted: Eq + Hash + Clone {
    /// Bytes of the text.
    fn text_bytes(&self) -> usize;

    /// Bytes of the text, if it is a long one.
    fn long_bytes(&self) -> usize {
        Some(self.text_bytes()).filter(|bytes| *bytes >= LONG_TEXT_BYTES).unwrap_or(0)
    }
}

impl Texted for String {
    fn text_bytes(&self) -> usize {
        self.len()
    }
}

/// Values by what they are kept for; those go first that were not used for the longest time.
pub(crate) struct Recent<K, V> {
    /// With the number of its last use.
    known: HashMap<K, (u64, V)>,
    use_count: u64,
    count_max: usize,
    long_bytes: usize,
    long_bytes_max: usize,
    /// Hashes of keys that have come.
    came: HashSet<u64>,
}

impl<K: Texted, V: Clone> Recent<K, V> {
    /// Nothing yet, and never more than so many, and than so many bytes of long texts.
    pub(crate) fn new(count_max: usize, long_bytes_max: usize) -> Recent<K, V> {
        let (known, came) = (HashMap::new(), HashSet::default());
        Recent { known, use_count: 0, count_max, long_bytes: 0, long_bytes_max, came }
    }

    /// The value of a key, which is used now.
    pub(crate) fn of<Q>(&mut self, key: &Q) -> Option<V>
    where
        K: Borrow<Q>,
        Q: Eq + Hash + ?Sized,
    {
        self.use_count += 1;
        let (used, value) = self.known.get_mut(key)?;
        *used = self.use_count;
        Some(value.clone())
    }

    /// Notes that a key comes; true if it is remembered to have come before.
    pub(crate) fn comes_again(&mut self, key: &(impl Hash + ?Sized)) -> bool {
        if self.came.len() >= ONCE_MAX {
            self.came.clear();
        }
        !self.came.insert(FixedState::default().hash_one(key))
    }

    /// Keeps a value, in the place of what was not used for the longest time. A text that is longer
    /// than all may be is not kept.
    pub(crate) fn keep(&mut self, key: K, value: V) {
        self.forget(&key);
        if key.long_bytes() > self.long_bytes_max {
            return;
        }
        while self.known.len() >= self.count_max {
            self.forget_oldest(|_| true);
        }
        self.long_bytes += key.long_bytes();
        while self.long_bytes > self.long_bytes_max {
            self.forget_oldest(|key| key.long_bytes() > 0);
        }
        self.use_count += 1;
        self.known.insert(key, (self.use_count, value));
    }

    fn forget(&mut self, key: &K) {
        if self.known.remove(key).is_some() {
            self.long_bytes -= key.long_bytes();
        }
    }

    /// Forgets what was not used for the longest time, of those that count.
    fn forget_oldest(&mut self, counts: impl Fn(&K) -> bool) {
        let known = self.known.iter().filter(|(key, _)| counts(key));
        let oldest = known.min_by_key(|(_, (used, _))| *used).map(|(key, _)| key.clone());
        self.forget(&oldest.expect("there are some, for they are too many"));
    }
}

#[cfg(test)]
mod tests;
