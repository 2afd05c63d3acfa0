//! `dovetail doctor`: what this machine allows, and what follows from it.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;
use engine::SqlResult;

/// Explain which I/O back end this machine allows, and why.
#[derive(Args)]
pub struct DoctorArgs {
    /// A folder or file on the device in question
    #[arg(default_value = ".")]
    path: PathBuf,
}

/// `dovetail doctor`
pub fn run(args: &DoctorArgs) -> SqlResult<ExitCode> {
    for line in runtime::probe::report(&args.path) {
        println!("{line}");
    }
    Ok(ExitCode::SUCCESS)
}
