//! `dovetail bench`: the figures.

use std::path::PathBuf;
use std::process::ExitCode;

use bench::figure::Figure;
use clap::{Args, Subcommand};
use engine::{Database, Options, SqlResult};

use crate::connections::{self, ConnectionsArgs};
use crate::degrade::{self, DegradeArgs};
use crate::exchange::{self, ExchangeArgs};
use crate::instructions::{self, InstructionsArgs};
use crate::ladder::{self, LadderArgs};
use crate::memory::{self, MemoryArgs};
use crate::plans::{self, PlansArgs};
use crate::quickstart::tenth_of;
use crate::remote::{self, RemoteArgs, StoreArgs};
use crate::scratch::ScratchArgs;
use crate::shuffle::{self, ShuffleArgs};
use crate::tpcc::{self, TpccArgs};
use crate::tpch::{Common, print_figure};
use crate::ycsb::YcsbArgs;

/// Measure: regenerate the figures of the documentation
#[derive(Args)]
pub struct BenchArgs {
    #[command(subcommand)]
    command: BenchCommand,
}

#[derive(Subcommand)]
enum BenchCommand {
    /// Six selective queries in three modes, cold, pool of a tenth of the data
    Ooo(OooArgs),
    /// Nine queries with everything in memory, `ooo` beside `serial`, on one core and on all
    Cached(OooArgs),
    /// Machine code: compiling, running beside the interpreter, coroutines beside native ones
    Codegen(CodegenArgs),
    /// What a commit costs by each way in which the log becomes durable, alone and beside checkpoints
    Commits(ScratchArgs),
    /// A thousand clients for three minutes; what a crowd of slow ones costs the others
    Connections(ConnectionsArgs),
    /// Rows that change places between nodes by the executor's exchange, over the loopback
    Exchange(ExchangeArgs),
    /// One statement many times, for a program around this one that counts instructions
    Instructions(InstructionsArgs),
    /// The micro-benchmarks of the io_uring paper: batches, task work, block sizes, durable writes
    Io(IoArgs),
    /// Scans and look-ups with more and more of their pages in memory, one read at a time and many
    Degrade(DegradeArgs),
    /// Updates beyond memory, step by step from one at a time to all that io_uring offers
    Ladder(LadderArgs),
    /// TPC-H with little memory: peak of each query, rows compared with those of plenty
    Memory(MemoryArgs),
    /// Random look-ups with a pool for part of the pages: faults waited for against many at once
    Pagefault(ScratchArgs),
    /// Look-ups by key through the embedded API, everything cached
    Point(ScratchArgs),
    /// The planner's choices against every plan that hints force, over a sweep of selectivity
    Plans(PlansArgs),
    /// TPC-H in an object store with a latency and a rate, beside the same in memory and DuckDB
    Remote(RemoteArgs),
    /// Single rows changed by key: statements a second, pages written, syncs; few tables and many
    Rows(ScratchArgs),
    /// Costs of the runtime: spawn, switch, wake, frames, interleaved index probing
    Runtime(RuntimeArgs),
    /// Rows sent by all nodes to all others: io_uring with and without what it has for sockets, and
    /// epoll
    Shuffle(ShuffleArgs),
    /// Random tree operations with faults and crashes in the simulator
    Sim(SimArgs),
    /// An object store over a folder, as far away and as slow as one asks, until it is ended
    Store(StoreArgs),
    /// TPC-C in SQL: terminals as coroutines of one worker against one after the other
    Tpcc(TpccArgs),
    /// Transactions on trees in memory: interleaved in a window against one after the other
    Ycsb(YcsbArgs),
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
struct IoArgs {
    #[command(flatten)]
    scratch: ScratchArgs,
    /// Instead read this NVMe namespace (/dev/ng0n1) by each way: its block device, passthrough,
    /// both with and without IOPOLL; nothing is written
    #[arg(long)]
    device: Option<PathBuf>,
}

#[derive(Args)]
struct CodegenArgs {
    /// Print figures as JSON lines
    #[arg(long)]
    json: bool,
    /// Runs of each
    #[arg(long, default_value_t = 5)]
    runs: usize,
    /// Compare so many random programs with the interpreter instead; 1000000 are the long form
    #[arg(long)]
    fuzz: Option<u64>,
    /// The seed of the first of them
    #[arg(long, default_value_t = 1)]
    first: u64,
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
    /// Statements of clients instead of operations on trees
    #[arg(long)]
    sql: bool,
    /// Print figures as JSON lines
    #[arg(long)]
    json: bool,
}

/// `dovetail bench ...`
pub fn run(args: &BenchArgs) -> SqlResult<ExitCode> {
    match &args.command {
        BenchCommand::Ooo(args) => ooo(args),
        BenchCommand::Cached(args) => cached(args),
        BenchCommand::Codegen(args) => {
            let emit = |f: Figure| print_figure(&f, args.json);
            match args.fuzz {
                Some(cases) => bench::codegen::fuzz(args.first, cases, emit)?,
                None => bench::codegen::run(args.runs, emit)?,
            }
            Ok(ExitCode::SUCCESS)
        }
        BenchCommand::Commits(args) => {
            args.in_folder(|folder, n, emit| bench::commits::run(folder, n, emit))
        }
        BenchCommand::Connections(args) => connections::run(args),
        BenchCommand::Degrade(args) => degrade::run(args),
        BenchCommand::Instructions(args) => instructions::run(args),
        BenchCommand::Io(args) => io(args),
        BenchCommand::Ladder(args) => ladder::run(args),
        BenchCommand::Memory(args) => memory::run(args),
        BenchCommand::Pagefault(args) => {
            args.in_folder(|folder, n, emit| bench::pagefault::run(folder, n, emit))
        }
        BenchCommand::Point(args) => {
            args.in_folder(|folder, n, emit| bench::point::run(folder, n, emit))
        }
        BenchCommand::Plans(args) => plans::run(args),
        BenchCommand::Rows(args) => {
            args.in_folder(|folder, n, emit| bench::rows::run(folder, n, emit))
        }
        BenchCommand::Remote(args) => remote::run(args),
        BenchCommand::Runtime(args) => {
            bench::runtime_costs::run(args.runs, args.rows, |f| print_figure(&f, args.json))?;
            Ok(ExitCode::SUCCESS)
        }
        BenchCommand::Exchange(args) => exchange::run(args),
        BenchCommand::Shuffle(args) => shuffle::run(args),
        BenchCommand::Sim(args) => {
            let emit = |f: Figure| print_figure(&f, args.json);
            Ok(match args.sql {
                true => bench::simulation::run_sql(args.first, args.seeds, emit),
                false => bench::simulation::run(args.first, args.seeds, emit),
            })
        }
        BenchCommand::Store(args) => remote::store(args),
        BenchCommand::Tpcc(args) => tpcc::run(args),
        BenchCommand::Ycsb(args) => crate::ycsb::run(args),
    }
}

fn io(args: &IoArgs) -> SqlResult<ExitCode> {
    args.scratch.in_folder(|folder, n, emit| match &args.device {
        Some(device) => bench::io::ways::run(device, n, emit),
        None => bench::io::run(folder, n, emit),
    })
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
    let is_compared = common.ring.is_none() && bench::rings::is_uring(&db);
    db.close()?;
    if !is_compared {
        eprintln!(
            "not compared with another back end: --ring was given, or io_uring cannot be had"
        );
        return Ok(ExitCode::SUCCESS);
    }
    let open = |ring| Database::open(&common.path(), Options { ring, ..common.options() });
    bench::ooo::rings::run(open, args.runs, |figure| print_figure(&figure, common.json))?;
    Ok(ExitCode::SUCCESS)
}

fn cached(args: &OooArgs) -> SqlResult<ExitCode> {
    let common = &args.common;
    if !common.path().exists() {
        crate::tpch::load(common)?;
    }
    let cores = pg::options().workers;
    bench::cores::measure(cores, args.runs).iter().for_each(|f| print_figure(f, common.json));
    for workers in [1, cores] {
        let db = Database::open(&common.path(), common.in_memory(workers)?)?;
        eprintln!("ring {}, pool {} pages", db.file_backend(), db.pool().frames);
        let mut emit = |figure: Figure| print_figure(&figure, common.json);
        bench::cached::run(&db, common.sf, args.runs, &mut emit)?;
        db.close()?;
    }
    Ok(ExitCode::SUCCESS)
}
