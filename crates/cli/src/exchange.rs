//! `dovetail bench exchange`: rows that change places between nodes.

use std::io::ErrorKind;
use std::process::ExitCode;

use bench::exchange::{self, Wish};
use clap::Args;
use engine::{SqlError, SqlResult, SqlState};

use crate::size::parse_bytes;
use crate::tpch::print_figure;

/// How many nodes and rows, and how much may be under way.
#[derive(Args)]
pub struct ExchangeArgs {
    /// Nodes, each a thread with connections to all others; 2 to 6
    #[arg(long, default_value_t = 2)]
    nodes: usize,
    /// Rows that each node makes
    #[arg(long, default_value_t = 10_000_000)]
    rows: u64,
    /// Columns of 8 bytes beside the key
    #[arg(long, default_value_t = 3)]
    columns: usize,
    /// Bytes that are sent at a time
    #[arg(long, default_value = "1MiB", value_parser = parse_bytes)]
    buffer: usize,
    /// Buffers that a node may send before their rows are taken
    #[arg(long, default_value_t = 4)]
    credits: usize,
    /// Runs of each way
    #[arg(long, default_value_t = 5)]
    runs: usize,
    /// Print figures as JSON lines
    #[arg(long)]
    json: bool,
}

/// Runs it.
pub fn run(args: &ExchangeArgs) -> SqlResult<ExitCode> {
    let wish = Wish {
        nodes: args.nodes,
        rows: args.rows,
        columns: args.columns,
        buffer_bytes: args.buffer,
        credits: args.credits,
        rounds: args.runs,
    };
    let is_right =
        exchange::run(&wish, |figure| print_figure(&figure, args.json)).map_err(|error| {
            let state = match error.kind() {
                ErrorKind::InvalidInput => SqlState::INVALID_PARAMETER_VALUE,
                _ => SqlState::IO_ERROR,
            };
            SqlError::new(state, error.to_string())
        })?;
    Ok(if is_right { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
