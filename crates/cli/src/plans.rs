//! `dovetail bench plans`: the planner's choices against what hints force, as a table and a picture.

use std::path::PathBuf;
use std::process::ExitCode;

use bench::device;
use bench::plans::{self, Point, State};
use clap::Args;
use engine::{Database, Options, RingKind, SqlError, SqlResult, SqlState, TableStorage};

use crate::location;
use crate::tpch::print_figure;

/// Bytes of a page.
const PAGE_BYTES: usize = 4096;

/// Least bytes of a pool.
const POOL_BYTES_MIN: usize = 4 << 20;

#[derive(Args)]
pub(crate) struct PlansArgs {
    /// Rows of each table
    #[arg(long, default_value_t = 1_000_000)]
    rows: u64,
    /// row or column
    #[arg(long, default_value = "row", value_parser = storage)]
    storage: TableStorage,
    /// Database file; in a folder, plans-[ROWS].dovetail or columns-[ROWS].dovetail
    #[arg(long, default_value = "data/", value_name = "FILE")]
    data: PathBuf,
    /// Runs of each plan
    #[arg(long, default_value_t = 5)]
    runs: usize,
    /// auto, uring or threads
    #[arg(long)]
    ring: Option<RingKind>,
    /// Where the picture goes
    #[arg(long, default_value = "plans.svg")]
    svg: PathBuf,
    /// Print figures as JSON lines
    #[arg(long)]
    json: bool,
}

/// Runs the benchmark: cached with a pool for everything, cold with a tenth of it.
pub(crate) fn run(args: &PlansArgs) -> SqlResult<ExitCode> {
    let failed = |e: std::io::Error| SqlError::new(SqlState::IO_ERROR, e.to_string());
    let path = location::file(&args.data, &args.file_name());
    if !path.exists() {
        location::make_folder(&path).map_err(failed)?;
        eprintln!("loading {} rows", args.rows);
        let db = Database::create(&path, args.options(None))?;
        plans::load(&db, args.rows, args.storage)?;
        db.close()?;
    }
    let file_bytes = std::fs::metadata(&path).map_err(failed)?.len() as usize;
    let mut points: Vec<Point> = vec![];
    for state in [State::Cached, State::Cold] {
        let pool = match state {
            State::Cached => file_bytes * 3 / 2,
            State::Cold => file_bytes / 10,
        };
        let pool = pool.max(POOL_BYTES_MIN).next_multiple_of(PAGE_BYTES);
        let db = Database::open(&path, args.options(Some(pool)))?;
        if db.tables().iter().any(|table| table.storage != args.storage) {
            let message = format!("{} has tables of another storage", path.display());
            return Err(SqlError::new(SqlState::INVALID_PARAMETER_VALUE, message));
        }
        device::probe_anew(&db)?;
        eprintln!("{}: {}, pool {} pages", state.name(), db.file_backend(), db.pool().frames);
        eprintln!("device_profile: {}", db.device_profile());
        plans::run(&db, args.rows, state, args.runs, &mut |point| {
            println!("{}", point.text());
            points.push(point);
        })?;
        db.close()?;
    }
    std::fs::write(&args.svg, plans::svg(&points)).map_err(failed)?;
    for figure in plans::worst(&points) {
        print_figure(&figure, args.json);
    }
    println!("picture: {}", args.svg.display());
    Ok(ExitCode::SUCCESS)
}

fn storage(name: &str) -> Result<TableStorage, String> {
    TableStorage::of_name(name).map_err(|error| error.to_string())
}

impl PlansArgs {
    fn file_name(&self) -> String {
        match self.storage {
            TableStorage::Row => format!("plans-{}.dovetail", self.rows),
            TableStorage::Column => format!("columns-{}.dovetail", self.rows),
        }
    }

    fn options(&self, pool_bytes: Option<usize>) -> Options {
        let ring = self.ring.unwrap_or(RingKind::Auto);
        let memory_bytes = (1 << 30).max(pool_bytes.unwrap_or(0) * 2);
        Options { ring, pool_bytes, memory_bytes, ..pg::options() }
    }
}
