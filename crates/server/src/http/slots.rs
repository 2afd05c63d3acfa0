//! The slots of HTTP connections. Whoever comes gets one: when all are taken, the connection that
//! has kept its task waiting for longest, with half a request or with none, has to leave.
//!
//! So no number of half requests keeps a probe of `/healthz` or a scraper out.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use runtime::net::{Shutdown, Socket};

/// Connections at once; a browser opens six, a scraper one.
const CONNECTION_COUNT_MAX: usize = 256;

/// The connections of a server.
#[derive(Default)]
pub(super) struct Slots(Mutex<Known>);

#[derive(Default)]
struct Known {
    /// The last number that was given: to a connection, or to a wait.
    last: u64,
    connections: BTreeMap<u64, Connection>,
}

struct Connection {
    socket: Socket,
    /// The number of its wait for the client; `None` while the server has something to do for it.
    wait: Option<u64>,
}

/// A connection that counts.
pub(super) struct Slot {
    slots: Arc<Slots>,
    number: u64,
}

impl Drop for Slot {
    fn drop(&mut self) {
        self.slots.known().connections.remove(&self.number);
    }
}

impl Known {
    fn next(&mut self) -> u64 {
        self.last += 1;
        self.last
    }

    /// Sends the connection away that has waited for its client for longest; whether there was one.
    fn evict(&mut self) -> bool {
        let waiting = self.connections.iter().filter_map(|(at, known)| Some((known.wait?, *at)));
        let Some((_, number)) = waiting.min() else { return false };
        if let Some(evicted) = self.connections.remove(&number) {
            // Its task finds the stream at its end, and goes.
            evicted.socket.shutdown(Shutdown::Both).ok();
        }
        true
    }
}

impl Slots {
    fn known(&self) -> MutexGuard<'_, Known> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A slot for a new connection; `None` when all are taken by clients that are being answered.
    pub fn enter(self: &Arc<Self>, socket: &Socket) -> Option<Slot> {
        let mut known = self.known();
        if known.connections.len() >= CONNECTION_COUNT_MAX && !known.evict() {
            return None;
        }
        let number = known.next();
        let connection = Connection { socket: socket.clone(), wait: Some(number) };
        known.connections.insert(number, connection);
        Some(Slot { slots: self.clone(), number })
    }
}

impl Slot {
    /// From now on the connection waits for its client.
    pub fn wait(&self) {
        let mut known = self.slots.known();
        let wait = known.next();
        self.set(&mut known, Some(wait));
    }

    /// From now on the server works for it.
    pub fn work(&self) {
        self.set(&mut self.slots.known(), None);
    }

    fn set(&self, known: &mut Known, wait: Option<u64>) {
        // One that was sent away is not known any more.
        if let Some(connection) = known.connections.get_mut(&self.number) {
            connection.wait = wait;
        }
    }
}
