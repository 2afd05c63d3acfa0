//! How many requests are worth having in flight, by the model of the AnyBlob paper (section 2.8):
//!
//! requests = throughput * (base latency + size * data latency) / size
//!
//! which is requests a second times the seconds that one takes where nothing is full. Both are
//! measured: the latter as the least that was seen lately of requests of about that size, since more
//! requests in flight than the network carries make each of them longer, and must not seem to call for
//! even more. Twice as many as that are allowed: while nothing is full yet the number doubles from one
//! period to the next, and where something is full, one half is in line so that nothing ever stands
//! still ("overpreparation", section 4.3). Now and then, for two periods, there are fewer than the
//! model's, so that the latencies of an empty line are seen again.

use std::sync::Mutex;

use runtime::time::{Duration, Instant};

use crate::lock::lock;

/// Requests allowed for each one that the model asks for.
const GAIN: f64 = 2.0;
/// The same while the line is emptied.
const PROBE_GAIN: f64 = 0.75;
/// So many periods in [`LEAST_PERIODS`].
const PROBE_PERIODS: u32 = 2;
/// Requests that are allowed in any case, and at the beginning.
pub(crate) const FLOOR: usize = 8;
/// A period has so many latencies, so that it holds whole requests, and is at least so long.
const PERIOD_LATENCIES: f64 = 2.0;
const PERIOD_MIN: Duration = Duration::from_millis(20);
/// The most of so many periods counts.
const PERIODS: usize = 8;
/// The least of so many periods counts, up to twice as many.
const LEAST_PERIODS: u32 = 64;
/// Sizes are told apart by powers of two.
pub(crate) const CLASSES: usize = 40;

/// The class of a request of so many bytes.
pub(crate) fn class_of(byte_count: u64) -> usize {
    (64 - byte_count.leading_zeros() as usize).min(CLASSES - 1)
}

/// Requests of about the same size.
#[derive(Clone, Copy, Debug)]
struct Class {
    /// Those that have ended in this period.
    count: f64,
    /// Seconds of the fastest one lately, and before.
    least: f64,
    least_before: f64,
}

impl Class {
    const NEW: Class = Class { count: 0.0, least: f64::INFINITY, least_before: f64::INFINITY };

    /// Seconds that the requests of this period take where nothing is full.
    fn seconds(&self) -> f64 {
        match self.count > 0.0 {
            true => self.count * self.least.min(self.least_before),
            false => 0.0,
        }
    }
}

#[derive(Debug)]
struct State {
    begun: Option<Instant>,
    classes: [Class; CLASSES],
    period_count: u32,
    /// What the model said of the last periods.
    needed: [f64; PERIODS],
}

/// What is known of one endpoint.
#[derive(Debug)]
pub(crate) struct Concurrency(Mutex<State>);

impl Concurrency {
    pub(crate) fn new() -> Concurrency {
        let (begun, period_count, needed) = (None, 0, [0.0; PERIODS]);
        let classes = [Class::NEW; CLASSES];
        Concurrency(Mutex::new(State { begun, classes, period_count, needed }))
    }

    /// A get of so many bytes has ended after `took`. At the end of a period the requests that are
    /// worth having in flight.
    pub(crate) fn note(&self, byte_count: u64, took: Duration, now: Instant) -> Option<usize> {
        let mut state = lock(&self.0);
        let begun = *state.begun.get_or_insert(now);
        let class = &mut state.classes[class_of(byte_count)];
        class.least = class.least.min(took.as_secs_f64());
        class.count += 1.0;
        let seconds = (now - begun).as_secs_f64();
        if seconds < PERIOD_MIN.as_secs_f64() {
            return None;
        }
        let (all, count) = state.seconds_and_count();
        (seconds >= PERIOD_LATENCIES * all / count).then(|| state.end_period(all / seconds, now))
    }
}

impl State {
    /// Of the requests of this period: the seconds that they take where nothing is full, and how many
    /// they are.
    fn seconds_and_count(&self) -> (f64, f64) {
        let sum = |of: fn(&Class) -> f64| self.classes.iter().map(of).sum();
        (sum(Class::seconds), sum(|class| class.count))
    }

    fn end_period(&mut self, needed: f64, now: Instant) -> usize {
        self.needed[self.period_count as usize % PERIODS] = needed;
        self.period_count += 1;
        self.begun = Some(now);
        self.classes.iter_mut().for_each(|class| class.count = 0.0);
        let phase = self.period_count % LEAST_PERIODS;
        if phase == 0 {
            for class in &mut self.classes {
                (class.least_before, class.least) = (class.least, f64::INFINITY);
            }
        }
        let is_probe = self.period_count >= LEAST_PERIODS && phase < PROBE_PERIODS;
        let gain = if is_probe { PROBE_GAIN } else { GAIN };
        let most = self.needed.into_iter().fold(0.0, f64::max);
        ((gain * most).ceil() as usize).max(FLOOR)
    }
}

#[cfg(test)]
mod tests;
