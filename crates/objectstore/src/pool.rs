//! Connections that wait for their next request, by endpoint.

use std::collections::BTreeMap;
use std::sync::Mutex;

use runtime::time::{self, Duration, Instant};

use crate::connection::Connection;
use crate::location::Endpoint;
use crate::lock::lock;

/// Stores close connections that are idle for 5 to 20 s; ours go first, since a request on one that is
/// closed already has to be sent again.
const IDLE_MAX: Duration = Duration::from_secs(4);

/// So often all endpoints are looked at for connections that have waited for too long.
const SWEEP_PAUSE: Duration = Duration::from_secs(1);

/// Endpoints that may have as many idle connections as one: all together have no more than so many times
/// that.
const ENDPOINTS_FULL: usize = 4;

/// Idle connections. The newest is taken first, so that the number of them follows the need.
pub(crate) struct Pool {
    idle: Mutex<Idle>,
    idle_count_max: usize,
}

#[derive(Default)]
struct Idle {
    /// By endpoint, the oldest first; none is empty.
    waiting: BTreeMap<Endpoint, Vec<Connection>>,
    count: usize,
    swept: Option<Instant>,
}

impl Idle {
    fn take_newest(&mut self, endpoint: &Endpoint) -> Option<Connection> {
        let waiting = self.waiting.get_mut(endpoint)?;
        let taken = waiting.pop();
        if waiting.is_empty() {
            self.waiting.remove(endpoint);
        }
        self.count -= usize::from(taken.is_some());
        taken
    }

    fn take_oldest(&mut self, endpoint: &Endpoint) -> Option<Connection> {
        let waiting = self.waiting.get_mut(endpoint).filter(|waiting| !waiting.is_empty())?;
        self.count -= 1;
        Some(waiting.remove(0))
    }

    /// Those that have waited for too long, at any endpoint; none when that was looked for just now.
    fn sweep(&mut self) -> Vec<Connection> {
        if self.swept.is_some_and(|swept| swept.elapsed() < SWEEP_PAUSE) {
            return Vec::new();
        }
        self.swept = Some(time::now());
        let mut old = Vec::new();
        let is_old = |connection: &Connection| connection.idle_since.elapsed() > IDLE_MAX;
        for waiting in self.waiting.values_mut() {
            let count = waiting.iter().take_while(|connection| is_old(connection)).count();
            old.extend(waiting.drain(..count));
        }
        self.waiting.retain(|_, waiting| !waiting.is_empty());
        self.count -= old.len();
        old
    }
}

impl Pool {
    /// At most `idle_count_max` for each endpoint, and a few times that for all.
    pub(crate) fn new(idle_count_max: usize) -> Pool {
        Pool { idle: Mutex::default(), idle_count_max }
    }

    /// A connection that was used before, and on which nothing has come since: no end, and no bytes
    /// either, which would be taken for the answer to the next request.
    pub(crate) fn take(&self, endpoint: &Endpoint) -> Option<Connection> {
        loop {
            // Looking and closing are system calls: with nothing locked.
            let taken = lock(&self.idle).take_newest(endpoint)?;
            if taken.idle_since.elapsed() <= IDLE_MAX && taken.is_quiet() {
                return Some(taken);
            }
        }
    }

    /// Keeps a connection for the next request, and closes those that nobody has wanted for long.
    pub(crate) fn give_back(&self, endpoint: &Endpoint, mut connection: Connection) {
        connection.idle_since = time::now();
        connection.served += 1;
        let (old, surplus) = {
            let mut idle = lock(&self.idle);
            let old = idle.sweep();
            let is_full = idle.count >= self.idle_count_max * ENDPOINTS_FULL;
            let own = idle.waiting.get(endpoint).map_or(0, Vec::len);
            let mut surplus = None;
            if is_full || own >= self.idle_count_max {
                surplus = idle.take_oldest(endpoint);
            }
            if own == 0 && is_full || self.idle_count_max == 0 {
                surplus = Some(connection);
            } else {
                idle.waiting.entry(endpoint.clone()).or_default().push(connection);
                idle.count += 1;
            }
            (old, surplus)
        };
        drop((old, surplus));
    }

    /// Closes all.
    pub(crate) fn clear(&self) {
        let all = std::mem::take(&mut *lock(&self.idle));
        drop(all);
    }

    /// Connections that wait now.
    pub(crate) fn idle_count(&self) -> usize {
        lock(&self.idle).count
    }
}
