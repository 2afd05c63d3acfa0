//! `dovetail bench tpcc`: its options.

use std::process::ExitCode;
use std::time::Duration;

use bench::tpcc::{self, Mix, Options, Scale};
use clap::{Args, ValueEnum};
use engine::{Isolation, SqlResult};

use crate::scratch::ScratchArgs;
use crate::size::parse_bytes;

#[derive(Args)]
pub struct TpccArgs {
    #[command(flatten)]
    scratch: ScratchArgs,
    /// Warehouses
    #[arg(long, default_value_t = 2)]
    warehouses: u64,
    /// Customers of a district; the specification has 3000
    #[arg(long, default_value_t = 3000)]
    customers: u64,
    /// Items; the specification has 100000
    #[arg(long, default_value_t = 100_000)]
    items: u64,
    /// Memory of the database
    #[arg(long, default_value = "2GB", value_parser = parse_bytes)]
    memory: usize,
    /// Which transactions
    #[arg(long, value_enum, value_delimiter = ',', default_value = "standard")]
    mix: Vec<MixName>,
    /// Terminals in flight on the one worker
    #[arg(long, value_delimiter = ',', default_values_t = [1, 4, 16, 64])]
    terminals: Vec<usize>,
    /// What transactions promise
    #[arg(long, value_enum, default_value_t = Level::RepeatableRead)]
    isolation: Level,
    /// Milliseconds of each measurement
    #[arg(long, default_value_t = 3000)]
    slice_ms: u64,
    /// Measure one terminal with blocking calls on threads, too
    #[arg(long)]
    blocking: bool,
    /// Measure terminals whose look-ups do not give way where they would miss the caches, too
    #[arg(long)]
    apart: bool,
}

#[derive(Clone, Copy, ValueEnum)]
enum MixName {
    /// TPC-C
    Standard,
    /// TPC-CR: only those that read
    Reading,
    /// TPC-CH: every tenth is a long one
    Hybrid,
}

#[derive(Clone, Copy, ValueEnum)]
enum Level {
    /// Each statement sees what was committed before it
    ReadCommitted,
    /// Snapshot isolation
    RepeatableRead,
    /// As if one after the other
    Serializable,
}

/// `dovetail bench tpcc`
pub fn run(args: &TpccArgs) -> SqlResult<ExitCode> {
    let mix = |name: &MixName| match name {
        MixName::Standard => Mix::Standard,
        MixName::Reading => Mix::Reading,
        MixName::Hybrid => Mix::Hybrid,
    };
    let options = Options {
        scale: Scale {
            warehouses: args.warehouses,
            districts: 10,
            customers: args.customers,
            items: args.items,
        },
        memory_bytes: args.memory,
        mixes: args.mix.iter().map(mix).collect(),
        terminals: args.terminals.clone(),
        isolation: match args.isolation {
            Level::ReadCommitted => Isolation::ReadCommitted,
            Level::RepeatableRead => Isolation::RepeatableRead,
            Level::Serializable => Isolation::Serializable,
        },
        slice: Duration::from_millis(args.slice_ms),
        rounds: args.scratch.runs,
        blocking: args.blocking,
        apart: args.apart,
    };
    args.scratch.in_folder(|folder, _, emit| tpcc::run(folder, &options, emit))
}
