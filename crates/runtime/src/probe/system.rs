//! The kernel, its io_uring, and the limits that matter.

use crate::ring::setup::{self, Wish};

/// What the machine offers to a runtime.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SystemReport {
    /// The kernel's release, like `6.18.44`.
    pub kernel: String,
    /// The flags that a ring gets, or why there is none.
    pub io_uring: Result<String, String>,
    /// The value of the sysctl `kernel.io_uring_disabled` (0 allowed, 1 privileged only, 2 off),
    /// where the kernel has it (6.6 and later).
    pub io_uring_disabled: Option<u32>,
    /// Whether a seccomp filter is in force (mode 2 in `/proc/self/status`).
    pub seccomp_filter: Option<bool>,
    /// Locked-memory limit in bytes (registered buffers count against it); `None`: no limit.
    pub memlock_bytes: Option<u64>,
    /// Open-file limit.
    pub open_file_count_max: u64,
    /// Cores that this process may use.
    pub cpu_count: usize,
}

/// Looks at the machine. Blocks for some system calls; works inside and outside of a runtime.
pub fn system() -> SystemReport {
    let disabled = std::fs::read_to_string("/proc/sys/kernel/io_uring_disabled").ok();
    SystemReport {
        kernel: first_line("/proc/sys/kernel/osrelease").unwrap_or_else(|| "unknown".to_owned()),
        io_uring: setup::open(&Wish::plain(1)).map(|opened| opened.flags),
        io_uring_disabled: disabled.and_then(|text| text.trim().parse().ok()),
        seccomp_filter: seccomp_filter(),
        memlock_bytes: limit(libc::RLIMIT_MEMLOCK),
        open_file_count_max: limit(libc::RLIMIT_NOFILE).unwrap_or(u64::MAX),
        cpu_count: std::thread::available_parallelism().map_or(1, |n| n.get()),
    }
}

/// Raises this process's limit of open files to the most that it may have; that limit. Servers want
/// a descriptor for each connection, and the usual limit is the one of programs that use `select`.
///
/// # Errors
/// What the system says.
pub fn raise_open_file_limit() -> std::io::Result<u64> {
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: `limit` is a valid place for the answer.
    if unsafe { libc::getrlimit(libc::RLIMIT_NOFILE, &mut limit) } != 0 {
        return Err(std::io::Error::last_os_error());
    }
    limit.rlim_cur = limit.rlim_max;
    // SAFETY: `limit` is a value that the system has just given, its first half below its second.
    match unsafe { libc::setrlimit(libc::RLIMIT_NOFILE, &limit) } {
        0 => Ok(limit.rlim_cur),
        _ => Err(std::io::Error::last_os_error()),
    }
}

fn first_line(path: &str) -> Option<String> {
    let text = std::fs::read_to_string(path).ok()?;
    text.lines().next().map(str::to_owned)
}

fn seccomp_filter() -> Option<bool> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("Seccomp:"))?;
    Some(line.trim() == "2")
}

fn limit(resource: libc::__rlimit_resource_t) -> Option<u64> {
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: `limit` is a valid place for the answer.
    let rc = unsafe { libc::getrlimit(resource, &mut limit) };
    (rc == 0 && limit.rlim_cur != libc::RLIM_INFINITY).then_some(limit.rlim_cur)
}
