//! `dovetail tpch`: load, run, verify, export.

use std::path::PathBuf;
use std::process::ExitCode;

use bench::answers::Scale;
use bench::figure::Figure;
use bench::{modes, tpch};
use clap::{Args, Subcommand};
use engine::{
    Database, ExecutionMode, Options, RingKind, SqlError, SqlResult, SqlState, TableStorage,
};

use crate::progress::Bar;
use crate::size::{parse_bytes, parse_page_bytes};
use crate::{bucket, location};

/// Load the data of the benchmark TPC-H, run its queries, check their answers
#[derive(Args)]
pub struct TpchArgs {
    #[command(subcommand)]
    command: TpchCommand,
}

#[derive(Subcommand)]
enum TpchCommand {
    /// Generate the data in process and load it into a new database
    Load(Common),
    /// Run queries and print times
    Run(RunArgs),
    /// Compare the answers of all queries with those of an independent engine
    Verify(VerifyArgs),
    /// Write the data as .tbl files, for other engines
    Export(ExportArgs),
}

#[derive(Args, Clone)]
pub(crate) struct Common {
    /// Scale factor: 1 is about 1 GB of rows
    #[arg(long, default_value_t = 1.0)]
    pub(crate) sf: f64,
    /// Database file; in a folder, tpch-sf[SF].dovetail
    #[arg(long, default_value = "data/", value_name = "FILE")]
    pub(crate) data: PathBuf,
    /// Memory of the database, like 256MB: about half of it for the buffer pool
    #[arg(long, value_parser = parse_bytes)]
    pub(crate) memory: Option<usize>,
    /// Memory of the buffer pool alone, like 256MB
    #[arg(long, value_parser = parse_bytes)]
    pub(crate) pool: Option<usize>,
    /// Pages of a new database: 4kB (the default), 8kB, 16kB or 32kB
    #[arg(long, value_parser = parse_page_bytes)]
    pub(crate) page_size: Option<u32>,
    /// How tables are kept: row, with keys and indexes, or column
    #[arg(long, default_value = "row", value_parser = parse_storage)]
    pub(crate) storage: TableStorage,
    /// Keep column tables in an object store, like s3://bucket/prefix; keys, AWS_REGION and
    /// AWS_ENDPOINT_URL are those of the environment
    #[arg(long, value_name = "LOCATION")]
    pub(crate) location: Option<String>,
    /// auto, uring or threads
    #[arg(long)]
    pub(crate) ring: Option<RingKind>,
    /// Have a kernel thread submit what io_uring is asked for
    #[arg(long)]
    pub(crate) sqpoll: bool,
    /// Poll the device instead of taking interrupts
    #[arg(long)]
    pub(crate) iopoll: bool,
    /// Print figures as JSON lines
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Args)]
struct RunArgs {
    #[command(flatten)]
    common: Common,
    /// Queries, like 1,3,5 (all by default)
    #[arg(long, value_delimiter = ',')]
    queries: Vec<u8>,
    /// serial, static or ooo (all by default)
    #[arg(long)]
    mode: Option<ExecutionMode>,
    /// Empty the buffer pool before each run
    #[arg(long)]
    cold: bool,
    /// Runs of each
    #[arg(long, default_value_t = 5)]
    runs: usize,
}

#[derive(Args)]
struct VerifyArgs {
    #[command(flatten)]
    common: Common,
    /// Queries, like 1,3,5 (all by default)
    #[arg(long, value_delimiter = ',')]
    queries: Vec<u8>,
    /// serial, static or ooo (all by default)
    #[arg(long)]
    mode: Option<ExecutionMode>,
}

#[derive(Args)]
struct ExportArgs {
    /// Scale factor
    #[arg(long, default_value_t = 0.01)]
    sf: f64,
    /// Folder for the files
    #[arg(long)]
    out: PathBuf,
}

impl Common {
    pub(crate) fn options(&self) -> Options {
        let mut options = pg::options();
        options.memory_bytes = self.memory.unwrap_or(options.memory_bytes);
        crate::allocator::fit_into(options.memory_bytes);
        options.pool_bytes = self.pool;
        options.page_bytes = self.page_size;
        options.ring = self.ring.unwrap_or(options.ring);
        (options.sqpoll, options.iopoll) = (self.sqpoll, self.iopoll);
        options
    }

    /// Options of so many workers with a pool for all of the file, which is there.
    pub(crate) fn in_memory(&self, workers: usize) -> SqlResult<Options> {
        let failed = |e: std::io::Error| SqlError::new(SqlState::IO_ERROR, e.to_string());
        let file_bytes = std::fs::metadata(self.path()).map_err(failed)?.len() as usize;
        let mut options = Options { workers, ..self.options() };
        options.pool_bytes = Some(self.pool.unwrap_or(file_bytes + file_bytes / 8));
        options.memory_bytes = self.memory.unwrap_or(file_bytes * 3);
        Ok(options)
    }

    /// The database file of this scale factor.
    pub(crate) fn path(&self) -> PathBuf {
        let kind = if self.storage == TableStorage::Column { "-column" } else { "" };
        location::file(&self.data, &format!("tpch-sf{}{kind}.dovetail", self.sf))
    }

    /// Opens the database; loads it first when it is not there.
    pub(crate) fn open_or_load(&self) -> SqlResult<Database> {
        if !self.path().exists() {
            load(self)?;
        }
        Database::open(&self.path(), self.options())
    }
}

fn parse_storage(text: &str) -> Result<TableStorage, String> {
    TableStorage::of_name(text).map_err(|_| "storage must be row or column".to_owned())
}

