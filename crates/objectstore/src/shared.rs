//! What all stores of a client share: connections, addresses, limits, trust, and what is counted.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::atomic::{AtomicU64, AtomicUsize};
use std::sync::{Arc, Mutex};

use crate::allow::AllowList;
use crate::backoff::Budget;
use crate::concurrency::Concurrency;
use crate::error::Result;
use crate::limits::Limits;
use crate::location::Endpoint;
use crate::lock::lock;
use crate::pool::Pool;
use crate::resolve::Resolver;
use crate::restart::Restarts;
use crate::throttle::Throttle;
use crate::tls::Trust;
use crate::{concurrency, tls};

/// Endpoints of which it is remembered what their requests were like, once no store is open there.
pub(crate) const GATE_COUNT_MAX: usize = 1024;

/// What a client is like.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// How much, how many, how long.
    pub limits: Limits,
    /// Which endpoints may be spoken to.
    pub allow: AllowList,
    /// Which authorities are trusted.
    pub trust: Trust,
}

pub(crate) struct Shared {
    pub(crate) limits: Limits,
    pub(crate) allow: AllowList,
    pub(crate) tls: Arc<tls::Config>,
    pub(crate) pool: Pool,
    pub(crate) resolver: Resolver,
    throttles: Mutex<BTreeMap<Endpoint, Arc<Gate>>>,
    pub(crate) counters: Counters,
}

/// What the requests of one endpoint have in common.
pub(crate) struct Gate {
    pub(crate) throttle: Throttle,
    pub(crate) concurrency: Concurrency,
    pub(crate) budget: Budget,
    pub(crate) restarts: Restarts,
}

#[derive(Default)]
pub(crate) struct Counters {
    pub(crate) requests: AtomicU64,
    pub(crate) attempts: AtomicU64,
    pub(crate) connections: AtomicU64,
    pub(crate) restarts: AtomicU64,
    pub(crate) received_bytes: AtomicU64,
    pub(crate) sent_bytes: AtomicU64,
    pub(crate) segment_bytes: AtomicUsize,
}

impl Shared {
    /// Nothing is connected yet.
    ///
    /// # Errors
    /// `Invalid` for limits of 0 and for certificates that cannot be read.
    pub(crate) fn new(options: Options) -> Result<Shared> {
        let Options { limits, allow, trust } = options;
        limits.check()?;
        Ok(Shared {
            pool: Pool::new(limits.idle_connections_max),
            resolver: Resolver::new(),
            throttles: Mutex::default(),
            counters: Counters::default(),
            tls: trust.config()?,
            limits,
            allow,
        })
    }

    /// Notes the size of the segments in which a large answer came.
    pub(crate) fn note_segments(&self, endpoint: &Endpoint, peer: IpAddr, bytes: Option<usize>) {
        let Some(bytes) = bytes else { return };
        self.counters.segment_bytes.store(bytes, Relaxed);
        self.resolver.note_segments(endpoint, peer, bytes);
    }

    pub(crate) fn gate(&self, endpoint: &Endpoint) -> Arc<Gate> {
        let limits = &self.limits;
        let worth = if limits.adapts { concurrency::FLOOR } else { limits.requests_max };
        let new = || {
            Arc::new(Gate {
                throttle: Throttle::new(limits.requests_max, worth),
                concurrency: Concurrency::new(),
                budget: Budget::new(limits.retry_budget, limits.retry_share),
                restarts: Restarts::new(limits.restart_share),
            })
        };
        let mut gates = lock(&self.throttles);
        if gates.len() >= GATE_COUNT_MAX && !gates.contains_key(endpoint) {
            gates.retain(|_, gate| Arc::strong_count(gate) > 1);
        }
        gates.entry(endpoint.clone()).or_insert_with(new).clone()
    }
}
