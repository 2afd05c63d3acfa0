//! A trace of one query's I/O: when, where and how much, for somebody who watches.
//!
//! The trace is bounded. When it is full, half of its points are dropped, chosen by a hash of
//! their number, and from then on new points are kept at the same rate: what is kept is always a
//! uniform sample of all requests, and `rank_limit` says of which rate.

use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::time::{self, Instant};

/// Points kept: as many as a chart can show, in 4 MiB of memory.
const POINT_COUNT_MAX: usize = 100_000;

/// One completed request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IoPoint {
    /// Its number among all requests of the trace, from 1.
    pub number: u64,
    /// Nanoseconds from the trace's start to the completion.
    pub time_ns: u64,
    /// Where in the file.
    pub offset: u64,
    /// Nanoseconds from the request to the completion, as the worker saw them.
    pub latency_ns: u64,
    /// Bytes transferred.
    pub bytes: u32,
    /// Random, but the same for the same number; kept while at most the trace's limit.
    pub rank: u32,
    /// A write; else a read.
    pub write: bool,
}

/// Points of a trace, and what they are a sample of.
#[derive(Clone, Debug, Default)]
pub struct IoSample {
    /// The points, in the order of completion.
    pub points: Vec<IoPoint>,
    /// Requests so far, kept or not.
    pub total: u64,
    /// The sum of their latencies, nanoseconds: over a time it is, by Little's law, the mean number
    /// of requests in flight.
    pub latency_ns_sum: u64,
    /// Points with a higher rank were dropped, of earlier samples too: a share of
    /// `rank_limit / 2^32` of all requests is kept.
    pub rank_limit: u32,
}

/// The trace of an account; see [`crate::Account::traced`].
pub struct IoTrace {
    started: Instant,
    kept: Mutex<IoSample>,
}

impl Default for IoTrace {
    fn default() -> IoTrace {
        IoTrace::new()
    }
}

impl IoTrace {
    /// An empty trace, which begins now.
    pub fn new() -> IoTrace {
        let kept = IoSample { rank_limit: u32::MAX, ..IoSample::default() };
        IoTrace { started: time::now(), kept: Mutex::new(kept) }
    }

    /// When it began.
    pub fn started(&self) -> Instant {
        self.started
    }

    /// The points numbered higher than `number`; 0 gives all that are kept.
    pub fn after(&self, number: u64) -> IoSample {
        let kept = self.kept();
        let from = kept.points.partition_point(|point| point.number <= number);
        IoSample { points: kept.points[from..].to_vec(), ..*kept }
    }

    /// The sum of the latencies so far, nanoseconds.
    pub fn latency_ns_sum(&self) -> u64 {
        self.kept().latency_ns_sum
    }

    pub(crate) fn record(&self, begun_ns: u64, offset: u64, bytes: usize, write: bool) {
        let now = time::now();
        let time_ns = (now - self.started).as_nanos() as u64;
        let latency_ns = now.as_ns().saturating_sub(begun_ns);
        let bytes = u32::try_from(bytes).unwrap_or(u32::MAX);
        let mut kept = self.kept();
        kept.total += 1;
        kept.latency_ns_sum += latency_ns;
        let number = kept.total;
        let rank = rank(number);
        if rank > kept.rank_limit {
            return;
        }
        if kept.points.len() == POINT_COUNT_MAX {
            kept.rank_limit /= 2;
            let limit = kept.rank_limit;
            kept.points.retain(|point| point.rank <= limit);
        }
        if rank <= kept.rank_limit {
            kept.points.push(IoPoint { number, time_ns, offset, latency_ns, bytes, rank, write });
        }
    }

    fn kept(&self) -> MutexGuard<'_, IoSample> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The finaliser of SplitMix64, whose upper bits are uniform for consecutive numbers.
fn rank(number: u64) -> u32 {
    let mut z = number.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    ((z ^ (z >> 31)) >> 32) as u32
}

#[cfg(test)]
mod tests;
