//! A scan in virtual time: a store with a latency and a bandwidth, a consumer with a speed of its own, and the
//! pace between them.

use std::collections::VecDeque;
use std::time::Duration;

use super::{AHEAD, LEAST_BYTES, Pace};

const DOWNLOAD_BYTES: usize = 8 << 20;
const STEP: Duration = Duration::from_millis(1);

/// What a run comes to in its last half.
struct Outcome {
    window_bytes: usize,
    /// The most that was ahead.
    ahead_max: usize,
    /// Bytes a second that the consumer got.
    rate: f64,
}

/// Runs for so many seconds: rates in bytes a second.
fn run(latency: Duration, store_rate: f64, consumer_rate: f64, seconds: u64) -> Outcome {
    let pace = Pace::new();
    // When each download that was asked for was begun, and when it comes.
    let mut coming: VecDeque<(Duration, Duration)> = VecDeque::new();
    let (mut ready, mut store_free, mut busy_until) = (0, Duration::ZERO, Duration::ZERO);
    let mut in_use = false;
    let (mut used, mut ahead_max) = (0, 0);
    let end = Duration::from_secs(seconds);
    let mut now = Duration::ZERO;
    while now < end {
        let ahead = |coming: &VecDeque<_>, ready: usize, in_use: bool| {
            (coming.len() + ready + usize::from(in_use)) * DOWNLOAD_BYTES
        };
        while coming.is_empty() && ready == 0
            || ahead(&coming, ready, in_use) + DOWNLOAD_BYTES <= pace.window_bytes()
        {
            let transfer = Duration::from_secs_f64(DOWNLOAD_BYTES as f64 / store_rate);
            store_free = store_free.max(now + latency) + transfer;
            coming.push_back((now, store_free));
        }
        if now > end / 2 {
            ahead_max = ahead_max.max(ahead(&coming, ready, in_use));
        }
        while coming.front().is_some_and(|(_, at)| *at <= now) {
            let (asked, at) = coming.pop_front().expect("the first");
            pace.came(at - asked, at.as_nanos() as u64);
            ready += 1;
        }
        if busy_until <= now {
            if std::mem::take(&mut in_use) {
                pace.used(DOWNLOAD_BYTES, now.as_nanos() as u64);
                used += if now > end / 2 { DOWNLOAD_BYTES } else { 0 };
            }
            if ready > 0 {
                (ready, in_use) = (ready - 1, true);
                busy_until = now + Duration::from_secs_f64(DOWNLOAD_BYTES as f64 / consumer_rate);
            }
        }
        now += STEP;
    }
    let rate = used as f64 / (end / 2).as_secs_f64();
    Outcome { window_bytes: pace.window_bytes(), ahead_max, rate }
}

const MB: f64 = 1e6;

#[test]
fn a_slow_consumer_lowers_what_is_ahead() {
    let outcome = run(Duration::from_millis(100), 2000.0 * MB, 40.0 * MB, 60);
    assert_eq!(outcome.window_bytes, LEAST_BYTES);
    assert!(outcome.ahead_max <= LEAST_BYTES, "{}", outcome.ahead_max);
    assert!(outcome.rate > 0.95 * 40.0 * MB, "and it never waits: {}", outcome.rate);
}

#[test]
fn a_fast_consumer_raises_what_is_ahead_until_it_has_all_that_it_takes() {
    let latency = Duration::from_millis(300);
    let outcome = run(latency, 4000.0 * MB, 1000.0 * MB, 60);
    assert!(outcome.rate > 0.9 * 1000.0 * MB, "{}", outcome.rate);
    assert!(outcome.window_bytes > 64 << 20, "more than at first: {}", outcome.window_bytes);
}

#[test]
fn no_more_is_ahead_than_twice_what_is_taken_meanwhile() {
    for (latency_ms, store, consumer) in
        [(30, 2000.0, 500.0), (100, 1000.0, 300.0), (300, 500.0, 2000.0)]
    {
        let latency = Duration::from_millis(latency_ms);
        let outcome = run(latency, store * MB, consumer * MB, 60);
        let least = latency.as_secs_f64() + DOWNLOAD_BYTES as f64 / (store * MB);
        // What comes is measured by whole downloads and milliseconds.
        let bound = 1.1 * AHEAD * outcome.rate * least + (2 * DOWNLOAD_BYTES) as f64;
        let bound = bound.max(LEAST_BYTES as f64);
        assert!(
            outcome.ahead_max as f64 <= bound,
            "{latency_ms}: {} of {bound}",
            outcome.ahead_max
        );
        assert!(
            outcome.rate > 0.9 * MB * f64::min(store, consumer),
            "{latency_ms}: {}",
            outcome.rate
        );
    }
}
