//! `dovetail backup` and `dovetail restore`: copies of a database file.

use std::fs::{File, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::Relaxed;

use clap::Args;
use engine::{
    ArchiveOptions, Database, Options, RestoreProgress, Restored, SqlError, SqlResult, SqlState,
    Until,
};

use crate::check::show_progress;
use crate::location::MemberArgs;
use crate::progress;
use crate::shell::{exit, fatal_text};

/// Copy a database file that no server has open; of one that is served, BACKUP DATABASE TO makes a copy
#[derive(Args)]
#[command(after_help = "Exit codes: 0 the copy is made, 2 it could not be made.")]
pub struct BackupArgs {
    /// Database file
    file: PathBuf,
    /// The copy, which does not exist yet
    copy: PathBuf,
    /// Folder of the archive to go on with, as of `dovetail serve`: without it the copy is all there is
    #[arg(long, value_name = "FOLDER")]
    archive: Option<PathBuf>,
    #[command(flatten)]
    members: MemberArgs,
}

/// Make a database file of a backup, and check it
#[derive(Args)]
#[command(after_help = "Exit codes: 0 the database is as it should be, 1 the backup is damaged, \
2 it could not be restored.")]
pub struct RestoreArgs {
    /// What `dovetail backup` or BACKUP DATABASE TO made
    backup: PathBuf,
    /// Database file, which does not exist yet
    file: PathBuf,
    /// Folder of the archive: restore all that was committed behind the backup, too
    #[arg(long, value_name = "FOLDER")]
    archive: Option<PathBuf>,
    /// Restore what was committed until this time, like '2026-07-01 12:30:00+02'; without a zone it is UTC
    #[arg(long, value_name = "TIME", requires = "archive", value_parser = parse_moment)]
    to: Option<Until>,
    /// Restore so many commits behind a checkpoint, like 17/203, as an earlier restore has said
    #[arg(
        long,
        value_name = "CHECKPOINT/COMMITS",
        requires = "archive",
        conflicts_with = "to",
        value_parser = parse_commit
    )]
    to_commit: Option<Until>,
}

fn parse_moment(text: &str) -> Result<Until, String> {
    let us = types::datetime::parse_timestamptz(text).map_err(|error| error.message)?;
    u64::try_from(us).map(Until::Time).map_err(|_| "the time is before 1970".to_owned())
}

fn parse_commit(text: &str) -> Result<Until, String> {
    let numbers = text.split_once('/').map(|(a, b)| (a.parse(), b.parse()));
    match numbers {
        Some((Ok(checkpoint), Ok(frames))) => Ok(Until::Commit { checkpoint, frames }),
        _ => Err("give a checkpoint and a number of commits, like 17/203".to_owned()),
    }
}

/// `dovetail backup`
pub fn back_up(args: &BackupArgs) -> ExitCode {
    ended(copied(args).map(|bytes| {
        println!("{bytes} bytes");
        ExitCode::SUCCESS
    }))
}

fn copied(args: &BackupArgs) -> SqlResult<u64> {
    let tell = Arc::new(|said: &str| eprintln!("dovetail: {said}"));
    let archive = args.archive.clone().map(|folder| ArchiveOptions { folder, tell });
    let volume = args.members.volume();
    let opened = Database::open(&args.file, Options { archive, volume, ..pg::options() });
    let db = opened.map_err(|error| match error.state == SqlState::OBJECT_IN_USE {
        true => error
            .with_hint("Of a database that is served, ask its server: BACKUP DATABASE TO 'FILE'."),
        false => error,
    })?;
    let over = AtomicBool::new(false);
    let copied = std::thread::scope(|scope| {
        scope.spawn(|| show_progress(&db, &over));
        let copied = db.back_up(&args.copy);
        over.store(true, Relaxed);
        copied
    });
    db.close()?;
    copied
}

/// `dovetail restore`
pub fn restore(args: &RestoreArgs) -> ExitCode {
    ended(restored(args))
}

fn restored(args: &RestoreArgs) -> SqlResult<ExitCode> {
    if let Some(archive) = &args.archive {
        let until = args.to.or(args.to_commit).unwrap_or(Until::End);
        let (options, over) = (pg::options(), AtomicBool::new(false));
        let progress = Arc::<RestoreProgress>::default();
        let restored = std::thread::scope(|scope| {
            scope.spawn(|| progress::follow("restoring", || progress.bytes(), &over));
            let restored =
                engine::restore(&args.backup, archive, until, &args.file, &options, &progress);
            over.store(true, Relaxed);
            restored
        });
        let Restored { checkpoint, frames, time } = restored?;
        println!("restored to {} (commit {checkpoint}/{frames})", engine::moment(time));
        return Ok(crate::check::run_on(&args.file));
    }
    let failed = |error: io::Error| {
        let message = format!("could not copy the backup to \"{}\": {error}", args.file.display());
        SqlError::new(SqlState::IO_ERROR, message)
    };
    copy(&args.backup, &args.file).map_err(failed)?;
    Ok(crate::check::run_on(&args.file))
}

/// Nobody else writes either file: plain copying will do.
#[allow(clippy::disallowed_methods)] // there is no runtime yet
fn copy(from: &Path, to: &Path) -> io::Result<()> {
    let mut from = File::open(from)?;
    let mut copy = OpenOptions::new().write(true).create_new(true).open(to)?;
    let copied = io::copy(&mut from, &mut copy).and_then(|_| copy.sync_all());
    copied.inspect_err(|_| drop(std::fs::remove_file(to)))
}

fn ended(done: SqlResult<ExitCode>) -> ExitCode {
    done.unwrap_or_else(|error| {
        eprint!("dovetail: {}", fatal_text(&error));
        ExitCode::from(exit::BAD_DATABASE)
    })
}
