//! `dovetail bench ycsb`: its options.

use std::process::ExitCode;

use bench::ycsb::{self, Core, Distribution, KeyForm, Mix, Options};
use clap::{Args, ValueEnum};
use engine::{SqlError, SqlResult, SqlState};

use crate::scratch::ScratchArgs;

#[derive(Args)]
pub struct YcsbArgs {
    #[command(flatten)]
    scratch: ScratchArgs,
    /// Rows of the table; the pool holds all of them
    #[arg(long, default_value_t = 30_000_000)]
    rows: u64,
    /// How rows are keyed
    #[arg(long, value_enum, default_value_t = Keys::Dense)]
    keys: Keys,
    /// Look rows up in a hash index, too; ratios are over the tree, one look-up after the other
    #[arg(long, value_enum, default_value_t = Index::Tree)]
    index: Index,
    /// Want rows by Zipf's law with this exponent, below 1, instead of each as often
    #[arg(long)]
    zipf: Option<f64>,
    /// What a transaction does: read1 to read100, update1 to update100, modify (2 changes and 8 reads
    /// more), scan10 to scan10000, or a to f, the core workloads of YCSB
    #[arg(long, value_delimiter = ',', default_value = "read10", value_parser = mix)]
    mix: Vec<Mix>,
    /// Numbers of workers
    #[arg(long, value_delimiter = ',', default_values_t = [1, 2])]
    workers: Vec<usize>,
    /// Transactions that take turns on a worker, 1 to 32
    #[arg(long, value_delimiter = ',', default_values_t = [1, 2, 4, 8, 12, 16, 24, 32])]
    windows: Vec<usize>,
    /// Rows read or changed on each worker in one measurement
    #[arg(long, default_value_t = 1_000_000)]
    operations: u64,
    /// Measure a look-up join and look-ups of many keys over SQL instead
    #[arg(long)]
    sql: bool,
}

#[derive(Clone, Copy, ValueEnum)]
enum Keys {
    /// Eight bytes: the row's number
    Dense,
    /// Eight bytes, spread over all numbers
    Scattered,
    /// 64 bytes
    Long,
}

#[derive(Clone, Copy, PartialEq, ValueEnum)]
enum Index {
    /// The tree of the rows
    Tree,
    /// That, and a hash index
    Hash,
}

fn mix(text: &str) -> Result<Mix, String> {
    let count = |digits: &str, max: usize| {
        let count = digits.parse().ok().filter(|count| (1..=max).contains(count));
        count.ok_or_else(|| format!("the number in {text} is not between 1 and {max}"))
    };
    if text == "modify" {
        return Ok(Mix::Modify);
    }
    let cores = [Core::A, Core::B, Core::C, Core::D, Core::E, Core::F];
    if let Some((core, _)) =
        cores.into_iter().zip(["a", "b", "c", "d", "e", "f"]).find(|c| c.1 == text)
    {
        return Ok(Mix::Core(core));
    }
    if let Some(digits) = text.strip_prefix("read") {
        return count(digits, 100).map(Mix::Read);
    }
    if let Some(digits) = text.strip_prefix("update") {
        return count(digits, 100).map(Mix::Update);
    }
    match text.strip_prefix("scan") {
        Some(digits) => count(digits, 10_000).map(Mix::Scan),
        None => Err("it is read, update or scan with a number, modify, or a to f".into()),
    }
}

/// `dovetail bench ycsb`
pub fn run(args: &YcsbArgs) -> SqlResult<ExitCode> {
    let distribution = match args.zipf {
        None => Distribution::Uniform,
        Some(theta) if theta > 0.0 && theta < 1.0 => Distribution::Zipf(theta),
        Some(_) => {
            let message = "the exponent of --zipf is above 0 and below 1";
            return Err(SqlError::new(SqlState::INVALID_PARAMETER_VALUE, message));
        }
    };
    let tree = match args.keys {
        Keys::Dense => KeyForm::Dense,
        Keys::Scattered => KeyForm::Scattered,
        Keys::Long => KeyForm::Long,
    };
    let hash = (args.index == Index::Hash).then_some(KeyForm::Hashed);
    let options = Options {
        rows: args.rows,
        key_forms: std::iter::once(tree).chain(hash).collect(),
        distribution,
        mixes: args.mix.clone(),
        workers: args.workers.clone(),
        windows: args.windows.clone(),
        operations: args.operations,
        rounds: args.scratch.runs,
    };
    args.scratch.in_folder(|folder, runs, emit| match args.sql {
        true => ycsb::run_sql(folder, args.rows, runs, emit),
        false => ycsb::run(folder, &options, emit),
    })
}
