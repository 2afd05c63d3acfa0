//! The `dovetail` binary: quickstart, shell, TPC-H, figures, doctor.
#![allow(clippy::disallowed_methods)] // a program for people: has files, clocks and threads of its own

mod allocator;
mod backup;
mod bench;
mod bucket;
mod check;
mod connections;
mod console;
mod degrade;
mod doctor;
mod exchange;
mod instructions;
mod ladder;
mod location;
mod memory;
mod plans;
mod progress;
mod promote;
mod quickstart;
mod remote;
mod scratch;
mod serve;
mod shell;
mod shuffle;
mod signal;
mod size;
mod sql;
mod tpcc;
mod tpch;
mod volume;
mod ycsb;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

use crate::shell::exit;

/// Workers allocate vectors and frees cross threads; the C library's allocator took 7 % of the CPU
/// time of a query that reads at the limit of the device.
#[global_allocator]
static ALLOCATOR: allocator::Allocator = allocator::Allocator;

/// Dovetail is a SQL database in which a core never waits: where work would stall on a page of the
/// SSD, the core switches to another task.
///
/// It speaks PostgreSQL's protocol, and keeps a database in one file, or on several files and
/// devices. `dovetail quickstart` is where to begin; `dovetail COMMAND --help` says what a command
/// takes.
#[derive(Parser)]
#[command(name = "dovetail", version, max_term_width = 100)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    Quickstart(quickstart::QuickstartArgs),
    Sql(sql::SqlArgs),
    Serve(serve::ServeArgs),
    Tpch(tpch::TpchArgs),
    Bench(bench::BenchArgs),
    Check(check::CheckArgs),
    Backup(backup::BackupArgs),
    Restore(backup::RestoreArgs),
    Promote(promote::PromoteArgs),
    Volume(volume::VolumeArgs),
    Doctor(doctor::DoctorArgs),
}

fn main() -> ExitCode {
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => {
            // `--help` and `--version` come this way too; a closed output is no reason to fail.
            let _ = error.print();
            return if error.use_stderr() {
                ExitCode::from(exit::FATAL)
            } else {
                ExitCode::SUCCESS
            };
        }
    };
    let result = match &cli.command {
        Command::Quickstart(args) => quickstart::run(args),
        Command::Sql(args) => Ok(ExitCode::from(sql::run(args))),
        Command::Serve(args) => serve::run(args, None),
        Command::Tpch(args) => tpch::run(args),
        Command::Bench(args) => bench::run(args),
        Command::Check(args) => Ok(check::run(args)),
        Command::Backup(args) => Ok(backup::back_up(args)),
        Command::Restore(args) => Ok(backup::restore(args)),
        Command::Promote(args) => promote::run(args),
        Command::Volume(args) => Ok(volume::run(args)),
        Command::Doctor(args) => doctor::run(args),
    };
    result.unwrap_or_else(|error| {
        eprint!("dovetail: {}", shell::fatal_text(&error));
        ExitCode::from(exit::FATAL)
    })
}
