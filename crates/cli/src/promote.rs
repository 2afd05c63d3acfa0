//! `dovetail promote`: a replica becomes a database of its own.

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{Duration, Instant};

use clap::Args;
use engine::{SqlError, SqlResult, SqlState};

use crate::location;

/// How often the end is looked for.
const LOOK: Duration = Duration::from_millis(20);

/// Make a replica a database of its own, which follows its primary no more
#[derive(Args)]
#[command(
    after_help = "A server that has it open is asked, and goes on serving; its SQL function \
pg_promote() does the same. Of a replica that no server has open, what its archive has got since \
it was stopped is not taken.\n\n\
Exit codes: 0 it is one, 1 it could not become one."
)]
pub struct PromoteArgs {
    /// The replica's file, or its folder
    data: PathBuf,
    /// Seconds that a server has for it
    #[arg(long, value_name = "SECONDS", default_value_t = 60)]
    wait: u64,
}

/// `dovetail promote`
pub fn run(args: &PromoteArgs) -> SqlResult<ExitCode> {
    let file = location::file(&args.data, "main.dovetail");
    match engine::promote(&file, &pg::options()) {
        Err(error) if error.state == SqlState::OBJECT_IN_USE => ask(&file, args.wait)?,
        done => done?,
    }
    println!("\"{}\" is a database of its own", file.display());
    Ok(ExitCode::SUCCESS)
}

/// Asks the server that has it, and waits.
fn ask(file: &Path, seconds: u64) -> SqlResult<()> {
    let (request, note) = (engine::request_path(file), file.with_added_extension("replica"));
    if !note.exists() {
        let message = format!("\"{}\" follows no other database", file.display());
        return Err(SqlError::new(SqlState("55000"), message));
    }
    std::fs::write(&request, b"").map_err(|error| {
        let message = format!("could not write \"{}\": {error}", request.display());
        SqlError::new(SqlState::IO_ERROR, message)
    })?;
    let began = Instant::now();
    while note.exists() {
        if began.elapsed() >= Duration::from_secs(seconds) {
            drop(std::fs::remove_file(&request));
            let message = "the server has not promoted the replica in time";
            return Err(SqlError::new(SqlState("57014"), message)
                .with_hint("Its log says what is in the way."));
        }
        std::thread::sleep(LOOK);
    }
    Ok(())
}
