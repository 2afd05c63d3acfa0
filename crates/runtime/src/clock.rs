//! The operating system's monotonic clock; everything else asks `time::now`.

/// Nanoseconds of the monotonic clock.
pub(crate) fn monotonic_ns() -> u64 {
    let mut spec = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `spec` is a valid place for the answer.
    let rc = unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &mut spec) };
    assert_eq!(rc, 0, "the monotonic clock always answers");
    spec.tv_sec as u64 * 1_000_000_000 + spec.tv_nsec as u64
}
