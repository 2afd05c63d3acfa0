//! What a part of a scan has asked of object stores, for `EXPLAIN ANALYZE`.

use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;

use exec::Skips;
use objectstore::Usage;
use runtime::time::{Instant, now};

/// Counts until they are told; clones are one.
#[derive(Clone, Default)]
pub(crate) struct Tally(Arc<Counts>);

#[derive(Default)]
struct Counts {
    requests: AtomicU64,
    retries: AtomicU64,
    received_bytes: AtomicU64,
    waited_ns: AtomicU64,
}

impl Tally {
    /// Counts a request that has ended, by what was sent and received for it.
    pub(crate) fn add(&self, usage: &Usage) {
        let retries = usage.attempt_count.load(Relaxed).saturating_sub(1);
        self.0.requests.fetch_add(1, Relaxed);
        self.0.retries.fetch_add(retries, Relaxed);
        self.0.received_bytes.fetch_add(usage.received_bytes.load(Relaxed), Relaxed);
    }

    /// Counts the time since `begun` as waited for.
    pub(crate) fn waited(&self, begun: Instant) {
        let waited = u64::try_from((now() - begun).as_nanos()).unwrap_or(u64::MAX);
        self.0.waited_ns.fetch_add(waited, Relaxed);
    }

    /// Adds what was counted since the last time to the figures of a scan.
    pub(crate) fn tell(&self, skips: &Skips) {
        let pairs = [
            (&self.0.requests, &skips.requests),
            (&self.0.retries, &skips.retries),
            (&self.0.received_bytes, &skips.received_bytes),
            (&self.0.waited_ns, &skips.waited_ns),
        ];
        for (own, told) in pairs {
            told.fetch_add(own.swap(0, Relaxed), Relaxed);
        }
    }
}
