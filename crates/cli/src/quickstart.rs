//! `dovetail quickstart`: data, one selective query in three modes, a table, what to try next, and
//! a server with its console.

use std::process::ExitCode;
use std::time::Duration;

use bench::modes::{self, ModeRun};
use bench::{device, ooo};
use clap::Args;
use engine::{Database, ExecutionMode, Session, SqlError, SqlResult};

use crate::serve::{self, ServeArgs};
use crate::tpch::Common;

/// Begin here: load TPC-H data, watch one query in three execution modes, serve the data
#[derive(Args)]
pub struct QuickstartArgs {
    #[command(flatten)]
    common: Common,
    /// End after the table, without a server
    #[arg(long)]
    no_serve: bool,
    /// Address for PostgreSQL clients
    #[arg(long, default_value = "127.0.0.1:5432", value_name = "ADDRESS")]
    listen: String,
    /// Address of the console in a browser
    #[arg(long, default_value = "127.0.0.1:8432", value_name = "ADDRESS")]
    http_listen: String,
}

/// How long the device's limit is probed.
const PROBE: Duration = Duration::from_secs(1);

/// The query of the demonstration: two joins, badly skewed for static partitions.
const QUERY: &str = "early_customers";

/// Of the data, the share that the pool holds unless `--pool` says otherwise.
const POOL_SHARE: u64 = 10;

/// `dovetail quickstart`
pub fn run(args: &QuickstartArgs) -> SqlResult<ExitCode> {
    let mut common = args.common.clone();
    if !common.path().exists() {
        crate::tpch::load(&common)?;
    } else {
        eprintln!("Using the data in {}", common.path().display());
    }
    common.pool = common.pool.or_else(|| tenth_of(&common));
    let db = Database::open(&common.path(), common.options())?;
    let text = ooo::QUERIES.iter().find(|(name, _)| *name == QUERY).expect("the query exists").1;
    println!("\nOne query, three ways to run it, cold (direct I/O, empty pool):\n\n{text}");
    describe(&db);
    device::read_through(&db)?;
    eprintln!(
        "Looking at what the device gives; right after a load it needs some seconds to settle."
    );
    device::probe_anew(&db)?;
    let limit = device::limit(&db, device::DEPTH, PROBE)?.reads_per_s;
    let one_reader = device::limit(&db, 1, PROBE)?.reads_per_s;
    let mut session = db.session();
    let mut runs = vec![];
    for mode in ExecutionMode::ALL {
        runs.push(match mode {
            ExecutionMode::Static => best_static(&mut session, text)?,
            _ => (mode.name().to_owned(), modes::run(&mut session, text, mode, true)?),
        });
    }
    print_table(&runs, limit);
    println!("  for one reader: {one_reader:.0}; many over one: {:.1}x", limit / one_reader);
    next_steps(&common);
    drop(session);
    db.close()?;
    if args.no_serve {
        return Ok(ExitCode::SUCCESS);
    }
    println!("\nNow serving this data, until Ctrl+C. The console shows the three modes live.");
    serve::run(&served(args, &common), Some(limit))
}

/// What the server is started with.
fn served(args: &QuickstartArgs, common: &Common) -> ServeArgs {
    let given = [
        ("data", Some(common.path().display().to_string())),
        ("listen", Some(args.listen.clone())),
        ("http_listen", Some(args.http_listen.clone())),
        ("memory", common.memory.map(|bytes| bytes.to_string())),
        ("ring", common.ring.map(|ring| ring.name().to_owned())),
    ];
    ServeArgs::of(given.into_iter().filter_map(|(name, value)| Some((name, value?))))
}

/// A tenth of the file, but enough to work with.
pub(crate) fn tenth_of(common: &Common) -> Option<usize> {
    let file_bytes = std::fs::metadata(common.path()).ok()?.len();
    Some((file_bytes / POOL_SHARE).max(16 << 20) as usize)
}

fn describe(db: &Database) {
    let pool_bytes = db.pool().frames as u64 * 4096;
    let file_bytes = db.page_count() * 4096;
    println!(
        "data {}, pool {}, {} workers, ring {}\n",
        stdx::format_bytes(file_bytes),
        stdx::format_bytes(pool_bytes),
        db.worker_count(),
        db.file_backend()
    );
}

/// The fastest of static runs with one partition for each worker and with more of them.
fn best_static(session: &mut Session, text: &str) -> SqlResult<(String, ModeRun)> {
    let workers = session.database().worker_count();
    let mut best: Option<(String, ModeRun)> = None;
    for partitions in ooo::partitions(workers) {
        session.settings().static_partitions = partitions;
        let run = modes::run(session, text, ExecutionMode::Static, true)?;
        if best.as_ref().is_none_or(|(_, best)| run.elapsed < best.elapsed) {
            best = Some((format!("static, {partitions} parts"), run));
        }
    }
    best.ok_or_else(|| SqlError::internal("static is tried with some numbers of partitions"))
}

fn print_table(runs: &[(String, ModeRun)], limit: f64) {
    let heads = ["mode", "time", "speed-up", "tasks", "reads", "reads/s", "of device", "CPU"];
    let serial = runs[0].1.elapsed.as_secs_f64();
    let mut lines = vec![heads.map(str::to_owned)];
    for (mode, run) in runs {
        let elapsed = run.elapsed.as_secs_f64();
        lines.push([
            mode.clone(),
            format!("{:.1} ms", elapsed * 1e3),
            format!("{:.1}x", serial / elapsed),
            run.tasks.to_string(),
            run.reads.to_string(),
            format!("{:.0}", run.reads_per_s()),
            format!("{:.0} %", 100.0 * run.reads_per_s() / limit),
            format!("{:.1} ms", run.cpu.as_secs_f64() * 1e3),
        ]);
    }
    let width = |column: usize| lines.iter().map(|l| l[column].len()).max().unwrap_or(0);
    for (number, line) in lines.iter().enumerate() {
        let cells: Vec<String> =
            line.iter().enumerate().map(|(i, c)| format!("{c:>w$}", w = width(i))).collect();
        println!("  {}", cells.join("   "));
        if number == 0 {
            println!("  {}", "-".repeat(cells.join("   ").len()));
        }
    }
    println!("\n  the device's limit, probed just now: {limit:.0} random 4 KiB reads/s");
}

fn next_steps(common: &Common) {
    let path = common.path();
    println!("\nWhat to try next:");
    println!("  dovetail sql {}                     a shell on this data", path.display());
    println!("    set execution_mode = serial;  explain analyze select ...;  \\d lineitem");
    println!(
        "  dovetail bench ooo --sf {}        all six selective queries, with figures",
        common.sf
    );
    println!("  dovetail tpch verify --sf 0.01    22 queries against an independent engine");
    println!("  dovetail doctor                   what this machine allows");
}
