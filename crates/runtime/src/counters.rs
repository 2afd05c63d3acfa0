//! Counts of I/O that callers hand down to where it happens.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// What some piece of work has read, written and waited for. Relaxed: totals, not signals.
#[derive(Debug, Default)]
pub struct IoCounters {
    /// Read requests.
    pub reads: AtomicU64,
    /// Bytes read.
    pub read_bytes: AtomicU64,
    /// Write requests.
    pub writes: AtomicU64,
    /// Bytes written.
    pub write_bytes: AtomicU64,
    /// Times that work suspended for I/O.
    pub waits: AtomicU64,
    /// Nanoseconds between those suspensions and their resumptions, summed over tasks.
    pub wait_ns: AtomicU64,
}

impl IoCounters {
    /// Counts one read request.
    pub fn add_read(&self, bytes: u64) {
        self.reads.fetch_add(1, Relaxed);
        self.read_bytes.fetch_add(bytes, Relaxed);
    }

    /// Counts one write request.
    pub fn add_write(&self, bytes: u64) {
        self.writes.fetch_add(1, Relaxed);
        self.write_bytes.fetch_add(bytes, Relaxed);
    }

    /// Counts one suspension of `ns` nanoseconds.
    pub fn add_wait(&self, ns: u64) {
        self.waits.fetch_add(1, Relaxed);
        self.wait_ns.fetch_add(ns, Relaxed);
    }
}
