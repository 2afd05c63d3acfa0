//! Durations for people.

use std::time::Duration;

/// Writes a duration with three significant digits or so: `950 ns`, `12.3 µs`, `4.56 ms`,
/// `1.20 s`, `3 min 20 s`.
pub fn format_duration(duration: Duration) -> String {
    let ns = duration.as_nanos() as f64;
    match ns {
        _ if ns < 1e3 => format!("{ns:.0} ns"),
        _ if ns < 1e6 => format!("{} µs", digits(ns / 1e3)),
        _ if ns < 1e9 => format!("{} ms", digits(ns / 1e6)),
        _ if ns < 120e9 => format!("{} s", digits(ns / 1e9)),
        _ => format!("{} min {} s", duration.as_secs() / 60, duration.as_secs() % 60),
    }
}

fn digits(value: f64) -> String {
    match value {
        _ if value < 10.0 => format!("{value:.2}"),
        _ if value < 100.0 => format!("{value:.1}"),
        _ => format!("{value:.0}"),
    }
}
