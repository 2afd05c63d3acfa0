//! `cargo xtask figures [NAME ..]`: the figures of release builds, one command after the other, on
//! a machine that does nothing else. It is no part of the gate: it measures, and only what compares
//! rows can fail.

use std::path::Path;
use std::process::{Command, ExitCode};
use std::time::Instant;

/// The name of a figure, its program and its arguments. A program `dovetail` is the release build.
const FIGURES: &[(&str, &str, &[&str])] = &[
    ("instructions", "python3", &["tests/compare/instructions.py"]),
    ("shapes", "python3", &["tests/compare/shapes.py"]),
    ("attacks", "python3", &["tests/deploy/attacks.py", "--strict", "target/release/dovetail"]),
    ("tails", "python3", &["tests/deploy/tails.py"]),
    ("writers", "python3", &["tests/compare/writers.py"]),
    ("pgbench", "python3", &["tests/compare/pgbench.py"]),
    ("point", "dovetail", &["bench", "point"]),
    ("rows", "dovetail", &["bench", "rows"]),
    ("commits", "dovetail", &["bench", "commits"]),
    ("ladder", "dovetail", &["bench", "ladder"]),
    ("pagefault", "dovetail", &["bench", "pagefault"]),
    ("ooo", "dovetail", &["bench", "ooo", "--sf", "1"]),
    ("codegen", "dovetail", &["bench", "codegen"]),
    ("tpcc", "dovetail", &["bench", "tpcc"]),
    ("ycsb", "dovetail", &["bench", "ycsb"]),
    ("hot", "python3", &["tests/compare/hot.py"]),
];

/// Builds the program, and runs the figures of these names, or all. The exit code is 0 only if
/// every command ended well.
pub fn run(root: &Path, names: &[String]) -> ExitCode {
    let known = |name: &String| FIGURES.iter().any(|(known, ..)| known == name);
    if let Some(name) = names.iter().find(|name| !known(name)) {
        let all: Vec<_> = FIGURES.iter().map(|(name, ..)| *name).collect();
        eprintln!("there is no figure {name}; there are {}", all.join(", "));
        return ExitCode::from(64);
    }
    let build = ["build", "--release", "-p", "cli"];
    if !ran(root, &std::env::var("CARGO").unwrap_or_else(|_| "cargo".into()), &build) {
        return ExitCode::FAILURE;
    }
    let mut failed = Vec::new();
    for (name, program, args) in FIGURES {
        if !names.is_empty() && !names.iter().any(|wanted| wanted == name) {
            continue;
        }
        println!("\n==> {name}: {program} {}", args.join(" "));
        let start = Instant::now();
        let program = if *program == "dovetail" { "target/release/dovetail" } else { program };
        if !ran(root, program, args) {
            failed.push(*name);
        }
        println!("==> {name}: {:.0} s", start.elapsed().as_secs_f64());
    }
    println!("\n==> failed: {}", if failed.is_empty() { "none".into() } else { failed.join(", ") });
    if failed.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn ran(root: &Path, program: &str, args: &[&str]) -> bool {
    let status = Command::new(program).current_dir(root).args(args).status();
    status.is_ok_and(|status| status.success())
}
