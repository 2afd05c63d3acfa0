//! How much of a scan may be on its way or waiting for its turn: as much as its consumer takes while a download
//! is under way, twice (AnyBlob paper, section 4.3).
//!
//! The paper's scheduler turns workers into retrievers and back by the speeds of retrieving and processing. Here
//! a download is a coroutine and no worker is one, so what is steered is the number of downloads. Two speeds are
//! measured: what a second of processing takes, and how long a download lasts when it does not wait behind others.
//! Their product is what has to be ahead so that nobody waits; twice that is the bound of preparation. While
//! downloads are what all wait for, what is taken grows with the window, so that doubles; when the consumer is
//! slower, the window is what it takes.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

/// Bytes that may be ahead at first, while nothing is known: eight requests, as many as the download manager
/// begins with.
const FIRST_BYTES: usize = 64 << 20;

/// Bytes that may be ahead at least: one download that is used and one that comes.
const LEAST_BYTES: usize = 16 << 20;

/// So much is prepared for what is taken.
const AHEAD: f64 = 2.0;

/// Over so long a speed is measured: some downloads at 30 ms, and long before a user would see that it is wrong.
const SPAN: Duration = Duration::from_millis(200);

/// The speeds of a scan.
pub(crate) struct Pace(Mutex<State>);

struct State {
    window_bytes: usize,
    /// When the span that is measured began; none before the first download.
    begun_ns: Option<u64>,
    used_bytes: usize,
    /// The shortest time of a download: any later one may have waited behind others of this scan.
    least: Option<Duration>,
}

impl Pace {
    pub(crate) fn new() -> Pace {
        Pace(Mutex::new(State {
            window_bytes: FIRST_BYTES,
            begun_ns: None,
            used_bytes: 0,
            least: None,
        }))
    }

    /// Bytes that may be ahead now.
    pub(crate) fn window_bytes(&self) -> usize {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).window_bytes
    }

    /// A download has come, and took so long. `now_ns` is by the clock of the runtime.
    pub(crate) fn came(&self, took: Duration, now_ns: u64) {
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        state.least = Some(state.least.map_or(took, |least| least.min(took)));
        state.begun_ns.get_or_insert(now_ns);
    }

    /// So many bytes of downloads have been used.
    pub(crate) fn used(&self, bytes: usize, now_ns: u64) {
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        state.used_bytes += bytes;
        let (Some(begun_ns), Some(least)) = (state.begun_ns, state.least) else { return };
        let elapsed = Duration::from_nanos(now_ns.saturating_sub(begun_ns));
        if elapsed < SPAN.max(least) {
            return;
        }
        let rate = state.used_bytes as f64 / elapsed.as_secs_f64();
        state.window_bytes = ((AHEAD * rate * least.as_secs_f64()) as usize).max(LEAST_BYTES);
        (state.begun_ns, state.used_bytes) = (Some(now_ns), 0);
    }
}

#[cfg(test)]
mod tests;
