//! Hash maps whose iteration order is the same in every run: `std`'s draw a random seed, which
//! would make a simulated run impossible to replay.

use std::hash::{BuildHasher, DefaultHasher, Hasher};

/// A hasher state with a fixed seed.
#[derive(Clone, Copy, Debug, Default)]
pub struct SeededState(pub u64);

impl BuildHasher for SeededState {
    type Hasher = DefaultHasher;

    fn build_hasher(&self) -> DefaultHasher {
        let mut hasher = DefaultHasher::new();
        hasher.write_u64(self.0);
        hasher
    }
}

/// A map with a deterministic order of iteration; create with `HashMap::default()`.
pub type HashMap<K, V> = std::collections::HashMap<K, V, SeededState>;

/// A set with a deterministic order of iteration; create with `HashSet::default()`.
pub type HashSet<K> = std::collections::HashSet<K, SeededState>;
