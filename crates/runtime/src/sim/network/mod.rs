//! The simulated network: streams between sockets of one machine, with latency, rate and bounded
//! buffers, which are refused, reset and lost as its plan says, all by the seed.
//!
//! A stream behaves as one over TCP: bytes arrive in order and whole, or the connection ends with an
//! error. `calls` has what programs ask, `delivery` what happens then; both work on the ends of
//! connections (`end`) and on events in the order of time (`events`).

mod calls;
mod delivery;
mod end;
pub(crate) mod endpoint;
mod events;
mod listeners;
pub(crate) mod plan;
mod waits;

use std::collections::BTreeMap;
use std::fmt;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard};

use stdx::{Key, Prng};

use super::trace::Trace;
use crate::lock::lock;
use crate::net::interest::Interest;
use crate::net::node::Node;
use crate::op::Op;
use end::{End, SocketId};
use events::{Event, Events};
use listeners::Listeners;
use plan::{Link, NetworkFaults};
use waits::Awaited;

/// What is mixed into the seed of the disk, so that the network has chances of its own.
const SEED: u64 = 0x006E_6574_776F_726B;

/// A call of a program that waits is answered within so many nanoseconds after its cause.
const WAKE_NS: u64 = 5_000;

/// The network of a simulated machine, which has the clients too. Clones are the same network. It
/// belongs to the runtime that uses its disk; when that stops, all sockets are gone.
#[derive(Clone)]
pub struct Network(Arc<Mutex<State>>);

struct State {
    prng: Prng,
    trace: Trace,
    link: Link,
    faults: NetworkFaults,
    now_ns: u64,
    events: Events,
    ends: BTreeMap<SocketId, End>,
    listeners: Listeners,
    /// Who waits for which socket: the worker and its operation.
    waits: BTreeMap<(SocketId, usize, Key), Awaited>,
    /// The number of the last socket.
    last_id: u64,
    spare_count: usize,
    names: BTreeMap<String, Vec<IpAddr>>,
    /// The machine has died: nothing passes any more.
    is_down: bool,
    /// Which bytes pass is not part of the fingerprint.
    is_sealed: bool,
}

/// What the machine has to do for the network.
pub(super) enum Due {
    /// A wait has ended; with this error, if there is one.
    Woken(usize, Key, Option<i32>),
    /// Bytes that an operation lends are to be sent now.
    Lent(usize, Key),
}

impl fmt::Debug for Network {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Network({} sockets)", self.socket_count())
    }
}

impl Network {
    pub(super) fn new(seed: u64) -> Network {
        Network(Arc::new(Mutex::new(State {
            prng: Prng::new(seed ^ SEED),
            trace: Trace::default(),
            link: Link::default(),
            faults: NetworkFaults::default(),
            now_ns: 0,
            events: Events::default(),
            ends: BTreeMap::new(),
            listeners: Listeners::default(),
            waits: BTreeMap::new(),
            last_id: 0,
            spare_count: 0,
            names: BTreeMap::new(),
            is_down: false,
            is_sealed: false,
        })))
    }

    /// What connections are like that are begun from now on.
    ///
    /// # Panics
    /// When the rate or a size is 0.
    pub fn link(&self, link: Link) {
        let sizes = [link.send_bytes_max, link.receive_bytes_max, link.segment_bytes_max];
        assert!(link.rate > 0 && sizes.iter().all(|size| *size > 0), "a link carries bytes");
        self.state().link = link;
    }

    /// What goes wrong from now on.
    pub fn faults(&self, faults: NetworkFaults) {
        self.state().faults = faults;
    }

    /// By which addresses a host is known from now on; none make it unknown.
    pub fn name(&self, host: &str, addresses: &[IpAddr]) {
        self.state().names.insert(host.to_owned(), addresses.to_vec());
    }

    /// What passes from now on is encrypted with keys that do not follow from the seed: how many bytes pass is part
    /// of the fingerprint, which ones is not.
    pub fn sealed(&self) {
        self.state().is_sealed = true;
    }

    /// The addresses that a host is known by.
    pub(crate) fn addresses(&self, host: &str) -> Vec<IpAddr> {
        self.state().names.get(host).cloned().unwrap_or_default()
    }

