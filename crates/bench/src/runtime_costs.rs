//! `dovetail bench runtime`: what a task costs, and interleaved index probing in memory
//! (CoroBase, section 5) on the engine's own tree.

mod probing;
mod tasks;

use engine::{SqlError, SqlResult, SqlState};
use runtime::{Config, RingChoice, Runtime};

use crate::figure::Figure;

/// Measures everything `n` times; `rows` is the size of the table that exceeds the caches.
pub fn run(n: usize, rows: u64, mut emit: impl FnMut(Figure)) -> SqlResult<()> {
    let config = Config { workers: 2, ring: RingChoice::Auto, attack: false, ..Config::default() };
    let runtime =
        Runtime::start(config).map_err(|e| SqlError::new(SqlState::IO_ERROR, e.to_string()))?;
    for report in runtime.rings() {
        eprintln!("ring {:?}: {}", report.kind, report.reason);
    }
    tasks::run(&runtime, n, &mut emit);
    probing::run(&runtime, n, rows, &mut emit)
}
