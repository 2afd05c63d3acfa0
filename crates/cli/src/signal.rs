//! Signals, taken by a thread that waits for them: no code ever runs inside of a handler.

use std::time::Duration;

/// Keeps `signals` from this thread and all that it starts from now on.
pub fn block(signals: &[i32]) -> libc::sigset_t {
    // SAFETY: `sigset_t` is plain data, filled by sigemptyset before it is read; all pointers are
    // to live locals, and a null third argument of pthread_sigmask is allowed.
    unsafe {
        let mut set: libc::sigset_t = std::mem::zeroed();
        libc::sigemptyset(&mut set);
        for signal in signals {
            libc::sigaddset(&mut set, *signal);
        }
        libc::pthread_sigmask(libc::SIG_BLOCK, &set, std::ptr::null_mut());
        set
    }
}

/// Waits for one of the blocked signals; which it was.
pub fn wait(signals: &libc::sigset_t) -> i32 {
    let mut signal = 0;
    // SAFETY: both pointers are to live values.
    unsafe { libc::sigwait(signals, &mut signal) };
    signal
}

/// The same for as long as `limit` at most, which is below a second.
pub fn wait_within(signals: &libc::sigset_t, limit: Duration) -> Option<i32> {
    let limit = libc::timespec { tv_sec: 0, tv_nsec: limit.subsec_nanos().into() };
    // SAFETY: the pointers are to live values, and null says that nobody asks for more.
    let signal = unsafe { libc::sigtimedwait(signals, std::ptr::null_mut(), &limit) };
    (signal > 0).then_some(signal)
}
