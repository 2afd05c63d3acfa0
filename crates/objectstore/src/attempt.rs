//! One attempt of a request: a connection, an exchange, and what the answer means.

use std::io;
use std::sync::atomic::Ordering::Relaxed;

use runtime::time::{self, Duration, Instant};

use crate::connection::Connection;
use crate::credentials::Credentials;
use crate::error::{Error, ErrorKind, Result};
use crate::http::{self, Answer, Head, Pace, Request, Sink, Times};
use crate::operation::Operation;
use crate::restart::Turn;
use crate::store::Store;

/// When an attempt must be over.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Until<'a> {
    /// The end of the request.
    pub(crate) request: Instant,
    /// When the attempt may be given up for another one that may be faster.
    pub(crate) turn: Option<&'a Turn<'a>>,
    /// Bytes that go one way or the other, as far as that is known.
    pub(crate) byte_count: u64,
}

impl<'a> Until<'a> {
    fn times(&self, store: &Store) -> Times<'a> {
        let limits = &store.client().limits;
        let now = time::now();
        let bytes_time = Duration::from_secs_f64(self.byte_count as f64 / limits.rate_min as f64);
        let deadline = self.request.min(now + (limits.attempt_timeout + bytes_time));
        let pace = Pace {
            deadline,
            latest: self.request,
            counted: self.byte_count,
            turn: self.turn,
            stall: limits.stall_timeout,
            rate_min: limits.rate_min,
            wake_bytes: limits.wake_bytes,
        };
        Times { first_byte: limits.first_byte_timeout, pace }
    }
}

impl Store {
    /// Makes one attempt, and another one at once when credentials that can be renewed have expired.
    /// The answer is a success; all else is an error.
    pub(crate) async fn attempt(
        &self,
        operation: &Operation<'_>,
        sink: &mut Sink,
        until: &Until<'_>,
        admit: impl Fn(&Head, &mut Sink) -> Result<()>,
    ) -> std::result::Result<Answer, (Error, Option<Head>)> {
        let mut is_first = true;
        loop {
            let who = self.credentials().current(until.request).await;
            let who = who.map_err(|error| (error, None))?;
            let done = self.attempt_as(who.credentials(), operation, sink, until, &admit).await;
            match &done {
                Err((error, _)) if is_first && error.says_expired() && who.renew() => {
                    is_first = false;
                }
                _ => return done,
            }
        }
    }

    async fn attempt_as(
        &self,
        credentials: &Credentials,
        operation: &Operation<'_>,
        sink: &mut Sink,
        until: &Until<'_>,
        admit: impl Fn(&Head, &mut Sink) -> Result<()>,
    ) -> std::result::Result<Answer, (Error, Option<Head>)> {
        let unix_s = time::unix_us().div_euclid(1_000_000);
        let request = self.provider().request(operation, credentials, unix_s);
        let request = request.map_err(|error| (error, None))?;
        let before = sink.count() as u64;
        let mut reused = self.client().pool.take(self.provider().endpoint());
        loop {
            let was_used = reused.is_some();
            let connection = match reused.take() {
                Some(connection) => connection,
                None => self.connect(until).await.map_err(|error| (error, None))?,
            };
            let begun = time::now();
            match self.exchange(connection, &request, sink, until, &admit).await {
                Ok(answer) => {
                    if matches!(operation, Operation::Get { .. }) {
                        self.learn(sink.count() as u64 - before, begun);
                    }
                    return Ok(answer);
                }
                // The store may have closed it while it was idle: that says nothing about the store.
                Err((failure, true)) if was_used && is_stale(operation, &failure.0, until) => {}
                Err((failure, _)) => return Err(failure),
            }
        }
    }

    /// Learns from a get how many are worth having in flight.
    fn learn(&self, byte_count: u64, begun: Instant) {
        let (now, gate) = (time::now(), self.gate());
        let worth = gate.concurrency.note(byte_count, now - begun, now);
        if let Some(worth) = worth.filter(|_| self.client().limits.adapts) {
            gate.throttle.set_worth(worth);
        }
    }

