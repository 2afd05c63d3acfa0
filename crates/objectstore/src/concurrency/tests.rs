//! The model against a store that is one itself.

use runtime::time;

use super::*;

const MIB: f64 = (1 << 20) as f64;

/// Runs gets of `size` bytes against a store with a base latency, a rate for each request and one for
/// all of them; so many in flight as are allowed. The most and the best rate that it comes to at the end.
fn settle(size: f64, base: f64, each: f64, all: f64) -> (usize, f64) {
    let (model, begun) = (Concurrency::new(), time::now());
    let (mut allowed, mut seconds, mut best, mut most) = (FLOOR, 0.0, 0.0f64, 0);
    for turn in 0..1000 {
        // They begin and end one after the other, as fast as what is full lets them.
        most = if turn < 900 { 0 } else { most.max(allowed) };
        let rate = (allowed as f64 * size / (base + size / each)).min(all);
        best = if turn < 900 { 0.0 } else { best.max(rate) };
        let latency = (allowed as f64 * size / rate).max(base + size / each);
        let in_flight = allowed;
        for _ in 0..in_flight {
            seconds += size / rate;
            let now = begun + Duration::from_secs_f64(seconds);
            let took = Duration::from_secs_f64(latency);
            allowed = model.note(size as u64, took, now).unwrap_or(allowed).min(4096);
        }
    }
    (most, best)
}

#[test]
fn the_number_follows_the_model() {
    // The paper's figures of S3: 30 ms and 20 ms/MiB at 100 Gbit/s call for 200 to 250 requests.
    let (allowed, rate) = settle(16.0 * MIB, 0.03, 50.0 * MIB, 12.5e9);
    assert!((350..=600).contains(&allowed), "twice the model's: {allowed}");
    assert!(rate > 12.4e9, "{rate}");
    // A short way and a slow line: little more than the floor is enough.
    let (allowed, rate) = settle(MIB, 0.001, 100.0 * MIB, 100.0 * MIB);
    assert!((FLOOR..=2 * FLOOR).contains(&allowed), "{allowed}");
    assert!(rate > 99.0 * MIB, "{rate}");
    // Small objects: latency is all that counts.
    let (allowed, _) = settle(1000.0, 0.03, 50.0 * MIB, 1e6);
    assert!((50..=70).contains(&allowed), "{allowed}");
}

#[test]
fn nothing_that_comes_makes_it_fail() {
    let (model, begun) = (Concurrency::new(), time::now());
    for i in 0..10_000 {
        let now = begun + Duration::from_millis(i);
        let took = Duration::from_nanos(i * 7919 % 1000);
        if let Some(count) = model.note(i % 3, took, now) {
            assert!(count >= FLOOR);
        }
    }
}
