//! `cargo xtask distributed`: the gate of the work tree `distributed/`, which is in none of the
//! house's. It is run
//! when that or what `engine` and `plan` show of themselves changes.

use std::path::Path;
use std::process::{Command, ExitCode};
use std::time::Instant;

/// Its steps, in order: the first failure ends the run.
const STEPS: &[&[&str]] = &[
    &["fmt", "--check"],
    &["clippy", "--all-targets", "--quiet", "--", "-Dwarnings"],
    &["test", "--no-fail-fast"],
];

/// Runs all steps.
pub fn run(root: &Path) -> ExitCode {
    let folder = root.join("distributed");
    let passed = STEPS.iter().all(|args| {
        println!("\n==> distributed: cargo {}", args.join(" "));
        let start = Instant::now();
        let passed = cargo(&folder, args);
        let word = if passed { "ok" } else { "FAILED" };
        println!("==> {}: {word} in {:.1} s", args[0], start.elapsed().as_secs_f64());
        passed
    });
    if passed { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn cargo(folder: &Path, args: &[&str]) -> bool {
    let program = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let status = Command::new(program).current_dir(folder).args(args).status();
    status.is_ok_and(|status| status.success())
}
