//! What happens in the network of itself, in the order of time: attempts, segments, resets, wakes.

use std::collections::BTreeMap;

use stdx::Key;

use super::end::SocketId;
use crate::net::address::Address;

pub(super) enum Event {
    /// A connection attempt reaches the address.
    Knocked { from: SocketId, to: Address, tries: u32 },
    /// The answer to the attempt: accepted, or the error.
    Answered { to: SocketId, error: Option<i32> },
    /// A segment is on the link: it makes room for the next.
    Departed { from: SocketId, bytes: Vec<u8> },
    /// A segment is there.
    Arrived { to: SocketId, bytes: Vec<u8> },
    /// Nothing more comes from the peer.
    Ended { to: SocketId },
    /// The peer has received so many bytes.
    Taken { to: SocketId, count: usize },
    /// The connection is no more, for this reason.
    Broken { to: SocketId, error: i32 },
    /// The moment of a fault: both ends are told soon, or nobody.
    Struck { connector: SocketId, is_told: bool },
    /// A wait of a worker ends.
    Woken { worker: usize, key: Key, error: Option<i32> },
    /// Bytes lent to the network are looked at.
    Lent { worker: usize, key: Key },
}

impl Event {
    /// What the trace notes of it.
    pub(super) fn words(&self) -> [u64; 3] {
        let code = |error: &Option<i32>| error.unwrap_or(0) as u64;
        match self {
            Event::Knocked { from, tries, .. } => [20, from.0, u64::from(*tries)],
            Event::Answered { to, error } => [21, to.0, code(error)],
            Event::Departed { from, bytes } => [22, from.0, bytes.len() as u64],
            Event::Arrived { to, bytes } => [23, to.0, bytes.len() as u64],
            Event::Ended { to } => [24, to.0, 0],
            Event::Taken { to, count } => [25, to.0, *count as u64],
            Event::Broken { to, error } => [26, to.0, *error as u64],
            Event::Struck { connector, is_told } => [27, connector.0, u64::from(*is_told)],
            Event::Woken { worker, key, error } => {
                [28, (*worker as u64) << 32 | u64::from(key.slot()), code(error)]
            }
            Event::Lent { worker, key } => [29, *worker as u64, u64::from(key.slot())],
        }
    }
}

/// Events by the moment when they happen, equal times in random order.
#[derive(Default)]
pub(super) struct Events {
    queue: BTreeMap<(u64, u64, u64), Event>,
    count: u64,
}

impl Events {
    pub(super) fn add(&mut self, due_ns: u64, tie: u64, event: Event) {
        self.count += 1;
        self.queue.insert((due_ns, tie, self.count), event);
    }

    /// The moment of the next.
    pub(super) fn next_ns(&self) -> Option<u64> {
        self.queue.first_key_value().map(|(place, _)| place.0)
    }

    /// Takes the next that has happened by `now_ns`, and its moment.
    pub(super) fn pop(&mut self, now_ns: u64) -> Option<(u64, Event)> {
        let first = self.queue.first_entry().filter(|entry| entry.key().0 <= now_ns)?;
        let due_ns = first.key().0;
        Some((due_ns, first.remove()))
    }
}
