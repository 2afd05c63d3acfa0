//! The tests of the crates that have `unsafe` code, under AddressSanitizer.

use std::path::Path;
use std::process::{Command, ExitCode};

/// Where all memory is handed out and taken back by hand.
const CRATES: [&str; 4] = ["stdx", "runtime", "storage", "types"];

/// Runs them with the nightly toolchain, which alone has sanitizers; without it, says so and is content.
pub fn run(root: &Path) -> ExitCode {
    let Some(target) = nightly_host() else {
        println!("skipped: no nightly toolchain (rustup toolchain install nightly)");
        return ExitCode::SUCCESS;
    };
    let mut command = Command::new("cargo");
    command.current_dir(root).args(["+nightly", "test", "--release", "--target", &target]);
    command.args(["--target-dir", "target/sanitize", "--lib", "--tests"]);
    CRATES.iter().for_each(|name| {
        command.args(["-p", name]);
    });
    // Doctests would be built without the sanitizer; leaks are what threads still hold at exit.
    command.env("RUSTFLAGS", "-Zsanitizer=address").env("ASAN_OPTIONS", "detect_leaks=0");
    match command.status() {
        Ok(status) if status.success() => ExitCode::SUCCESS,
        Ok(_) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("cargo: {error}");
            ExitCode::FAILURE
        }
    }
}

/// The platform that the nightly toolchain is for.
fn nightly_host() -> Option<String> {
    let output = Command::new("rustc").args(["+nightly", "-vV"]).output().ok()?;
    let text = String::from_utf8(output.stdout).ok().filter(|_| output.status.success())?;
    text.lines().find_map(|line| line.strip_prefix("host: ")).map(str::to_owned)
}
