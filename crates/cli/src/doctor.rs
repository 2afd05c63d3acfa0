//! `dovetail doctor`: what this machine allows, and what follows from it.

use std::io;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Args;
use engine::{SqlError, SqlResult, SqlState};
use runtime::probe;

mod advice;
mod measure;

/// Explain which I/O back end this machine allows, and how to use it best
///
/// Reads and writes a file of 64 MiB beside the path for about two seconds, to find out.
#[derive(Args)]
pub struct DoctorArgs {
    /// A folder or file on the device in question
    #[arg(default_value = ".")]
    path: PathBuf,
}

/// `dovetail doctor`
pub fn run(args: &DoctorArgs) -> SqlResult<ExitCode> {
    let system = probe::system();
    line("kernel", &system.kernel);
    line("cores", &system.cpu_count.to_string());
    match &system.io_uring {
        Ok(flags) => line("io_uring", &format!("yes ({flags})")),
        Err(why) => line("io_uring", &format!("no: {why}")),
    }
    let sysctl = match system.io_uring_disabled {
        Some(0) => "0 (allowed)",
        Some(1) => "1 (privileged processes only)",
        Some(_) => "2 (off for all)",
        None => "not there (kernel before 6.6)",
    };
    line("io_uring_disabled", sysctl);
    let filter = |on: bool| if on { "a filter is in force" } else { "no filter" };
    line("seccomp", system.seccomp_filter.map_or("unknown", filter));
    let memlock = system.memlock_bytes.map_or("no limit".to_owned(), stdx::format_bytes);
    line("locked memory", &memlock);
    line("open files", &system.open_file_count_max.to_string());
    println!();
    file(args)?;
    println!();
    verdict(&system);
    println!();
    print_advice(&args.path);
    Ok(ExitCode::SUCCESS)
}

fn line(name: &str, value: &str) {
    println!("{name:<18} {value}");
}

fn file(args: &DoctorArgs) -> SqlResult<()> {
    let failed = |e: std::io::Error| {
        let message = format!("could not look at \"{}\": {e}", args.path.display());
        SqlError::new(SqlState::IO_ERROR, message)
    };
    let report = match args.path.is_dir() {
        true => with_trial_file(&args.path, |path| probe::file(path)),
        false => probe::file(&args.path),
    }
    .map_err(failed)?;
    line("path", &args.path.display().to_string());
    line("file system", &report.file_system);
    let direct = match report.direct_align_bytes {
        Some((0, _)) => "no".to_owned(),
        Some((memory, offset)) => format!("memory to {memory}, offsets to {offset} bytes"),
        None => "the kernel does not tell".to_owned(),
    };
    line("direct I/O aligns", &direct);
    line("free space", &stdx::format_bytes(report.free_bytes));
    let backend = report.backend;
    line("back end", &format!("{:?} ({})", backend.kind, backend.reason).to_lowercase());
    Ok(())
}

/// What follows from the device, which is measured for that.
fn print_advice(path: &Path) {
    println!("advice, from reading and writing here for two seconds:");
    let measured = match measure::measure(path) {
        Ok(measured) => measured,
        Err(why) => return println!("  none: a file beside {} failed: {why}", path.display()),
    };
    if let Some(queue) = &measured.queue {
        let scheduler = queue.scheduler.as_deref().unwrap_or("unknown");
        line("device", &format!("{} (scheduler {scheduler})", queue.device));
    }
    for advice in advice::advise(&measured) {
        line(advice.topic, &advice.what);
        println!("{:<18} {} [{}]", "", advice.why, advice.section);
    }
    println!(
        "Sections are those of \"io_uring for High-Performance DBMSs\". Figures of a busy machine are low."
    );
}

/// Folders are judged by a file in them.
fn with_trial_file<T>(folder: &Path, look: impl FnOnce(&Path) -> io::Result<T>) -> io::Result<T> {
    let path = folder.join(format!(".dovetail-doctor-{}", std::process::id()));
    std::fs::write(&path, [0; 4096])?;
    let result = look(&path);
    std::fs::remove_file(&path)?;
    result
}

fn verdict(system: &probe::SystemReport) {
    if system.io_uring.is_ok() {
        println!("Dovetail will use io_uring here.");
        return;
    }
    println!("Dovetail will use a pool of threads here: all works, with more CPU time per read.");
    println!("To allow io_uring: set the sysctl kernel.io_uring_disabled to 0; in a container,");
    println!("use a seccomp profile that permits io_uring_setup, io_uring_enter and");
    println!("io_uring_register.");
}