/// `dovetail tpch ...`
pub fn run(args: &TpchArgs) -> SqlResult<ExitCode> {
    match &args.command {
        TpchCommand::Load(common) => load(common).map(|()| ExitCode::SUCCESS),
        TpchCommand::Run(args) => run_queries(args).map(|()| ExitCode::SUCCESS),
        TpchCommand::Verify(args) => verify(args),
        TpchCommand::Export(args) => {
            tpch::export(args.sf, &args.out)
                .map_err(|e| SqlError::new(SqlState::IO_ERROR, e.to_string()))?;
            Ok(ExitCode::SUCCESS)
        }
    }
}

/// Loads into a file beside the final one and renames it: what has the name is complete.
pub(crate) fn load(common: &Common) -> SqlResult<()> {
    let io_error = |what: &str, e: std::io::Error| {
        SqlError::new(SqlState::IO_ERROR, format!("could not {what}: {e}"))
    };
    if !(common.sf > 0.0 && common.sf <= 1000.0) {
        return Err(SqlError::new(SqlState::INVALID_PARAMETER_VALUE, "scale factor out of range")
            .with_hint("Give --sf from 0.001 to 1000."));
    }
    if common.location.is_some() && common.storage == TableStorage::Row {
        let message = "tables of rows have no location";
        return Err(SqlError::new(SqlState::INVALID_PARAMETER_VALUE, message)
            .with_hint("Give --storage column."));
    }
    if common.path().exists() {
        let message = format!("\"{}\" exists already", common.path().display());
        return Err(SqlError::new(SqlState::OBJECT_IN_USE, message)
            .with_hint("Remove it, or use another --data or --sf."));
    }
    location::make_folder(&common.path()).map_err(|e| io_error("create the folder", e))?;
    let partial = common.path().with_added_extension("partial");
    std::fs::remove_file(&partial).ok();
    let db = Database::create(&partial, common.options())?;
    eprintln!("Loading TPC-H, scale factor {}, ring {}", common.sf, db.file_backend());
    let mut bar = Bar::new(db.clone());
    let location = common.location.as_deref();
    let secret = location.map_or(Ok(()), |location| bucket::make_secret(&db, location));
    let loaded = secret.and_then(|()| {
        tpch::load(&db, common.sf, common.storage, location, |event| bar.event(&event))
    });
    bar.finish();
    loaded?;
    db.close()?;
    std::fs::rename(&partial, common.path()).map_err(|e| io_error("rename the file", e))
}

fn modes_of(mode: Option<ExecutionMode>) -> Vec<ExecutionMode> {
    mode.map_or(ExecutionMode::ALL.to_vec(), |m| vec![m])
}

fn queries_of(queries: &[u8]) -> SqlResult<Vec<u8>> {
    if let Some(bad) = queries.iter().find(|q| !(1..=22).contains(*q)) {
        let message = format!("there is no TPC-H query {bad}");
        return Err(SqlError::new(SqlState::INVALID_PARAMETER_VALUE, message));
    }
    Ok(if queries.is_empty() { (1..=22).collect() } else { queries.to_vec() })
}

fn run_queries(args: &RunArgs) -> SqlResult<()> {
    let db = args.common.open_or_load()?;
    eprintln!("ring {}", db.file_backend());
    let mut session = db.session();
    for number in queries_of(&args.queries)? {
        let text = tpch::query(number, args.common.sf).expect("the query exists");
        for mode in modes_of(args.mode) {
            let mut times = vec![];
            let mut last = modes::run(&mut session, &text, mode, args.cold)?;
            for _ in 0..args.runs {
                last = modes::run(&mut session, &text, mode, args.cold)?;
                times.push(last.elapsed.as_secs_f64() * 1e3);
            }
            let detail =
                format!("rows {} reads {} tasks {}", last.row_count, last.reads, last.tasks);
            let figure = Figure::of(format!("tpch.q{number:02}.{}", mode.name()), "ms", &times);
            print_figure(&figure.with_detail(detail), args.common.json);
        }
    }
    drop(session);
    db.close()
}

/// A figure in the form that was asked for.
pub(crate) fn print_figure(figure: &Figure, json: bool) {
    println!("{}", if json { figure.json() } else { figure.text() });
}

fn verify(args: &VerifyArgs) -> SqlResult<ExitCode> {
    let Some(scale) = Scale::from_factor(args.common.sf) else {
        let message = format!("there are no reference answers for scale {}", args.common.sf);
        return Err(SqlError::new(SqlState::INVALID_PARAMETER_VALUE, message)
            .with_hint("Give --sf 0.01 or --sf 1."));
    };
    let queries = queries_of(&args.queries)?;
    let rings = args.common.ring.map_or(vec![RingKind::Uring, RingKind::Threads], |r| vec![r]);
    let (mut passed, mut failed) = (0, 0);
    for ring in rings {
        let common = Common { ring: Some(ring), ..args.common.clone() };
        let db = common.open_or_load()?;
        println!("ring {}", db.file_backend());
        tpch::verify(&mut db.session(), scale, &queries, &modes_of(args.mode), |check| {
            let name = format!("q{:02} {}", check.query, check.mode.name());
            match check.failure {
                None => {
                    passed += 1;
                    println!("  {name:<12} ok");
                }
                Some(why) => {
                    failed += 1;
                    println!("  {name:<12} FAILED: {why}");
                }
            }
        });
        db.close()?;
    }
    println!("{passed} passed, {failed} failed");
    Ok(if failed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
