//! A trace that overflows stays a uniform sample.

use super::{IoTrace, POINT_COUNT_MAX};

#[test]
fn a_full_trace_is_a_uniform_sample() {
    let trace = IoTrace::new();
    let total = 10 * POINT_COUNT_MAX as u64;
    for number in 0..total {
        trace.record(trace.started().as_ns(), number * 4096, 4096, false);
    }
    let sample = trace.after(0);
    assert_eq!(sample.total, total);
    assert!(sample.points.len() <= POINT_COUNT_MAX);
    assert!(sample.points.len() > POINT_COUNT_MAX / 2 - POINT_COUNT_MAX / 20);
    // The share that the limit promises, in each tenth of the run, within a few per cent.
    let share = f64::from(sample.rank_limit) / 2f64.powi(32);
    for tenth in 0..10 {
        let range = tenth * total / 10..(tenth + 1) * total / 10;
        let count = sample.points.iter().filter(|p| range.contains(&(p.offset / 4096))).count();
        let expected = share * (total / 10) as f64;
        assert!((count as f64 / expected - 1.0).abs() < 0.05, "{count} of {expected}");
    }
    assert!(sample.points.iter().all(|p| p.rank <= sample.rank_limit));
}

#[test]
fn a_reader_gets_each_point_once() {
    let trace = IoTrace::new();
    trace.record(trace.started().as_ns(), 0, 1, false);
    trace.record(trace.started().as_ns(), 1, 2, true);
    let first = trace.after(0);
    assert_eq!(first.points.iter().map(|p| p.bytes).collect::<Vec<_>>(), [1, 2]);
    trace.record(trace.started().as_ns(), 2, 3, false);
    let second = trace.after(first.points[1].number);
    assert_eq!(second.points.iter().map(|p| p.offset).collect::<Vec<_>>(), [2]);
    assert_eq!(second.total, 3);
}
