//! `dovetail bench`: the figures.

use std::process::ExitCode;

use clap::{Args, Subcommand};
use engine::{Database, SqlResult};

use crate::memory::{self, MemoryArgs};
use crate::quickstart::tenth_of;
use crate::tpch::{Common, print_figure};

/// Regenerate the figures.
#[derive(Args)]
pub struct BenchArgs {
    #[command(subcommand)]
    command: BenchCommand,
}

#[derive(Subcommand)]
enum BenchCommand {
    /// Six selective queries in three modes, cold, pool of a tenth of the data
    Ooo(OooArgs),
    /// TPC-H with little memory: peak of each query, rows compared with those of plenty
    Memory(MemoryArgs),
    /// Costs of the runtime: spawn, switch, wake, frames, interleaved index probing
    Runtime(RuntimeArgs),
    /// Random tree operations with faults and crashes in the simulator
    Sim(SimArgs),
}

#[derive(Args)]
struct OooArgs {
    #[command(flatten)]
    common: Common,
    /// Runs of each query in each mode
    #[arg(long, default_value_t = 5)]
    runs: usize,
}

#[derive(Args)]
struct RuntimeArgs {
    /// Print figures as JSON lines
    #[arg(long)]
    json: bool,
    /// Runs of each
    #[arg(long, default_value_t = 5)]
    runs: usize,
    /// Rows of the table that is larger than the caches
    #[arg(long, default_value_t = 20_000_000)]
    rows: u64,
}

#[derive(Args)]
struct SimArgs {
    /// Seeds to run
    #[arg(long, default_value_t = 2000)]
    seeds: u64,
    /// The first seed
    #[arg(long, default_value_t = 1)]
    first: u64,
    /// Print figures as JSON lines
    #[arg(long)]
    json: bool,
}

/// `dovetail bench ...`
pub fn run(args: &BenchArgs) -> SqlResult<ExitCode> {
    match &args.command {
        BenchCommand::Ooo(args) => ooo(args),
        BenchCommand::Memory(args) => memory::run(args),
        BenchCommand::Runtime(args) => {
            bench::runtime_costs::run(args.runs, args.rows, |f| print_figure(&f, args.json))?;
            Ok(ExitCode::SUCCESS)
        }
        BenchCommand::Sim(args) => Ok(bench::simulation::run(args.first, args.seeds, |f| {
            print_figure(&f, args.json);
        })),
    }
}

fn ooo(args: &OooArgs) -> SqlResult<ExitCode> {
    let mut common = args.common.clone();
    if !common.path().exists() {
        crate::tpch::load(&common)?;
    }
    common.pool = common.pool.or_else(|| tenth_of(&common));
    let db = Database::open(&common.path(), common.options())?;
    eprintln!("ring {}, pool {} pages", db.file_backend(), db.pool().frames);
    bench::ooo::run(&db, args.runs, |figure| print_figure(&figure, common.json))?;
    db.close()?;
    Ok(ExitCode::SUCCESS)
}
