//! When a slow get is better begun again elsewhere. Stores advise to repeat requests that take longer
//! than nearly all others ("request hedging", section 2.7 of the AnyBlob paper). What has come is kept:
//! the new request asks for the rest, so that few bytes are sent twice and one buffer is enough.

use std::cell::Cell;
use std::pin::pin;
use std::sync::Mutex;

use runtime::time::{self, Duration, Instant};

use crate::concurrency::{CLASSES, class_of};
use crate::lock::lock;

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
/// Those of an endpoint of which nothing is known yet.
const BURST_AT_FIRST: f64 = 4.0;

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
        let budget = if share > 0.0 { BURST_AT_FIRST } else { 0.0 };
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
        lock(&self.0).classes[class_of(byte_count)].slow
    }

    /// Takes one from the budget; false when there is none left.
    pub(crate) fn take(&self) -> bool {
        let mut state = lock(&self.0);
        let has = state.budget >= 1.0;
        state.budget -= if has { 1.0 } else { 0.0 };
        has
    }
}

/// The moment at which one get is slow. Whether it is given up is asked then and not before: few are, and
/// when all are slow the others wait on as if nothing had been asked.
#[derive(Debug)]
pub(crate) struct Turn<'a> {
    restarts: &'a Restarts,
    /// `None` when there is nothing to ask, or no longer.
    at: Cell<Option<Instant>>,
    is_given_up: Cell<bool>,
}

impl<'a> Turn<'a> {
    /// Without a moment the get is never slow.
    pub(crate) fn new(restarts: &'a Restarts, at: Option<Instant>) -> Turn<'a> {
        Turn { restarts, at: Cell::new(at), is_given_up: Cell::new(false) }
    }

    /// The moment, if it comes before `deadline`.
    pub(crate) fn cap(&self, deadline: Instant) -> Instant {
        self.at.get().map_or(deadline, |at| at.min(deadline))
    }

    /// A wait has ended. True when that is because of the moment, and nothing may be begun again: the
    /// wait goes on, and is not asked about again.
    pub(crate) fn goes_on(&self) -> bool {
        if self.is_given_up.get() || self.at.get().is_none_or(|at| at > time::now()) {
            return false;
        }
        self.at.set(None);
        self.is_given_up.set(self.restarts.take());
        !self.is_given_up.get()
    }

    /// Whether the get is to be begun again.
    pub(crate) fn is_given_up(&self) -> bool {
        self.is_given_up.get()
    }

    /// Waits for a future; `None` when it is given up before its end.
    pub(crate) async fn wait<T>(&self, future: impl Future<Output = T>) -> Option<T> {
        let mut future = pin!(future);
        let Some(at) = self.at.get() else { return Some(future.await) };
        match time::timeout(at - time::now(), future.as_mut()).await {
            Ok(done) => Some(done),
            Err(_) if self.goes_on() => Some(future.await),
            Err(_) => None,
        }
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
