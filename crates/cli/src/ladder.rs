//! `dovetail bench ladder`: its options.

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use bench::ladder::{self, Options};
use clap::Args;
use engine::SqlResult;

use crate::bench::in_new_folder;
use crate::tpch::print_figure;

#[derive(Args)]
pub struct LadderArgs {
    /// Print figures as JSON lines
    #[arg(long)]
    json: bool,
    /// Rounds; each measures every rung once without the log and once with it
    #[arg(long, default_value_t = 5)]
    runs: usize,
    /// Folder for files of some gigabytes, which are removed afterwards
    #[arg(long, default_value = "data")]
    folder: PathBuf,
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
        rounds: args.runs,
    };
    in_new_folder(&args.folder, |folder| {
        ladder::run(folder, &options, &mut |figure| print_figure(&figure, args.json))
    })
}
