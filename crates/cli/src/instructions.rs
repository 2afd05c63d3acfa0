//! `dovetail bench instructions`.

use std::path::PathBuf;
use std::process::ExitCode;

use bench::instructions::{self, Work};
use clap::Args;
use engine::SqlResult;

use crate::scratch::in_new_folder;

/// A statement or call, and the number of its executions.
#[derive(Args)]
pub struct InstructionsArgs {
    /// look-up, range, update, insert, delete, get or put
    #[arg(value_parser = work)]
    work: Work,
    /// Executions
    #[arg(long, default_value_t = 10_000)]
    count: u64,
    /// The values stand in the text, which is parsed and planned each time
    #[arg(long)]
    text: bool,
    /// Folder for a file that is removed afterwards
    #[arg(long, default_value = "data")]
    folder: PathBuf,
}

/// Runs it.
pub fn run(args: &InstructionsArgs) -> SqlResult<ExitCode> {
    let once = |folder: &_| instructions::run(folder, args.work, args.count, args.text);
    in_new_folder(&args.folder, once)
}

fn work(name: &str) -> Result<Work, String> {
    let found = Work::ALL.iter().find(|(known, _)| *known == name);
    let names = || Work::ALL.map(|(name, _)| name).join(", ");
    found.map(|(_, work)| *work).ok_or_else(|| format!("none of {}", names()))
}
