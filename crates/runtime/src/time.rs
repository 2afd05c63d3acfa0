//! Clock and timers; simulated runs have their own.

use std::future::Future;
use std::ops::{Add, Sub};
use std::pin::{Pin, pin};
use std::task::{Context, Poll};
pub use std::time::Duration;

use stdx::Key;

use crate::clock::monotonic_ns;
use crate::worker::{self, Worker};

/// A moment of the monotonic (or simulated) clock, in nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Instant(u64);

impl Instant {
    /// Nanoseconds since the clock's arbitrary origin.
    pub fn as_ns(self) -> u64 {
        self.0
    }

    /// The time since this moment.
    pub fn elapsed(self) -> Duration {
        now() - self
    }
}

impl Add<Duration> for Instant {
    type Output = Instant;

    fn add(self, duration: Duration) -> Instant {
        let ns = u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX);
        Instant(self.0.saturating_add(ns))
    }
}

impl Sub for Instant {
    type Output = Duration;

    fn sub(self, earlier: Instant) -> Duration {
        Duration::from_nanos(self.0.saturating_sub(earlier.0))
    }
}

/// The current moment: of the simulation inside of one, else of the system.
pub fn now() -> Instant {
    Instant(worker::try_with(|w| w.now_ns()).unwrap_or_else(monotonic_ns))
}

/// Processor time that this thread has used; none in a simulation.
pub fn thread_cpu() -> Duration {
    match worker::try_with(Worker::simulated_ns).flatten() {
        Some(_) => Duration::ZERO,
        None => Duration::from_nanos(crate::clock::thread_ns()),
    }
}

/// Processor time that this process has used, with that of the kernel's threads that work for its
/// rings. A measure of programs, not for decisions: a simulation does not repeat it.
pub fn process_cpu() -> Duration {
    crate::clock::process()
}

/// Microseconds since 1970 (UTC) by the wall clock; a simulation counts from the start of 2000.
pub fn unix_us() -> i64 {
    const YEAR_2000_US: i64 = 946_684_800_000_000;
    match worker::try_with(Worker::simulated_ns).flatten() {
        Some(ns) => YEAR_2000_US + (ns / 1000) as i64,
        None => crate::clock::unix_us(),
    }
}

/// Waits at least `duration`.
pub fn sleep(duration: Duration) -> Sleep {
    sleep_until(now() + duration)
}

/// Waits until `deadline` or a little longer.
pub fn sleep_until(deadline: Instant) -> Sleep {
    Sleep { deadline, timer: None, local: std::marker::PhantomData }
}

/// See [`sleep`].
pub struct Sleep {
    deadline: Instant,
    timer: Option<(u32, Key)>,
    local: std::marker::PhantomData<*const ()>,
}

impl Future for Sleep {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        worker::with(|w| {
            let Some((id, timer)) = self.timer else {
                let timer = w.timers.borrow_mut().set(self.deadline.0, cx.waker().clone());
                self.timer = Some((w.id, timer));
                return Poll::Pending;
            };
            assert_eq!(w.id, id, "a timer is awaited on its own worker");
            let old = w.timers.borrow_mut().update(timer, cx.waker());
            if old.is_some() { Poll::Pending } else { Poll::Ready(()) }
        })
    }
}

impl Drop for Sleep {
    fn drop(&mut self) {
        if let Some((id, timer)) = self.timer {
            let cancel = |w: &Worker| (w.id == id).then(|| w.timers.borrow_mut().cancel(timer));
            // The waker is dropped here, with nothing borrowed.
            drop(worker::try_with(cancel));
        }
    }
}

/// The time was up first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Elapsed;

impl std::fmt::Display for Elapsed {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("the time was up")
    }
}

impl std::error::Error for Elapsed {}

/// Runs a future for at most `duration`; after that it is dropped.
pub async fn timeout<F: Future>(duration: Duration, future: F) -> Result<F::Output, Elapsed> {
    let mut sleep = sleep(duration);
    let mut future = pin!(future);
    std::future::poll_fn(move |cx| {
        if let Poll::Ready(output) = future.as_mut().poll(cx) {
            return Poll::Ready(Ok(output));
        }
        Pin::new(&mut sleep).poll(cx).map(|()| Err(Elapsed))
    })
    .await
}