    /// Sockets that programs hold: listeners, and ends of connections.
    pub fn socket_count(&self) -> usize {
        let state = self.state();
        state.listeners.count() + state.ends.values().filter(|end| end.is_open).count()
    }

    /// Waits for sockets that are under way.
    pub fn wait_count(&self) -> usize {
        self.state().waits.len()
    }

    /// Resets all connections now.
    pub fn reset_all(&self) {
        self.state().strike_all(true);
    }

    /// From now on nothing passes through the connections that there are, and nobody is told.
    pub fn vanish_all(&self) {
        self.state().strike_all(false);
    }

    /// The machine has died: nothing passes, and no attempt is answered.
    pub(super) fn go_down(&self) {
        let mut state = self.state();
        state.is_down = true;
        state.strike_all(false);
    }

    /// The runtime has stopped: no socket is left.
    pub(super) fn clear(&self) {
        let mut state = self.state();
        assert!(state.waits.is_empty(), "who waits for a socket is gone before the network");
        state.ends.clear();
        state.listeners = Listeners::default();
        state.events = Events::default();
        state.now_ns = 0;
    }

    /// A fingerprint of all that has happened.
    pub(super) fn trace_hash(&self) -> u64 {
        self.state().trace.hash()
    }

    fn state(&self) -> MutexGuard<'_, State> {
        lock(&self.0)
    }

    /// Whether this operation is about a socket of this network.
    fn id_of(&self, node: &Node) -> Option<SocketId> {
        match node {
            Node::Sim(end) if Arc::ptr_eq(&end.network.0, &self.0) => Some(end.id),
            Node::Sim(_) | Node::System(_) => None,
        }
    }

    /// Puts an operation about a socket under way.
    pub(super) fn start(&self, worker: usize, key: Key, op: &Op) {
        let (node, interest) = match op {
            Op::Ready(node, interest, _) => (node, Some(*interest)),
            Op::Recv(incoming) => (&incoming.node, Some(Interest::Read)),
            Op::Stream(inflow) => (&inflow.node, Some(Interest::Read)),
            Op::Lend(lending) => (&lending.node, Some(Interest::Write)),
            Op::Connect(attempt) => (&attempt.node, Some(Interest::Write)),
            Op::Send(outgoing) => (&outgoing.node, None),
            _ => unreachable!("files are the disk's"),
        };
        let id = self.id_of(node);
        let mut state = self.state();
        match (id, interest) {
            (Some(id), Some(_)) if op.is_read_on() => {
                let count = state.ends.get(&id).map_or(0, |end| end.entered);
                state.wait(id, worker, key, Awaited::Received(count));
            }
            (Some(id), Some(interest)) => state.wait(id, worker, key, Awaited::Ready(interest)),
            (Some(_), None) => state.soon(Event::Lent { worker, key }),
            (None, _) => state.soon(Event::Woken { worker, key, error: Some(libc::EBADF) }),
        }
    }

    /// Ends a wait early; its completion comes all the same.
    pub(super) fn cancel(&self, worker: usize, key: Key) {
        self.state().cancel(worker, key);
    }

    /// The moment of the next event.
    pub(super) fn next_ns(&self) -> Option<u64> {
        self.state().events.next_ns()
    }

    /// Lets happen what happens until `now_ns`, up to the next thing that the machine has to do.
    pub(super) fn next_due(&self, now_ns: u64) -> Option<Due> {
        let mut state = self.state();
        while let Some((due_ns, event)) = state.events.pop(now_ns) {
            state.now_ns = state.now_ns.max(due_ns);
            if let Some(due) = state.apply(event) {
                return Some(due);
            }
        }
        if now_ns < u64::MAX {
            state.now_ns = state.now_ns.max(now_ns);
        }
        None
    }
}

impl State {
    /// Has an event happen after `delay_ns`.
    fn after(&mut self, delay_ns: u64, event: Event) {
        let tie = self.prng.next_u64();
        self.events.add(self.now_ns.saturating_add(delay_ns), tie, event);
    }

    /// Has an event happen as fast as a worker is told of something.
    fn soon(&mut self, event: Event) {
        let delay_ns = 1 + self.prng.below(WAKE_NS);
        self.after(delay_ns, event);
    }

    fn note(&mut self, words: [u64; 3]) {
        let now_ns = self.now_ns;
        self.trace.note(&words);
        self.trace.note(&[now_ns]);
    }
}
