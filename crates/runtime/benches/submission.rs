//! When requests should go to the kernel: the rule in force against its controls, with tasks that
//! compute for nothing, a little and much after each read.
//!
//! `cargo bench -p runtime --bench submission -- FILE [--rounds=5] [--ms=300]`
#![allow(clippy::disallowed_methods, reason = "a measurement looks at the clock")]

#[path = "support/cpu.rs"]
mod cpu;
#[path = "support/figures.rs"]
mod figures;
#[path = "support/reading.rs"]
mod reading;

use std::time::Duration;

use reading::{Load, plain};
use runtime::{Config, Submission};

fn main() {
    let Some(path) = reading::file() else { return };
    let by = |submission| Config { submission, ..plain() };
    let runtimes = reading::start(vec![
        ("share4", by(Submission::Share(4))),
        ("at_once", by(Submission::AtOnce)),
        ("adaptive", by(Submission::Adaptive)),
    ]);
    for compute_us in [0, 5, 50] {
        for depth in [1, 16, 64, 256] {
            let load = Load { depth, compute: Duration::from_micros(compute_us) };
            let what = format!("submission.compute{compute_us}us");
            reading::compare(&what, &runtimes, &path, load);
        }
    }
}
