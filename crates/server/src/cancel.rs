//! The sessions of clients, as other connections and the end of the server see them: a cancel request
//! names one by the key that it was given.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU8, Ordering::SeqCst};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use engine::CancelHandle;
use runtime::net::{Shutdown, Socket};

/// Bytes of the secret in protocol 3.0.
pub(crate) const SHORT: usize = 4;
/// Bytes of the secret from protocol 3.2 on.
pub(crate) const LONG: usize = 32;

/// What names a session to a cancel request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct CancelKey {
    pub process: u32,
    pub secret: Vec<u8>,
}

/// What a client's connection is doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Doing {
    /// It waits for the client, outside of a transaction block.
    Rests,
    /// It waits for the client, within one.
    Waits,
    /// Anything else.
    Works,
}

/// A client's connection, seen from outside of its task.
pub(crate) struct Presence {
    doing: AtomicU8,
    socket: Socket,
    handle: CancelHandle,
    /// Somebody wants the connection to end.
    is_ended: AtomicBool,
}

impl Presence {
    pub fn new(socket: Socket, handle: CancelHandle) -> Arc<Presence> {
        let (doing, is_ended) = (AtomicU8::new(Doing::Works as u8), AtomicBool::new(false));
        Arc::new(Presence { doing, socket, handle, is_ended })
    }

    /// Ends the connection: what runs is cancelled, and the client is told why.
    pub fn end(&self) {
        self.is_ended.store(true, SeqCst);
        self.handle.cancel();
        self.wake();
    }

    /// Whether the connection is to end.
    pub fn is_ended(&self) -> bool {
        self.is_ended.load(SeqCst)
    }

    pub fn set(&self, doing: Doing) {
        self.doing.store(doing as u8, SeqCst);
    }

    /// Has the connection wake up and look around, if it waits for the client.
    fn wake(&self) {
        // What the client has sent by then is still received.
        self.socket.shutdown(Shutdown::Read).ok();
    }
}

/// The sessions of clients.
#[derive(Default)]
pub(crate) struct Sessions(Mutex<Known>);

#[derive(Default)]
struct Known {
    last: u32,
    /// In order, so that a simulated server ends the same way every time.
    sessions: BTreeMap<u32, (Vec<u8>, Arc<Presence>)>,
}

impl Sessions {
    fn known(&self) -> MutexGuard<'_, Known> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Gives a session its key, with a secret of so many bytes.
    pub fn enter(&self, presence: Arc<Presence>, secret_bytes: usize) -> CancelKey {
        let secret = runtime::entropy::<LONG>()[..secret_bytes].to_vec();
        let mut known = self.known();
        // Numbers come round after a long time; those of sessions that are still there stay theirs.
        loop {
            known.last = (known.last + 1) & i32::MAX as u32;
            if known.last != 0 && !known.sessions.contains_key(&known.last) {
                break;
            }
        }
        let process = known.last;
        known.sessions.insert(process, (secret.clone(), presence));
        CancelKey { process, secret }
    }

    pub fn leave(&self, key: &CancelKey) {
        self.known().sessions.remove(&key.process);
    }

    /// Cancels what the session does; a wrong key does nothing and is told nothing.
    pub fn cancel(&self, key: &CancelKey) {
        let known = self.known();
        let Some((secret, presence)) = known.sessions.get(&key.process) else { return };
        if equal(secret, &key.secret) {
            presence.handle.cancel();
        }
    }

    /// Wakes those that rest: they look around and leave.
    pub fn wake_resting(&self) {
        let known = self.known();
        let all = known.sessions.values().map(|(_, presence)| presence);
        all.filter(|p| p.doing.load(SeqCst) == Doing::Rests as u8).for_each(|p| p.wake());
    }

    /// Cancels what runs, and wakes all that wait for their clients.
    pub fn cancel_all(&self) {
        for (_, presence) in self.known().sessions.values() {
            presence.handle.cancel();
            presence.wake();
        }
    }
}

/// Compares in a time that says nothing about where two secrets differ.
fn equal(one: &[u8], other: &[u8]) -> bool {
    let differing = one.iter().zip(other).fold(0, |all, (a, b)| all | (a ^ b));
    one.len() == other.len() && differing == 0
}
