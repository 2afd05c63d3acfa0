//! How much of everything there may be, and how long it may take.

use runtime::time::Duration;

use crate::error::{Error, Result};

/// The limits of a client.
#[derive(Clone, Debug)]
pub struct Limits {
    /// Requests in flight to one endpoint; more wait in line. By the paper's model 200 to 250 fill
    /// 100 Gbit/s (section 2.8).
    pub requests_max: usize,
    /// Fewer are in flight where the paper's model says that more are of no use, with the latencies and
    /// the throughput of this endpoint as they are measured.
    pub adapts: bool,
    /// Connections kept for the next request, for each endpoint; four times that for all together.
    pub idle_connections_max: usize,
    /// From the call to its end, all attempts together.
    pub request_timeout: Duration,
    /// One attempt, beside the time that its bytes take at [`Limits::rate_min`].
    pub attempt_timeout: Duration,
    /// Until a connection is made.
    pub connect_timeout: Duration,
    /// Until the first byte of an answer, after the request was sent.
    pub first_byte_timeout: Duration,
    /// So long no more than [`Limits::rate_min`] may come of a body.
    pub stall_timeout: Duration,
    /// Bytes a second below which a connection is as good as dead.
    pub rate_min: u64,
    /// The first pause before a request is repeated is at most this long, each further one twice as
    /// long; all are drawn between nothing and that ("full jitter").
    pub backoff_base: Duration,
    /// And never longer than this.
    pub backoff_max: Duration,
    /// Repetitions that may be owed: each one takes a piece of this, each success gives
    /// [`Limits::retry_share`] back, so that a store in trouble is not asked ever more.
    pub retry_budget: u32,
    /// Repetitions for each success in the long run.
    pub retry_share: f64,
    /// Slow gets that are begun again on another connection, for each get in the long run; 0 for none.
    pub restart_share: f64,
    /// The body of an object whose size the caller does not say, at most.
    pub body_bytes_max: usize,
    /// Received bytes that wake a worker: fewer wakes for more memory of the kernel.
    pub wake_bytes: usize,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits {
            requests_max: 256,
            adapts: true,
            idle_connections_max: 256,
            request_timeout: Duration::from_secs(300),
            attempt_timeout: Duration::from_secs(30),
            connect_timeout: Duration::from_secs(5),
            first_byte_timeout: Duration::from_secs(15),
            stall_timeout: Duration::from_secs(5),
            rate_min: 32 << 10,
            backoff_base: Duration::from_millis(50),
            backoff_max: Duration::from_secs(10),
            retry_budget: 500,
            retry_share: 0.5,
            restart_share: 0.05,
            body_bytes_max: 1 << 30,
            wake_bytes: 512 << 10,
        }
    }
}

impl Limits {
    pub(crate) fn check(&self) -> Result<()> {
        let counts = [self.requests_max, self.body_bytes_max, self.wake_bytes];
        let times = [
            self.request_timeout,
            self.attempt_timeout,
            self.connect_timeout,
            self.first_byte_timeout,
            self.stall_timeout,
        ];
        if counts.contains(&0) || self.rate_min == 0 || times.contains(&Duration::ZERO) {
            return Err(Error::invalid("limits are above 0"));
        }
        let shares = [self.retry_share, self.restart_share];
        match shares.iter().all(|share| (0.0..=1.0).contains(share)) {
            true => Ok(()),
            false => Err(Error::invalid("the shares of repetitions are between 0 and 1")),
        }
    }
}
