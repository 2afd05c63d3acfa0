//! `dovetail bench ladder`: its options.

use std::process::ExitCode;
use std::time::Duration;

use bench::ladder::{self, Layout, Options};
use clap::{Args, ValueEnum};
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
    /// Where the pages of the file lie: a comparison takes two runs of one binary
    #[arg(long, value_enum, default_value_t = LayoutKind::InPlace)]
    layout: LayoutKind,
    /// Milliseconds of each measurement
    #[arg(long, default_value_t = 1500)]
    slice_ms: u64,
}

/// Where pages lie.
#[derive(Clone, Copy, ValueEnum)]
enum LayoutKind {
    /// In their places; changed ones go to the double-write buffer first
    InPlace,
    /// Where there was room when they were written, which a map knows
    OutOfPlace,
}

/// `dovetail bench ladder`
pub fn run(args: &LadderArgs) -> SqlResult<ExitCode> {
    let options = Options {
        rows: args.rows,
        pool_percent: args.pool_percent,
        slice: Duration::from_millis(args.slice_ms),
        layout: match args.layout {
            LayoutKind::InPlace => Layout::InPlace,
            LayoutKind::OutOfPlace => Layout::out_of_place(),
        },
        rounds: args.scratch.runs,
    };
    args.scratch.in_folder(|folder, _, emit| ladder::run(folder, &options, emit))
}
