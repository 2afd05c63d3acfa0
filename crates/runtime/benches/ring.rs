//! What the options of a ring give: each against none in the same rounds.
//!
//! `cargo bench -p runtime --bench ring -- FILE [--rounds=5] [--ms=300]`: FILE is to be larger than
//! what the device caches. CPU time is that of all threads, those of the kernel for us included.
#![allow(clippy::disallowed_methods, reason = "a measurement looks at the clock")]

#[path = "support/cpu.rs"]
mod cpu;
#[path = "support/figures.rs"]
mod figures;
#[path = "support/reading.rs"]
mod reading;

use std::time::Duration;

use reading::{Load, plain};
use runtime::{Config, Sqpoll};

fn main() {
    let Some(path) = reading::file() else { return };
    let sqpoll = Sqpoll { idle: Duration::from_millis(2), cpu: None };
    let runtimes = reading::start(vec![
        ("plain", plain()),
        ("files", Config { registered_files: true, ..plain() }),
        ("buffers", Config { registered_buffers: true, ..plain() }),
        ("both", Config { registered_files: true, registered_buffers: true, ..plain() }),
        ("sqpoll", Config { sqpoll: Some(sqpoll), ..plain() }),
        ("large entries", Config { passthrough: true, ..plain() }),
    ]);
    for depth in [1, 16, 128] {
        let load = Load { depth, compute: Duration::ZERO };
        reading::compare("ring", &runtimes, &path, load);
    }
}
