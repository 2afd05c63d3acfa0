//! What a part of a scan has asked of object stores, for `EXPLAIN ANALYZE`.

use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;

use exec::Skips;
use objectstore::Usage;
use runtime::time::{Instant, now};

use super::stores::Bucket;

/// Counts until they are told; clones are one.
#[derive(Clone, Default)]
pub(crate) struct Tally(Arc<Counts>);

#[derive(Default)]
struct Counts {
    requests: AtomicU64,
    retries: AtomicU64,
    hedges: AtomicU64,
    received_bytes: AtomicU64,
    waited_ns: AtomicU64,
    cost_ndollars: AtomicU64,
}

impl Tally {
    /// Counts so many requests that have ended, by what was sent and received for them. Whatever is sent is
    /// paid for.
    pub(crate) fn add(&self, requests: u64, usage: &Usage, bucket: &Bucket) {
        let attempts = usage.attempt_count.load(Relaxed);
        let hedges = usage.restart_count.load(Relaxed);
        self.0.requests.fetch_add(requests, Relaxed);
        self.0.retries.fetch_add(attempts.saturating_sub(requests + hedges), Relaxed);
        self.0.hedges.fetch_add(hedges, Relaxed);
        self.0.received_bytes.fetch_add(usage.received_bytes.load(Relaxed), Relaxed);
        self.0.cost_ndollars.fetch_add(attempts * bucket.get_price_ndollars, Relaxed);
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
            (&self.0.hedges, &skips.hedges),
            (&self.0.received_bytes, &skips.received_bytes),
            (&self.0.waited_ns, &skips.waited_ns),
            (&self.0.cost_ndollars, &skips.cost_ndollars),
        ];
        for (own, told) in pairs {
            told.fetch_add(own.swap(0, Relaxed), Relaxed);
        }
    }
}
