//! `dovetail volume`: on which files and devices a database lies.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{Args, Subcommand};
use engine::{MemberInfo, Options, SqlResult, SqlState, VolumeOptions};

use crate::location::{self, MemberArgs};
use crate::shell::{exit, fatal_text};

/// Show, add and remove the files and devices on which a database lies
#[derive(Args)]
#[command(after_help = "Nobody has the database open meanwhile.\n\n\
Exit codes: 0 done, 2 the database could not be opened, or a member is refused.")]
pub struct VolumeArgs {
    #[command(subcommand)]
    command: VolumeCommand,
}

#[derive(Subcommand)]
enum VolumeCommand {
    /// Show the members, what lies on each, and how fast it was when it joined
    List {
        /// First member: the database file
        #[arg(long, value_name = "FILE")]
        data: PathBuf,
        #[command(flatten)]
        members: MemberArgs,
    },
    /// Take files or devices in; new data go to each by its speed. A missing file is made
    Add(ChangeArgs),
    /// Move what lies on members to the others, and let them go
    Remove(ChangeArgs),
}

#[derive(Args)]
struct ChangeArgs {
    /// First member: the database file
    #[arg(long, value_name = "FILE")]
    data: PathBuf,
    /// A file or block device that joins or leaves; once for each
    #[arg(long, value_name = "PATH", required = true)]
    member: Vec<PathBuf>,
    /// Overwrite what is on it
    #[arg(long)]
    format: bool,
}

/// `dovetail volume`
pub fn run(args: &VolumeArgs) -> ExitCode {
    let done = match &args.command {
        VolumeCommand::List { data, members } => list(&path(data), members.volume()),
        VolumeCommand::Add(args) => change(args, engine::add_member),
        VolumeCommand::Remove(args) => change(args, engine::remove_member),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprint!("dovetail: {}", fatal_text(&error));
            ExitCode::from(exit::BAD_DATABASE)
        }
    }
}

/// Paths stand in the table of members, so they mean the same wherever the next command runs.
fn path(data: &Path) -> PathBuf {
    let file = location::file(data, "main.dovetail");
    std::path::absolute(&file).unwrap_or(file)
}

fn options(volume: VolumeOptions) -> Options {
    Options { volume, workers: 1, ..pg::options() }
}

fn change(
    args: &ChangeArgs,
    to: impl Fn(&Path, &Options, &Path) -> SqlResult<()>,
) -> SqlResult<()> {
    let options = options(VolumeOptions { format: args.format, ..VolumeOptions::default() });
    for member in &args.member {
        let member = std::path::absolute(member).unwrap_or_else(|_| member.clone());
        to(&path(&args.data), &options, &member).map_err(|error| {
            match error.state == SqlState::OBJECT_IN_USE && error.hint.is_none() {
                true => error.with_hint("Stop the server that has it open."),
                false => error,
            }
        })?;
    }
    list(&path(&args.data), VolumeOptions::default())
}

fn list(data: &Path, volume: VolumeOptions) -> SqlResult<()> {
    let members = engine::members(data, &Options { unchanged: true, ..options(volume) })?;
    if members.is_empty() {
        println!("the database lies in one file");
    }
    members.iter().for_each(|member| println!("{}", line(member)));
    Ok(())
}

fn line(member: &MemberInfo) -> String {
    let MemberInfo { number, path, size_bytes, used_bytes, speed_bytes } = member;
    let size = match size_bytes {
        0 => "a file".to_owned(),
        bytes => format!("a device of {} MB", bytes >> 20),
    };
    let (used, speed) = (used_bytes >> 20, speed_bytes >> 20);
    format!("{number}  {}  {used} MB on {size}, {speed} MB/s", path.display())
}
