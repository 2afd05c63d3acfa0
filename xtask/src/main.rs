//! The one gate and the chores: `cargo xtask ci`, `tidy`, `figures`, `sanitize`, `distributed`.
//!
//! Continuous integration and people run the same commands; there is no second place where a check
//! is written down.
#![allow(clippy::disallowed_methods)] // a build tool: runs outside of any runtime

mod ci;
mod distributed;
mod figures;
mod mask;
mod sanitize;
mod tally;
mod tidy;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

const USAGE: &str = "usage: cargo xtask <command>

  ci        everything that must pass: fmt, tidy, clippy, tests, SQL files
  tidy      the rules that no compiler checks: dependencies, unsafe, sizes, words
  figures   what release builds are measured by, on a quiet machine; with names: those alone
  sanitize  the tests of runtime and storage under AddressSanitizer (nightly toolchain)
  distributed
            what the work tree `distributed/` must pass: fmt, clippy, tests";

fn main() -> ExitCode {
    let root = root();
    match std::env::args().nth(1).as_deref() {
        Some("ci") => ci::run(&root),
        Some("tidy") => tidy_alone(&root),
        Some("figures") => figures::run(&root, &std::env::args().skip(2).collect::<Vec<_>>()),
        Some("sanitize") => sanitize::run(&root),
        Some("distributed") => distributed::run(&root),
        _ => {
            eprintln!("{USAGE}");
            ExitCode::from(64)
        }
    }
}

fn tidy_alone(root: &Path) -> ExitCode {
    if tidy::run(root) { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// The repository's root: the parent of this crate's folder.
fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("xtask lies in the root").to_path_buf()
}
