//! `dovetail bench degrade`: a sweep over the share of cached pages, as a table and a picture.

use std::path::PathBuf;
use std::process::ExitCode;

use bench::degrade;
use bench::figure::Figure;
use clap::Args;
use engine::{Database, SqlError, SqlResult, SqlState};

use crate::tpch::{Common, print_figure};

#[derive(Args)]
pub(crate) struct DegradeArgs {
    #[command(flatten)]
    common: Common,
    /// Runs of each
    #[arg(long, default_value_t = 5)]
    runs: usize,
    /// Percentages of the pages that are cached
    #[arg(long, value_delimiter = ',', default_value = "0,20,40,60,80,100")]
    shares: Vec<u32>,
    /// Numbers of workers
    #[arg(long, value_delimiter = ',', default_value = "1,2")]
    workers: Vec<usize>,
    /// Where the picture goes
    #[arg(long, default_value = "degrade.svg")]
    svg: PathBuf,
}

/// Runs the benchmark, with a pool for everything.
pub(crate) fn run(args: &DegradeArgs) -> SqlResult<ExitCode> {
    let common = &args.common;
    if let Some(share) = args.shares.iter().find(|share| **share > 100) {
        let message = format!("{share} percent cannot be cached");
        return Err(SqlError::new(SqlState::INVALID_PARAMETER_VALUE, message));
    }
    if !common.path().exists() {
        crate::tpch::load(common)?;
    }
    let mut shares = args.shares.clone();
    shares.sort_unstable();
    let sweep = degrade::Options { scale: common.sf, shares, runs: args.runs };
    let mut points = vec![];
    for &workers in &args.workers {
        let db = Database::open(&common.path(), common.in_memory(workers)?)?;
        eprintln!("ring {}, pool {} pages", db.file_backend(), db.pool().frames);
        let mut emit = |figure: Figure| print_figure(&figure, common.json);
        points.extend(degrade::run(&db, common.storage, &sweep, &mut emit)?);
        db.close()?;
    }
    let failed = |e: std::io::Error| SqlError::new(SqlState::IO_ERROR, e.to_string());
    std::fs::write(&args.svg, degrade::svg(&points)).map_err(failed)?;
    println!("picture: {}", args.svg.display());
    Ok(ExitCode::SUCCESS)
}
