//! `dovetail check`: whether a database file is as it should be.

use std::io::IsTerminal;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::{Duration, Instant};

use clap::Args;
use engine::{
    CheckReport, Database, DeviceChoice, DeviceProfile, Options, SqlResult, probe_damage,
};
use indicatif::{ProgressBar, ProgressStyle};

use crate::location::MemberArgs;
use crate::shell::{exit, fatal_text};
use crate::size::parse_bytes;

/// The file is damaged.
const DAMAGED: u8 = 1;

/// Work shorter than this shows no bar.
const SILENT: Duration = Duration::from_secs(2);

/// Between two looks at the job.
const TICK: Duration = Duration::from_millis(100);

/// Memory for pages: a check reads each page once.
const MEMORY_BYTES: usize = 256 << 20;

/// Check a database file: every page, tree and index, and the free space
#[derive(Args)]
#[command(after_help = "Exit codes: 0 the file is as it should be, 1 it is damaged, \
2 it could not be opened.")]
pub struct CheckArgs {
    /// Database file, which nobody else may have open
    file: PathBuf,
    /// Memory for pages, like 256MB
    #[arg(long, value_parser = parse_bytes, value_name = "SIZE")]
    memory: Option<usize>,
    #[command(flatten)]
    members: MemberArgs,
}

/// `dovetail check`
pub fn run(args: &CheckArgs) -> ExitCode {
    reported(check(&args.file, args.memory, &args.members))
}

/// Checks a file that was just restored.
pub fn run_on(file: &Path) -> ExitCode {
    reported(check(file, None, &MemberArgs::default()))
}

fn reported(checked: SqlResult<CheckReport>) -> ExitCode {
    match checked {
        Ok(report) if report.problems.is_empty() => {
            println!("ok: {report}");
            ExitCode::SUCCESS
        }
        Ok(report) => {
            report.problems.iter().for_each(|problem| println!("damaged: {problem}"));
            ExitCode::from(DAMAGED)
        }
        Err(error) => {
            eprint!("dovetail: {}", fatal_text(&error));
            ExitCode::from(exit::BAD_DATABASE)
        }
    }
}

fn check(file: &Path, memory: Option<usize>, members: &MemberArgs) -> SqlResult<CheckReport> {
    let memory_bytes = memory.unwrap_or(MEMORY_BYTES);
    let device = DeviceChoice::Fixed(DeviceProfile::default());
    // A copy stays what it is: its archive knows it by its header.
    let volume = members.volume();
    let options = Options { memory_bytes, unchanged: true, device, volume, ..pg::options() };
    if let Some(problem) = probe_damage(file, &options)? {
        return Ok(CheckReport { problems: vec![problem], ..CheckReport::default() });
    }
    let db = match Database::open(file, options) {
        // The file is open to the storage engine; so it is the catalog in it that cannot be read.
        Err(error) if error.state == engine::SqlState::DATA_CORRUPTED => {
            let problems = vec![format!("catalog: {}", error.message)];
            return Ok(CheckReport { problems, ..CheckReport::default() });
        }
        opened => opened?,
    };
    let over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| show_progress(&db, &over));
        let report = db.check();
        over.store(true, Relaxed);
        report
    })
}

/// Follows the database's job, on a terminal, after two seconds.
pub fn show_progress(db: &Database, over: &AtomicBool) {
    let started = Instant::now();
    let bar = ProgressBar::hidden();
    let style = "{msg:<28} {bar:40} {percent:>3}% {elapsed}";
    bar.set_style(ProgressStyle::with_template(style).expect("the template is valid"));
    while !over.load(Relaxed) {
        std::thread::sleep(TICK);
        if started.elapsed() > SILENT && std::io::stderr().is_terminal() {
            let job = db.job();
            bar.set_draw_target(indicatif::ProgressDrawTarget::stderr());
            bar.set_message(job.phase.clone());
            bar.set_length(job.total);
            bar.set_position(job.done.load(Relaxed));
        }
    }
    bar.finish_and_clear();
}
