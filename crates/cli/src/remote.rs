//! `dovetail bench remote`: tables in an object store beside the same in memory; and `dovetail bench store`, the
//! store that it measures with.

use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use bench::figure::Figure;
use bench::remote::{CORE_RATE, Part, Wish};
use bench::store::Speed;
use clap::Args;
use engine::{Options, RingKind, SqlError, SqlResult, SqlState};

use crate::scratch::in_new_folder;
use crate::size::parse_bytes;
use crate::tpch::print_figure;

/// How slow the store is.
#[derive(Args)]
struct SpeedArgs {
    /// Milliseconds before each answer
    #[arg(long, default_value_t = 30)]
    latency_ms: u64,
    /// MiB a second of each connection; 0 for no limit
    #[arg(long, default_value_t = 50)]
    rate_mib: u64,
    /// MiB a second of all connections together; 0 for no limit [default: 166 for each core]
    #[arg(long)]
    cap_mib: Option<u64>,
    /// One request of so many is ten times as slow; 0 for none
    #[arg(long, default_value_t = 0)]
    straggler_of: u64,
}

impl SpeedArgs {
    fn speed(&self, workers: usize) -> Speed {
        Speed {
            latency: Duration::from_millis(self.latency_ms),
            rate: self.rate_mib << 20,
            cap: self.cap_mib.map_or(CORE_RATE * workers as u64, |mib| mib << 20),
            straggler_of: self.straggler_of,
        }
    }
}

/// The flags of `bench remote`.
#[derive(Args)]
pub(crate) struct RemoteArgs {
    /// What to measure: queries, index, files, beside (all by default)
    #[arg(long, value_delimiter = ',', value_parser = part)]
    part: Vec<Part>,
    /// Scale factor of TPC-H
    #[arg(long, default_value_t = 1.0)]
    sf: f64,
    /// TPC-H queries, like 1,3,5 (all by default)
    #[arg(long, value_delimiter = ',', value_parser = clap::value_parser!(u8).range(1..=22))]
    queries: Vec<u8>,
    /// Rounds of each figure
    #[arg(long, default_value_t = 5)]
    runs: usize,
    #[command(flatten)]
    speed: SpeedArgs,
    /// Memory of each database, beside the pool that has its file
    #[arg(long, value_parser = parse_bytes, default_value = "1GB")]
    memory: usize,
    /// auto, uring or threads
    #[arg(long, default_value = "auto")]
    ring: RingKind,
    /// The Python that has the package duckdb, and its extension httpfs
    #[arg(long, default_value = "python3")]
    python: PathBuf,
    /// Leave DuckDB out
    #[arg(long)]
    no_duckdb: bool,
    /// Seconds of each half of a round of look-ups
    #[arg(long, default_value_t = 5)]
    seconds: u64,
    /// Clients that look up
    #[arg(long, default_value_t = 8)]
    clients: usize,
    /// Folder for files of three times the data, which are removed afterwards
    #[arg(long, default_value = "data")]
    folder: PathBuf,
    /// Print figures as JSON lines
    #[arg(long)]
    json: bool,
}

/// The flags of `bench store`.
#[derive(Args)]
pub(crate) struct StoreArgs {
    /// The folder whose files are the objects
    #[arg(long)]
    folder: PathBuf,
    #[command(flatten)]
    speed: SpeedArgs,
}

fn part(text: &str) -> Result<Part, String> {
    match text {
        "queries" => Ok(Part::Queries),
        "index" => Ok(Part::Indexed),
        "files" => Ok(Part::Files),
        "beside" => Ok(Part::Beside),
        _ => Err("a part is queries, index, files or beside".to_owned()),
    }
}

/// Measures; the exit code is 1 when rows were wrong or something was lost.
pub(crate) fn run(args: &RemoteArgs) -> SqlResult<ExitCode> {
    let failed = |error: std::io::Error| SqlError::new(SqlState::IO_ERROR, error.to_string());
    let options = Options { memory_bytes: args.memory, ring: args.ring, ..pg::options() };
    let all = || vec![Part::Queries, Part::Indexed, Part::Files, Part::Beside];
    let wish = Wish {
        program: std::env::current_exe().map_err(failed)?,
        parts: if args.part.is_empty() { all() } else { args.part.clone() },
        scale: args.sf,
        queries: if args.queries.is_empty() { (1..=22).collect() } else { args.queries.clone() },
        runs: args.runs.max(1),
        speed: args.speed.speed(options.workers),
        options,
        python: (!args.no_duckdb).then(|| args.python.clone()),
        seconds: args.seconds.max(1),
        clients: args.clients.max(1),
    };
    let mut right = true;
    in_new_folder(&args.folder, |folder| {
        right = bench::remote::run(&wish, folder, |f: Figure| print_figure(&f, args.json))?;
        Ok(())
    })?;
    Ok(if right { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Serves until the process ends; the first line of the output is the URL.
pub(crate) fn store(args: &StoreArgs) -> SqlResult<ExitCode> {
    let speed = args.speed.speed(pg::options().workers);
    let served = bench::store::serve(args.folder.clone(), speed, |url| {
        println!("{url}");
        // Whoever has started this waits for it.
        std::io::stdout().flush().ok();
    });
    served.map(|()| ExitCode::SUCCESS).map_err(|error| {
        SqlError::new(SqlState::IO_ERROR, format!("the store could not listen: {error}"))
    })
}
