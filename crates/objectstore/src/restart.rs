//! When a slow get is better begun again elsewhere. Stores advise to repeat requests that take longer
//! than nearly all others ("request hedging", section 2.7 of the AnyBlob paper). What has come is kept:
//! the new request asks for the rest, so that few bytes are sent twice and one buffer is enough.

use std::sync::Mutex;

use runtime::time::Duration;

use crate::concurrency::{CLASSES, class_of};
use crate::lock;

/// Durations that are remembered of each class of sizes.
const SAMPLES: usize = 128;
/// Fewer than this say nothing.
const SAMPLES_MIN: usize = 32;
/// So many of ten requests are faster than what counts as usual: more than the slow ones are.
const USUAL_OF_TEN: usize = 9;
/// And this much longer than usual is slow.
const SLOW_FACTOR: f64 = 1.5;
/// Requests of less than this are never slow: a timer is not more exact.
const SLOW_MIN: Duration = Duration::from_millis(2);
/// Requests that may be begun again at once.
const BURST: f64 = 8.0;

#[derive(Debug, Default)]
struct Class {
    /// The newest durations, in nanoseconds, in a ring.
    samples: Vec<u64>,
    next: usize,
    /// What counts as slow, of the samples when it was last computed.
    slow: Option<Duration>,
}

#[derive(Debug)]
struct State {
    classes: Vec<Class>,
    budget: f64,
    share: f64,
}

/// How long the gets of one endpoint take.
#[derive(Debug)]
pub(crate) struct Restarts(Mutex<State>);

impl Restarts {
    /// In the long run `share` of all gets may be begun again.
    pub(crate) fn new(share: f64) -> Restarts {
        let classes = (0..CLASSES).map(|_| Class::default()).collect();
        let budget = if share > 0.0 { BURST } else { 0.0 };
        Restarts(Mutex::new(State { classes, budget, share }))
    }

    /// A get of so many bytes has taken so long.
    pub(crate) fn note(&self, byte_count: u64, took: Duration) {
        let mut state = lock(&self.0);
        state.budget = (state.budget + state.share).min(BURST);
        let class = &mut state.classes[class_of(byte_count)];
        let ns = u64::try_from(took.as_nanos()).unwrap_or(u64::MAX);
        match class.samples.len() < SAMPLES {
            true => class.samples.push(ns),
            false => class.samples[class.next] = ns,
        }
        class.next = (class.next + 1) % SAMPLES;
        // Sorting is not worth it for each.
        if class.next.is_multiple_of(SAMPLES_MIN / 2) {
            class.slow = class.find_slow();
        }
    }

    /// After so long a get of so many bytes is slow; `None` where that is not known.
    pub(crate) fn slow_after(&self, byte_count: u64) -> Option<Duration> {
        let state = lock(&self.0);
        state.classes[class_of(byte_count)].slow.filter(|_| state.budget >= 1.0)
    }

    /// Takes one from the budget; false when there is none left.
    pub(crate) fn take(&self) -> bool {
        let mut state = lock(&self.0);
        let has = state.budget >= 1.0;
        state.budget -= if has { 1.0 } else { 0.0 };
        has
    }
}

impl Class {
    fn find_slow(&self) -> Option<Duration> {
        if self.samples.len() < SAMPLES_MIN {
            return None;
        }
        let mut sorted = self.samples.clone();
        sorted.sort_unstable();
        let usual = Duration::from_nanos(sorted[sorted.len() * USUAL_OF_TEN / 10]);
        Some(usual.mul_f64(SLOW_FACTOR).max(SLOW_MIN))
    }
}

#[cfg(test)]
mod tests;
