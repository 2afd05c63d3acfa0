//! `dovetail bench memory`: all of TPC-H with little memory. Each query runs in a process of its
//! own, whose peak the kernel knows; its rows are compared with those of a run with plenty.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::process::{Command, ExitCode};

use bench::figure::Figure;
use bench::{modes, tpch};
use clap::Args;
use engine::{Database, ExecutionMode, SqlError, SqlResult, SqlState};

use crate::size::parse_bytes;
use crate::tpch::{Common, print_figure};

/// Memory of the run that the others are compared with.
const PLENTY: &str = "2GB";

#[derive(Args)]
pub(crate) struct MemoryArgs {
    #[command(flatten)]
    common: Common,
    /// These queries only
    #[arg(long, value_delimiter = ',')]
    queries: Vec<u8>,
    /// One query in one mode, in this process: what the others are made of
    #[arg(long, hide = true, requires = "mode")]
    only: Option<u8>,
    /// The mode of `--only`
    #[arg(long, hide = true)]
    mode: Option<ExecutionMode>,
}

/// What one process reports.
#[derive(Clone, Copy, PartialEq)]
struct Report {
    rows: u64,
    hash: u64,
    peak_bytes: u64,
    spilled_bytes: u64,
    elapsed_ms: f64,
}

/// Runs the benchmark, or one process of it.
pub(crate) fn run(args: &MemoryArgs) -> SqlResult<ExitCode> {
    if let (Some(query), Some(mode)) = (args.only, args.mode) {
        let report = one(&args.common, query, mode)?;
        let Report { rows, hash, peak_bytes, spilled_bytes, elapsed_ms } = report;
        println!("{rows} {hash} {peak_bytes} {spilled_bytes} {elapsed_ms}");
        return Ok(ExitCode::SUCCESS);
    }
    drop(args.common.open_or_load()?);
    let limit = args.common.memory.unwrap_or(pg::options().memory_bytes);
    let queries = if args.queries.is_empty() { (1..=22).collect() } else { args.queries.clone() };
    let (mut failed, mut worst) = (0, 0.0_f64);
    for query in queries {
        let expected = process(&args.common, query, ExecutionMode::OutOfOrder, PLENTY)?;
        for mode in ExecutionMode::ALL {
            let name = format!("memory.q{query:02}.{}", mode.name());
            match process(&args.common, query, mode, &limit.to_string()) {
                Ok(report) => {
                    let same = (report.rows, report.hash) == (expected.rows, expected.hash);
                    let share = report.peak_bytes as f64 / limit as f64;
                    worst = worst.max(share);
                    failed += usize::from(!same);
                    let verdict = if same { "same rows" } else { "OTHER ROWS" };
                    let detail = format!(
                        "peak {} of {}, spilled {}, {:.0} ms ({:.0} ms with {PLENTY}), {verdict}",
                        stdx::format_bytes(report.peak_bytes),
                        stdx::format_bytes(limit as u64),
                        stdx::format_bytes(report.spilled_bytes),
                        report.elapsed_ms,
                        expected.elapsed_ms,
                    );
                    let figure = Figure::of(name, "share", &[share]).with_detail(detail);
                    print_figure(&figure, args.common.json);
                }
                Err(error) => {
                    failed += 1;
                    println!("{name} FAILED: {error}");
                }
            }
        }
    }
    let detail = format!("{failed} failed");
    let figure = Figure::of("memory.worst", "share", &[worst]).with_detail(detail);
    print_figure(&figure, args.common.json);
    Ok(if failed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Runs one query in a process of its own.
fn process(common: &Common, query: u8, mode: ExecutionMode, memory: &str) -> SqlResult<Report> {
    let failed = |why: String| SqlError::new(SqlState::IO_ERROR, why);
    let program = std::env::current_exe().map_err(|e| failed(e.to_string()))?;
    let mut command = Command::new(program);
    command.args(["bench", "memory", "--sf", &common.sf.to_string(), "--memory", memory]);
    command.arg("--data").arg(common.path());
    command.args(["--only", &query.to_string(), "--mode", mode.name()]);
    let output = command.output().map_err(|e| failed(e.to_string()))?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        return Err(failed(said.lines().collect::<Vec<_>>().join(" ")));
    }
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    parse(&text).ok_or_else(|| failed(format!("no report: {text}")))
}

fn parse(text: &str) -> Option<Report> {
    let mut words = text.split_whitespace();
    let mut number = || words.next()?.parse::<u64>().ok();
    let (rows, hash) = (number()?, number()?);
    let (peak_bytes, spilled_bytes) = (number()?, number()?);
    let elapsed_ms = words.next()?.parse().ok()?;
    Some(Report { rows, hash, peak_bytes, spilled_bytes, elapsed_ms })
}

/// Runs one query here.
fn one(common: &Common, query: u8, mode: ExecutionMode) -> SqlResult<Report> {
    let text = tpch::query(query, common.sf).ok_or_else(|| {
        let message = format!("there is no TPC-H query {query}");
        SqlError::new(SqlState::INVALID_PARAMETER_VALUE, message)
    })?;
    let db = Database::open(&common.path(), common.options())?;
    let mut session = db.session();
    session.settings().execution_mode = mode;
    let result = modes::rows(&mut session, &text)?;
    let peak_bytes = peak_bytes();
    let figures = result.figures.as_ref().ok_or_else(|| SqlError::internal("no figures"))?;
    let report = Report {
        rows: result.row_count() as u64,
        hash: hash(&result),
        peak_bytes,
        spilled_bytes: figures.progress.nodes.iter().map(|n| n.spilled).sum(),
        elapsed_ms: figures.elapsed.as_secs_f64() * 1e3,
    };
    drop(session);
    db.close()?;
    Ok(report)
}

/// The same for the same rows, in whatever order.
fn hash(result: &engine::ResultSet) -> u64 {
    let hash = |row: &Vec<Option<String>>| {
        let mut hasher = DefaultHasher::new();
        row.hash(&mut hasher);
        hasher.finish()
    };
    let mut lines: Vec<u64> = tpch::as_text(result).rows.iter().map(hash).collect();
    lines.sort_unstable();
    let mut hasher = DefaultHasher::new();
    lines.hash(&mut hasher);
    hasher.finish()
}

/// The most memory that this process has had, as the kernel counts it.
fn peak_bytes() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let size = line.and_then(|line| parse_bytes(line.trim()).ok());
    size.unwrap_or(0) as u64
}
