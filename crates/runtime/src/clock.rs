//! The operating system's clocks; everything else asks `time`.

use std::time::Duration;

/// Nanoseconds of the monotonic clock.
pub(crate) fn monotonic_ns() -> u64 {
    let mut spec = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `spec` is a valid place for the answer.
    let rc = unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &mut spec) };
    assert_eq!(rc, 0, "the monotonic clock always answers");
    spec.tv_sec as u64 * 1_000_000_000 + spec.tv_nsec as u64
}

/// Nanoseconds of the monotonic clock at its last step, some milliseconds ago at most: a read of
/// memory instead of the processor's counter.
#[inline]
pub(crate) fn stepped_ns() -> u64 {
    let mut spec = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `spec` is a valid place for the answer.
    let rc = unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC_COARSE, &mut spec) };
    assert_eq!(rc, 0, "the monotonic clock always answers");
    spec.tv_sec as u64 * 1_000_000_000 + spec.tv_nsec as u64
}

/// Nanoseconds of processor time that this thread has used.
pub(crate) fn thread_ns() -> u64 {
    let mut spec = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `spec` is a valid place for the answer.
    let rc = unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &mut spec) };
    assert_eq!(rc, 0, "the clock of a thread always answers");
    spec.tv_sec as u64 * 1_000_000_000 + spec.tv_nsec as u64
}

/// Processor time that this process has used, with that of the kernel's threads for its rings.
pub(crate) fn process() -> Duration {
    let mut spec = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `spec` is a valid place for the answer.
    let rc = unsafe { libc::clock_gettime(libc::CLOCK_PROCESS_CPUTIME_ID, &mut spec) };
    assert_eq!(rc, 0, "the clock of a process always answers");
    Duration::new(spec.tv_sec as u64, spec.tv_nsec as u32)
}

/// Microseconds since 1970 (UTC).
pub(crate) fn unix_us() -> i64 {
    let mut spec = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `spec` is a valid place for the answer.
    let rc = unsafe { libc::clock_gettime(libc::CLOCK_REALTIME, &mut spec) };
    assert_eq!(rc, 0, "the wall clock always answers");
    spec.tv_sec * 1_000_000 + spec.tv_nsec / 1000
}
