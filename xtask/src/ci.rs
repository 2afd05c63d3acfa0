//! `cargo xtask ci`: the one gate. Steps run in order, each announced and timed; scripts, which
//! wait much, run two at a time. The first failure ends the run. A step without tests of its own
//! counts as one check.

mod beside;
mod fetch;
mod seen;

use std::io::{self, BufRead, BufReader, PipeReader, Write};
use std::path::Path;
use std::process::{Child, Command, ExitCode, Stdio};
use std::time::Instant;

use crate::tally::Tally;
use crate::tidy;
use seen::Seen;

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

/// The name of a step and its work.
type Step = (&'static str, Work);

const STEPS: &[Step] = &[
    ("fmt", Work::Cargo(&["fmt", "--all", "--check"])),
    ("tidy", Work::Tidy),
    // All features at once. Code that a feature leaves out is in `storage`, which is checked without
    // them, and one test of `engine`, which the tests compile.
    (
        "clippy",
        Work::Cargo(&[
            "clippy",
            "--workspace",
            "--all-targets",
            "--features=engine/planted,objectstore/object_store",
            "--quiet",
            "--",
            "-Dwarnings",
        ]),
    ),
    (
        "clippy without features",
        Work::Cargo(&[
            "clippy",
            "-p=storage",
            "-p=objectstore",
            "--all-targets",
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
];

/// Scripts with servers of their own, on ports that the system chooses. The longest begin first.
const SCRIPTS: &[Step] = &[
    ("object stores", Work::Script("bash", &["tests/objects/run.sh", "--gate"])),
    ("attacks", Work::Script("python3", &["tests/deploy/attacks.py"])),
    ("clients", Work::Script("bash", &["tests/clients/run.sh", "--gate"])),
    ("python", Work::Script("python3", &["crates/python/tests/run.py"])),
    ("pairs of statements", Work::Script("python3", &["tests/sql/pairs.py", "--quick"])),
    ("large statements", Work::Script("python3", &["tests/deploy/large_statements.py", "--gate"])),
    ("equality of values", Work::Script("python3", &["tests/sql/equality.py", "--replay"])),
    ("recorded queries", Work::Script("python3", &["tests/sql/compose.py", "--replay"])),
    ("full disk", Work::Script("python3", &["tests/deploy/full_disk.py"])),
    ("memory that sessions keep", Work::Script("python3", &["tests/deploy/fills.py", "--gate"])),
    ("checks that write nothing", Work::Script("python3", &["tests/deploy/unchanged.py"])),
    ("kills", Work::Script("python3", &["tests/deploy/kills.py", "--rounds", "8"])),
    ("replica", Work::Script("python3", &["tests/deploy/replica.py", "--rounds", "3"])),
    ("without io_uring", Work::Script("python3", &["tests/deploy/without_io_uring.py", "--quick"])),
    ("cases of isolation", Work::Script("python3", &["tests/isolation.py"])),
    ("ClickBench beside DuckDB", Work::Script("python3", &["tests/clickbench/run.py", "--gate"])),
];

/// Runs all steps; the exit code is 0 only if every check passed.
pub fn run(root: &Path) -> ExitCode {
    let start = Instant::now();
    let mut tally = Tally::default();
    let mut failures = vec![];
    let fetching = fetch::begin(root);
    let mut ok = STEPS.iter().enumerate().all(|(position, (name, work))| {
        println!("\n==> [{}/{}] {name}", position + 1, STEPS.len() + SCRIPTS.len());
        let step_start = Instant::now();
        let mut seen = Seen::default();
        let (passed, counts) = step(root, work, &mut |line| {
            println!("{line}");
            seen.note(line);
        });
        tally += counts;
        println!("{}", verdict(name, passed, step_start));
        if !passed {
            failures.push(seen.summary(name));
        }
        passed
    });
    if ok {
        fetching.end();
        let counts = beside::run(root, SCRIPTS, &mut failures);
        ok = failures.is_empty();
        tally += counts;
    }
    for failure in failures {
        println!("\n{failure}");
    }
    println!("\n{}", verdict("all", ok, start));
    println!("{tally}");
    if ok { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn verdict(name: &str, passed: bool, start: Instant) -> String {
    let word = if passed { "ok" } else { "FAILED" };
    format!("==> {name}: {word} in {:.1} s", start.elapsed().as_secs_f64())
}

/// Runs a step, handing on the lines of its output; what does not print as a test harness does is
/// one check, and prints for itself.
fn step(root: &Path, work: &Work, show: &mut dyn FnMut(&str)) -> (bool, Tally) {
    match work {
        Work::Tidy => {
            let passed = tidy::run(root);
            (passed, Tally::one(passed))
        }
        Work::Cargo(args) => {
            let passed = cargo(root, args).status().is_ok_and(|status| status.success());
            (passed, Tally::one(passed))
        }
        Work::Tests(args) => tests(cargo(root, args), show),
        Work::Script(program, _) if !is_there(program) => {
            show(&format!("SKIPPED: there is no {program} on this machine"));
            (true, Tally { skipped: 1, ..Tally::default() })
        }
        Work::Script(program, args) => {
            let mut command = Command::new(program);
            command.current_dir(root).args(*args);
            tests(command, show)
        }
    }
}

fn is_there(program: &str) -> bool {
    let version = Command::new(program).arg("--version").stdout(Stdio::null()).status();
    version.is_ok_and(|status| status.success())
}

/// Runs a test command, passing the lines of its output on while counting the results in it.
fn tests(mut command: Command, show: &mut dyn FnMut(&str)) -> (bool, Tally) {
    if std::env::var_os("DOVETAIL_SEEDS").is_none() {
        command.env("DOVETAIL_SEEDS", SEED_COUNT_DEFAULT);
    }
    let Ok((mut child, output)) = spawned(command) else {
        return (false, Tally::one(false));
    };
    let mut tally = Tally::default();
    for line in BufReader::new(output).lines().map_while(Result::ok) {
        // Binaries without a matching test would bury the others.
        if !is_noise(&line) {
            show(&line);
        }
        tally += Tally::from_line(&line).unwrap_or_default();
    }
    // A closed terminal must not end the run.
    let _ = io::stdout().flush();
    let status_ok = child.wait().is_ok_and(|status| status.success());
    // A build failure runs no test: it must not look like "0 failed". No test at all is a failure.
    if tally == Tally::default() {
        show("FAILED: it has printed no line `test result: ...`");
    }
    if tally == Tally::default() || (!status_ok && tally.failed == 0) {
        tally += Tally::one(false);
    }
    (status_ok && tally.failed == 0, tally)
}

/// The process and what it prints: errors stand among the rest, where they belong.
fn spawned(mut command: Command) -> io::Result<(Child, PipeReader)> {
    let (reader, writer) = io::pipe()?;
    let child = command.stdout(writer.try_clone()?).stderr(writer).spawn()?;
    // The command holds the other ends of the pipe, and nobody else may.
    drop(command);
    Ok((child, reader))
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
