//! `dovetail bench ladder`: its options.

use std::process::ExitCode;
use std::time::Duration;

use bench::ladder::{self, Options};
use clap::Args;
use engine::SqlResult;

use crate::scratch::ScratchArgs;

#[derive(Args)]
pub struct LadderArgs {
    #[command(flatten)]
    scratch: ScratchArgs,
    /// Rows of 8 bytes of key and 128 of value
    #[arg(long, default_value_t = 4_000_000)]
    rows: u64,
    /// How many percent of the pages the pool holds
    #[arg(long, default_value_t = 30)]
    pool_percent: u64,
    /// Milliseconds of each measurement
    #[arg(long, default_value_t = 1500)]
    slice_ms: u64,
}

/// `dovetail bench ladder`
pub fn run(args: &LadderArgs) -> SqlResult<ExitCode> {
    let options = Options {
        rows: args.rows,
        pool_percent: args.pool_percent,
        slice: Duration::from_millis(args.slice_ms),
        rounds: args.scratch.runs,
    };
    args.scratch.in_folder(|folder, _, emit| ladder::run(folder, &options, emit))
}