    /// One exchange; with an error comes whether nothing of an answer had come.
    async fn exchange(
        &self,
        mut connection: Connection,
        request: &Request<'_>,
        sink: &mut Sink,
        until: &Until<'_>,
        admit: impl Fn(&Head, &mut Sink) -> Result<()>,
    ) -> std::result::Result<Answer, ((Error, Option<Head>), bool)> {
        let (client, endpoint) = (self.client(), self.provider().endpoint());
        let (times, peer, begun) = (until.times(self), connection.peer.ip(), time::now());
        self.note(1, 0);
        client.counters.sent_bytes.fetch_add(request.body_len() as u64, Relaxed);
        let before = sink.count();
        let done = http::exchange(&mut connection, request, sink, &times, admit).await;
        let came = (sink.count() - before.min(sink.count())) as u64;
        self.note(0, came);
        match done {
            Ok(answer) => {
                let seconds = begun.elapsed().as_secs_f64();
                match came >= RATED_BYTES_MIN && seconds > 0.0 {
                    true => {
                        let segment_bytes = connection.segment_bytes();
                        client.resolver.note_rate(endpoint, peer, came as f64 / seconds);
                        client.note_segments(endpoint, peer, segment_bytes);
                    }
                    false => client.resolver.note_success(endpoint, peer),
                }
                if answer.keeps {
                    client.pool.give_back(endpoint, connection);
                }
                match answer.head.status {
                    200..=299 => Ok(answer),
                    _ => {
                        let error = self.provider().complaint(&answer.head, &answer.complaint);
                        Err(((error, Some(answer.head)), false))
                    }
                }
            }
            Err(failure) => {
                let is_silent = failure.stage == http::Stage::Silent;
                let seconds = begun.elapsed().as_secs_f64();
                if came >= RATED_BYTES_MIN && seconds > 0.0 {
                    client.resolver.note_rate(endpoint, peer, came as f64 / seconds);
                }
                if is_silent && connection.served == 0 {
                    client.resolver.note_failure(endpoint, peer);
                }
                Err(((failure.error, failure.head), is_silent))
            }
        }
    }

    /// A new connection.
    async fn connect(&self, until: &Until<'_>) -> Result<Connection> {
        let (client, endpoint) = (self.client(), self.provider().endpoint());
        let most = time::now() + client.limits.connect_timeout;
        let deadline = most.min(until.request);
        let chosen = client.resolver.choose(endpoint, &client.allow);
        let Ok(chosen) = time::timeout(deadline - time::now(), chosen).await else {
            let what = format!("the address of {endpoint} was not found in time");
            return Err(Error::new(ErrorKind::TimedOut, what));
        };
        let peer = chosen?;
        let secure = endpoint.is_secure.then_some((&client.tls, self.tls_name()));
        let opening = Connection::open(peer, secure, deadline);
        let opened = match until.turn {
            None => opening.await,
            Some(turn) => {
                turn.wait(opening).await.unwrap_or_else(|| Err(io::ErrorKind::TimedOut.into()))
            }
        };
        match opened {
            Ok(connection) => {
                client.counters.connections.fetch_add(1, Relaxed);
                Ok(connection)
            }
            Err(error) => {
                client.resolver.note_failure(endpoint, peer.ip());
                let what = format!("connecting to {endpoint} ({peer})");
                Err(match error.kind() {
                    io::ErrorKind::InvalidData => {
                        Error::new(ErrorKind::Untrusted, format!("{what}: {error}"))
                    }
                    _ => Error::io(&what, &error),
                })
            }
        }
    }
}

/// Fewer bytes than this say more about latency than about the rate.
const RATED_BYTES_MIN: u64 = 1 << 20;

/// Whether a failure on a connection that was used before is to be tried on a new one at once.
fn is_stale(operation: &Operation<'_>, error: &Error, until: &Until<'_>) -> bool {
    let is_broken = error.kind() == ErrorKind::Connection;
    is_broken && operation.is_idempotent() && until.request > time::now()
}
