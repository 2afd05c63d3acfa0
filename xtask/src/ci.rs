//! `cargo xtask ci`: the one gate. Steps run in order, each announced and timed; the first failure
//! ends the run. A step without tests of its own counts as one check.

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Command, ExitCode, Stdio};
use std::time::Instant;

use crate::tally::Tally;
use crate::tidy;

/// Seeds per simulation test when the environment does not say otherwise: some minutes of the gate;
/// `DOVETAIL_SEEDS=2000 cargo xtask ci` is the long run.
const SEED_COUNT_DEFAULT: &str = "30";

/// The test target of the SQL files; it runs as a step of its own, so that its time is visible.
const SQL_FILES_PREFIX: &str = "sql_files";

enum Work {
    Tidy,
    Cargo(&'static [&'static str]),
    Tests(&'static [&'static str]),
    /// A script that prints as a test harness does, by this program; without the program it is
    /// skipped.
    Script(&'static str, &'static [&'static str]),
}

const STEPS: &[(&str, Work)] = &[
    ("fmt", Work::Cargo(&["fmt", "--all", "--check"])),
    ("tidy", Work::Tidy),
    (
        "clippy",
        Work::Cargo(&["clippy", "--workspace", "--all-targets", "--quiet", "--", "-D", "warnings"]),
    ),
    (
        "clippy of the feature planted",
        Work::Cargo(&[
            "clippy",
            "--workspace",
            "--all-targets",
            "--features=engine/planted",
            "--quiet",
            "--",
            "-Dwarnings",
        ]),
    ),
    (
        "clippy of the feature object_store",
        Work::Cargo(&[
            "clippy",
            "-p=objectstore",
            "--all-targets",
            "--features=object_store",
            "--quiet",
            "--",
            "-Dwarnings",
        ]),
    ),
    (
        "tests and simulation",
        Work::Tests(&["test", "--workspace", "--no-fail-fast", "--", "--skip", SQL_FILES_PREFIX]),
    ),
    // The workspace's tests have no feature on that is off by default.
    (
        "the public trait of object stores",
        Work::Tests(&["test", "-p=objectstore", "--features=object_store", "--test=object_store"]),
    ),
    ("SQL files", Work::Tests(&["test", "--workspace", "--test", "slt", "--", SQL_FILES_PREFIX])),
    ("recorded queries", Work::Script("python3", &["tests/sql/compose.py", "--replay"])),
    ("pairs of statements", Work::Script("python3", &["tests/sql/pairs.py", "--quick"])),
    ("ClickBench beside DuckDB", Work::Script("python3", &["tests/clickbench/run.py", "--gate"])),
    ("cases of isolation", Work::Script("python3", &["tests/isolation.py"])),
    ("attacks", Work::Script("python3", &["tests/deploy/attacks.py"])),
    ("kills", Work::Script("python3", &["tests/deploy/kills.py", "--rounds", "8"])),
    ("without io_uring", Work::Script("python3", &["tests/deploy/without_io_uring.py", "--quick"])),
    ("full disk", Work::Script("python3", &["tests/deploy/full_disk.py"])),
    ("clients", Work::Script("bash", &["tests/clients/run.sh", "--gate"])),
    ("python", Work::Script("python3", &["crates/python/tests/run.py"])),
    ("object stores", Work::Script("bash", &["tests/objects/run.sh", "--gate"])),
];

/// Runs all steps; the exit code is 0 only if every check passed.
pub fn run(root: &Path) -> ExitCode {
    let start = Instant::now();
    let mut tally = Tally::default();
    let mut ok = true;
    for (position, (name, work)) in STEPS.iter().enumerate() {
        println!("\n==> [{}/{}] {name}", position + 1, STEPS.len());
        let step_start = Instant::now();
        let (passed, counts) = step(root, work);
        tally += counts;
        let verdict = if passed { "ok" } else { "FAILED" };
        println!("==> {name}: {verdict} in {:.1} s", step_start.elapsed().as_secs_f64());
        if !passed {
            ok = false;
            break;
        }
    }
    println!(
        "\n==> {} in {:.1} s",
        if ok { "ok" } else { "FAILED" },
        start.elapsed().as_secs_f64()
    );
    println!("{tally}");
    if ok { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn step(root: &Path, work: &Work) -> (bool, Tally) {
    match work {
        Work::Tidy => {
            let passed = tidy::run(root);
            (passed, Tally::one(passed))
        }
        Work::Cargo(args) => {
            let passed = cargo(root, args).status().is_ok_and(|status| status.success());
            (passed, Tally::one(passed))
        }
        Work::Tests(args) => tests(cargo(root, args)),
        Work::Script(program, _) if !is_there(program) => {
            println!("SKIPPED: there is no {program} on this machine");
            (true, Tally { skipped: 1, ..Tally::default() })
        }
        Work::Script(program, args) => {
            let mut command = Command::new(program);
            command.current_dir(root).args(*args);
            tests(command)
        }
    }
}

fn is_there(program: &str) -> bool {
    let version = Command::new(program).arg("--version").stdout(Stdio::null()).status();
    version.is_ok_and(|status| status.success())
}

/// Runs a test command, passing its output on while counting the results in it.
fn tests(mut command: Command) -> (bool, Tally) {
    if std::env::var_os("DOVETAIL_SEEDS").is_none() {
        command.env("DOVETAIL_SEEDS", SEED_COUNT_DEFAULT);
    }
    let Ok(mut child) = command.stdout(Stdio::piped()).spawn() else {
        return (false, Tally::one(false));
    };
    let mut tally = Tally::default();
    let pipe = child.stdout.take().expect("stdout is piped");
    for line in BufReader::new(pipe).lines().map_while(Result::ok) {
        // Binaries without a matching test would bury the others.
        if !is_noise(&line) {
            println!("{line}");
        }
        tally += Tally::from_line(&line).unwrap_or_default();
    }
    // A closed terminal must not end the run.
    let _ = std::io::stdout().flush();
    let status_ok = child.wait().is_ok_and(|status| status.success());
    // A build failure runs no test: it must not look like "0 failed". No test at all is a failure.
    if tally == Tally::default() || (!status_ok && tally.failed == 0) {
        tally += Tally::one(false);
    }
    (status_ok && tally.failed == 0, tally)
}

fn is_noise(line: &str) -> bool {
    line.is_empty() || line == "running 0 tests" || line.starts_with("test result: ok. 0 passed")
}

fn cargo(root: &Path, args: &[&str]) -> Command {
    let program = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = Command::new(program);
    command.current_dir(root).args(args);
    command
}
