//! Why io_uring was refused, in words.

use std::io;

/// The likely cause of a failed `io_uring_setup`.
pub(crate) fn explain_refusal(error: &io::Error) -> String {
    let sysctl = std::fs::read_to_string("/proc/sys/kernel/io_uring_disabled");
    let disabled = sysctl.ok().and_then(|text| text.trim().parse::<u32>().ok());
    let cause = match (error.raw_os_error(), disabled) {
        (Some(libc::EPERM), Some(2)) => "switched off: sysctl kernel.io_uring_disabled = 2",
        (Some(libc::EPERM), Some(1)) => {
            "only for privileged processes: sysctl kernel.io_uring_disabled = 1"
        }
        (Some(libc::EPERM | libc::EACCES), _) => {
            "denied, probably by the container's seccomp profile"
        }
        (Some(libc::ENOSYS), _) => "not in this kernel, or denied by a seccomp profile",
        (Some(libc::ENOMEM), _) => "no memory: the locked-memory limit may be too low",
        (Some(libc::EMFILE | libc::ENFILE), _) => "too many open files",
        _ => "refused",
    };
    format!("{cause} ({error})")
}
