//! `dovetail bench connections`: a thousand clients, and a crowd of slow ones.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use bench::connections::{self, Wish};
use bench::figure::Figure;
use clap::Args;
use engine::{SqlError, SqlResult, SqlState};

use crate::tpch::print_figure;

/// The flags.
#[derive(Args)]
pub struct ConnectionsArgs {
    /// Print figures as JSON lines
    #[arg(long)]
    json: bool,
    /// Clients that run a mix of queries; 0 leaves this part out
    #[arg(long, default_value_t = 1000)]
    connections: usize,
    /// Seconds that they run
    #[arg(long, default_value_t = 180)]
    seconds: u64,
    /// Seconds between the warm-up, in which each client makes each kind of step, and those
    #[arg(long, default_value_t = 60)]
    warmup: u64,
    /// Milliseconds that a client rests between two steps, on average
    #[arg(long, default_value_t = 500)]
    think_ms: u64,
    /// Connections that are silent or send a byte a second; 0 leaves this part out
    #[arg(long, default_value_t = 2000)]
    slow: usize,
    /// The binary whose server is measured; this one if not given
    #[arg(long)]
    server: Option<PathBuf>,
    /// Folder for a small database, which is removed afterwards
    #[arg(long, default_value = "data")]
    data: PathBuf,
}

/// Measures; the exit code is 1 when a bound was not kept.
pub fn run(args: &ConnectionsArgs) -> SqlResult<ExitCode> {
    let folder = args.data.join(format!("bench-{}", std::process::id()));
    let done = measure(args, &folder);
    std::fs::remove_dir_all(&folder).ok();
    let kept = done.map_err(|error| SqlError::new(SqlState::IO_ERROR, error.to_string()))?;
    Ok(if kept { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn measure(args: &ConnectionsArgs, folder: &Path) -> std::io::Result<bool> {
    std::fs::create_dir_all(folder)?;
    let wish = Wish {
        server: args.server.clone().map_or_else(std::env::current_exe, Ok)?,
        connections: args.connections,
        seconds: args.seconds,
        warmup: args.warmup,
        think_ms: args.think_ms,
        slow: args.slow,
    };
    connections::run(&wish, folder, |figure: Figure| print_figure(&figure, args.json))
}
