//! How many requests one endpoint gets, and when. A store that asks to slow down is obeyed by all
//! requests together, not by the one that it has told.

use std::sync::Mutex;

use runtime::sync::WaitQueue;
use runtime::time::{self, Duration, Instant};

use crate::lock::lock;

/// The first pause of an endpoint that was told to slow down, doubled by each further time.
const PAUSE: Duration = Duration::from_millis(100);
const PAUSE_MAX: Duration = Duration::from_secs(10);
/// The longest pause that an endpoint may ask for.
const ASKED_MAX: Duration = Duration::from_secs(300);
/// After so many successes in a row for each request allowed, one more is.
const GROWTH_SUCCESSES: u32 = 4;
/// Requests that are always allowed: with one alone an endpoint would never be seen to be well again.
const FLOOR: usize = 2;

#[derive(Debug)]
struct State {
    in_flight: usize,
    /// Requests allowed in flight now.
    allowed: usize,
    /// And as many as are worth it.
    worth: usize,
    successes: u32,
    /// Requests to slow down since the last success.
    warnings: u32,
    /// Nothing is sent before.
    not_before: Option<Instant>,
    /// When the last pause was ordered: answers to requests sent before it say nothing new.
    warned: Option<Instant>,
}

/// The gate of one endpoint.
pub(crate) struct Throttle {
    state: Mutex<State>,
    waiting: WaitQueue,
    most: usize,
}

/// The right to have a request in flight.
pub(crate) struct Pass<'a> {
    throttle: &'a Throttle,
    begun: Instant,
}

impl Throttle {
    /// At most `most` requests, and `worth` until more is known.
    pub(crate) fn new(most: usize, worth: usize) -> Throttle {
        let state = State {
            in_flight: 0,
            allowed: most,
            worth: worth.min(most),
            successes: 0,
            warnings: 0,
            not_before: None,
            warned: None,
        };
        Throttle { state: Mutex::new(state), waiting: WaitQueue::new(), most }
    }

    /// Waits for a place, and until the endpoint may be asked again.
    pub(crate) async fn enter(&self) -> Pass<'_> {
        self.waiting.wait(|| self.try_enter()).await;
        let mut pass = Pass { throttle: self, begun: time::now() };
        loop {
            let not_before = lock(&self.state).not_before;
            match not_before.filter(|moment| *moment > time::now()) {
                Some(moment) => time::sleep_until(moment).await,
                None => break,
            }
        }
        pass.begun = time::now();
        pass
    }

    fn try_enter(&self) -> Option<()> {
        let mut state = lock(&self.state);
        let has_room = state.in_flight < state.allowed.min(state.worth);
        state.in_flight += usize::from(has_room);
        has_room.then_some(())
    }

    /// Requests allowed in flight now.
    pub(crate) fn allowed(&self) -> usize {
        let state = lock(&self.state);
        state.allowed.min(state.worth)
    }

    /// So many requests are worth having in flight from now on.
    pub(crate) fn set_worth(&self, worth: usize) {
        let more = {
            let mut state = lock(&self.state);
            let before = state.worth;
            state.worth = worth.min(self.most);
            state.worth.saturating_sub(before)
        };
        for _ in 0..more {
            if !self.waiting.wake_one() {
                break;
            }
        }
    }
}

impl Pass<'_> {
    /// The request went well.
    pub(crate) fn succeeded(&self) {
        let grown = {
            let mut state = lock(&self.throttle.state);
            state.warnings = 0;
            state.successes += 1;
            let is_due = state.successes >= GROWTH_SUCCESSES;
            let grows = is_due && state.allowed < self.throttle.most;
            if is_due {
                state.successes = 0;
            }
            state.allowed += usize::from(grows);
            grows
        };
        if grown {
            self.throttle.waiting.wake_one();
        }
    }

    /// The store asks to slow down, perhaps for a time that it says.
    pub(crate) fn warned(&self, retry_after: Option<Duration>) {
        let mut state = lock(&self.throttle.state);
        state.successes = 0;
        if state.warned.is_some_and(|warned| warned >= self.begun) {
            return;
        }
        let now = time::now();
        let pause = PAUSE.saturating_mul(1 << state.warnings.min(10)).min(PAUSE_MAX);
        let pause = retry_after.map_or(pause, |asked| asked.min(ASKED_MAX).max(pause));
        state.warned = Some(now);
        state.warnings += 1;
        state.not_before = Some(now + pause);
        state.allowed = (state.allowed.min(state.in_flight.max(FLOOR)) / 2).max(FLOOR);
        state.allowed = state.allowed.min(self.throttle.most);
    }
}

impl Drop for Pass<'_> {
    fn drop(&mut self) {
        lock(&self.throttle.state).in_flight -= 1;
        self.throttle.waiting.wake_one();
    }
}

#[cfg(test)]
mod tests;
