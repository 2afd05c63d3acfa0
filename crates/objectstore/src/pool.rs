//! Connections that wait for their next request, by endpoint.

use std::collections::BTreeMap;
use std::sync::Mutex;

use runtime::time::{self, Duration};

use crate::connection::Connection;
use crate::location::Endpoint;
use crate::lock;

/// Stores close connections that are idle for 5 to 20 s; ours go first, since a request on one that is
/// closed already has to be sent again.
const IDLE_MAX: Duration = Duration::from_secs(4);

/// Idle connections. The newest is taken first, so that the number of them follows the need.
pub(crate) struct Pool {
    idle: Mutex<BTreeMap<Endpoint, Vec<Connection>>>,
    idle_count_max: usize,
}

impl Pool {
    /// At most `idle_count_max` for each endpoint.
    pub(crate) fn new(idle_count_max: usize) -> Pool {
        Pool { idle: Mutex::default(), idle_count_max }
    }

    /// A connection that was used before.
    pub(crate) fn take(&self, endpoint: &Endpoint) -> Option<Connection> {
        let (taken, old) = {
            let mut idle = lock(&self.idle);
            let waiting = idle.get_mut(endpoint)?;
            let is_old = |connection: &Connection| connection.idle_since.elapsed() > IDLE_MAX;
            let old_count = waiting.iter().take_while(|connection| is_old(connection)).count();
            let old: Vec<Connection> = waiting.drain(..old_count).collect();
            (waiting.pop(), old)
        };
        // Closing is a system call each: with nothing locked.
        drop(old);
        taken
    }

    /// Keeps a connection for the next request.
    pub(crate) fn give_back(&self, endpoint: &Endpoint, mut connection: Connection) {
        connection.idle_since = time::now();
        connection.served += 1;
        let surplus = {
            let mut idle = lock(&self.idle);
            let waiting = idle.entry(endpoint.clone()).or_default();
            waiting.push(connection);
            (waiting.len() > self.idle_count_max).then(|| waiting.remove(0))
        };
        drop(surplus);
    }

    /// Closes all.
    pub(crate) fn clear(&self) {
        let all = std::mem::take(&mut *lock(&self.idle));
        drop(all);
    }

    /// Connections that wait now.
    pub(crate) fn idle_count(&self) -> usize {
        lock(&self.idle).values().map(Vec::len).sum()
    }
}
