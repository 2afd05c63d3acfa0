//! `dovetail bench shuffle`: nodes that send their rows to each other.

use std::io::ErrorKind;
use std::process::ExitCode;

use bench::figure::Figure;
use bench::shuffle::{self, Wish};
use clap::Args;
use engine::{SqlError, SqlResult, SqlState};
use runtime::net::Tuning;

use crate::size::parse_bytes;
use crate::tpch::print_figure;

/// How much is sent, in which pieces, and from which sizes on io_uring is asked for more.
#[derive(Args)]
pub struct ShuffleArgs {
    /// Nodes, each a thread with connections to all others
    #[arg(long, default_value_t = 2)]
    nodes: usize,
    /// Bytes that each node scans
    #[arg(long, default_value = "256MB", value_parser = parse_bytes)]
    bytes: usize,
    /// Bytes of a tuple; several are run one after the other
    #[arg(long, value_delimiter = ',', default_values_t = [16, 64, 256, 1024, 4096])]
    tuples: Vec<usize>,
    /// Bytes that are sent at a time
    #[arg(long, default_value = "1MiB", value_parser = parse_bytes)]
    batch: usize,
    /// A buffer that is received into
    #[arg(long, default_value = "64KiB", value_parser = parse_bytes)]
    receive: usize,
    /// Shorter sends are copied
    #[arg(long, default_value = "1KiB", value_parser = parse_bytes)]
    zero_copy_min: usize,
    /// With longer batches each receive is asked for by itself
    #[arg(long, default_value = "13KiB", value_parser = parse_bytes)]
    multishot_max: usize,
    /// One completion tells of one buffer
    #[arg(long)]
    no_bundles: bool,
    /// Keys go into a hash table, as those of a join
    #[arg(long)]
    table: bool,
    /// Runs of each way
    #[arg(long, default_value_t = 7)]
    runs: usize,
    /// Print figures as JSON lines
    #[arg(long)]
    json: bool,
}

/// Runs it.
pub fn run(args: &ShuffleArgs) -> SqlResult<ExitCode> {
    let tuning = Tuning {
        zero_copy_bytes_min: args.zero_copy_min,
        multishot_bytes_max: args.multishot_max,
        bundles: !args.no_bundles,
        ..Tuning::default()
    };
    let wish = Wish {
        nodes: args.nodes,
        bytes: args.bytes as u64,
        tuples: args.tuples.clone(),
        batch_bytes: args.batch,
        receive_bytes: args.receive,
        table: args.table,
        rounds: args.runs,
        tuning,
    };
    let is_right = shuffle::run(&wish, |figure: Figure| print_figure(&figure, args.json)).map_err(
        |error| {
            let state = match error.kind() {
                ErrorKind::InvalidInput => SqlState::INVALID_PARAMETER_VALUE,
                _ => SqlState::IO_ERROR,
            };
            SqlError::new(state, error.to_string())
        },
    )?;
    Ok(if is_right { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
