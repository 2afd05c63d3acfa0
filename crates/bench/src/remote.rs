//! `dovetail bench remote`: TPC-H with the chunks of its tables in an object store, against the same queries with
//! everything in memory.
//!
//! The store is one of ours ([`crate::store`]), a process of its own, with a latency, a rate of each connection
//! and one of all together. Sides take turns. Beside them, where they can be had, the same tables as Parquet
//! through DuckDB's httpfs. Then selective queries through an index on a remote
//! table, beside scans of it; one file with a single row group against the same rows in 300; and look-ups over
//! the protocol, alone and beside scans and changes in the same server.

mod beside;
mod child;
mod duck;
mod files;
mod indexed;
mod queries;
mod sides;

use std::path::{Path, PathBuf};

use engine::{Options, SqlError, SqlResult, SqlState};

use crate::figure::Figure;
use crate::store::Speed;
use child::Child;
use duck::Duck;
use sides::Sides;

/// The share of the paper's instance that a core has: 100 Gbit/s for 72 virtual cores (AnyBlob, section 2.1).
pub const CORE_RATE: u64 = 166 << 20;

/// A part of the measurement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// TPC-H, remote against local.
    Queries,
    /// Selective queries through an index, beside scans.
    Indexed,
    /// Parquet with one row group against many.
    Files,
    /// Look-ups beside scans.
    Beside,
}

/// What is to be measured.
#[derive(Clone, Debug)]
pub struct Wish {
    /// This program, whose `bench store` and `serve` are run.
    pub program: PathBuf,
    /// The parts.
    pub parts: Vec<Part>,
    /// Scale factor.
    pub scale: f64,
    /// TPC-H queries.
    pub queries: Vec<u8>,
    /// Rounds of each figure.
    pub runs: usize,
    /// How slow the store is.
    pub speed: Speed,
    /// How databases are opened; their memory is that of operators, without the pool.
    pub options: Options,
    /// The Python that has DuckDB; none leaves it out.
    pub python: Option<PathBuf>,
    /// Seconds of each half of a round of look-ups.
    pub seconds: u64,
    /// Clients that look up.
    pub clients: usize,
}

/// Measures in `folder`; whether all rows were right and nothing was lost.
///
/// # Errors
/// Those of the databases, of the store and of the folder.
pub fn run(wish: &Wish, folder: &Path, mut emit: impl FnMut(Figure)) -> SqlResult<bool> {
    let objects = folder.join("objects");
    std::fs::create_dir_all(&objects).map_err(failed)?;
    let store = Child::store(&wish.program, &objects, wish.speed).map_err(failed)?;
    let mut sides = Sides::load(wish, folder, &store.url)?;
    let Speed { latency, rate, cap, straggler_of } = wish.speed;
    eprintln!(
        "ring {}, {} workers; the store: {} ms, {} MiB/s a connection, {} MiB/s in all, stragglers {}",
        sides.remote.db.file_backend(),
        sides.remote.db.worker_count(),
        latency.as_millis(),
        rate >> 20,
        cap >> 20,
        if straggler_of == 0 { "none".to_owned() } else { format!("one of {straggler_of}") },
    );
    let mut right = true;
    if wish.parts.contains(&Part::Queries) {
        let mut duck = duck(wish, &sides, &objects, &store.url)?;
        right &= queries::run(wish, &mut sides, duck.as_mut(), &mut emit)?;
    }
    if wish.parts.contains(&Part::Indexed) {
        right &= indexed::run(wish, &mut sides, &mut emit)?;
    }
    if wish.parts.contains(&Part::Files) {
        right &= files::run(wish, &mut sides, &objects, &mut emit)?;
    }
    sides.close()?;
    if wish.parts.contains(&Part::Beside) {
        right &= beside::run(wish, folder, &store.url, &mut emit).map_err(failed)?;
    }
    Ok(right)
}

/// DuckDB beside the same tables as Parquet; says loudly when it is not to be had.
fn duck(wish: &Wish, sides: &Sides, objects: &Path, url: &str) -> SqlResult<Option<Duck>> {
    let Some(python) = &wish.python else {
        eprintln!("SKIPPED duckdb: it was not asked for");
        return Ok(None);
    };
    match Duck::start(python, wish.options.memory_bytes, wish.options.workers) {
        Err(why) => {
            eprintln!("SKIPPED duckdb: {why}");
            Ok(None)
        }
        Ok(mut duck) => {
            eprintln!("{}", duck.version);
            for (name, table) in files::write_all(wish.scale, &sides.local, objects)? {
                duck.view(&name, &format!("{url}/{}/{table}", sides::BUCKET)).map_err(wrong)?;
            }
            Ok(Some(duck))
        }
    }
}

fn failed(error: std::io::Error) -> SqlError {
    wrong(error.to_string())
}

fn wrong(why: String) -> SqlError {
    SqlError::new(SqlState::IO_ERROR, why)
}

/// The same lines for the same rows, in whatever order they came.
fn lines(result: &engine::ResultSet) -> Vec<Vec<Option<String>>> {
    let mut lines = crate::tpch::as_text(result).rows;
    lines.sort_unstable();
    lines
}
