//! Waits for sockets: operations of workers that end when a call would have an answer.

use stdx::Key;

use super::State;
use super::end::SocketId;
use super::events::Event;
use crate::net::interest::Interest;

/// The event that an operation waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Awaited {
    /// That a call would have an answer.
    Ready(Interest),
    /// That the peer has received so many bytes, counted from the first: their memory is free then.
    Received(u64),
}

impl State {
    /// Whether a call would have an answer. One on a socket that is no more has: an error.
    fn is_ready(&self, id: SocketId, awaited: Awaited) -> bool {
        if let Some(end) = self.ends.get(&id) {
            return match awaited {
                Awaited::Ready(interest) => end.is_ready(interest),
                Awaited::Received(count) => end.is_received(count),
            };
        }
        self.listeners.get(id).is_none_or(|listener| !listener.pending.is_empty())
    }

    pub(super) fn wait(&mut self, id: SocketId, worker: usize, key: Key, awaited: Awaited) {
        if self.is_ready(id, awaited) {
            self.soon(Event::Woken { worker, key, error: None });
        } else {
            let other = self.waits.insert((id, worker, key), awaited);
            assert!(other.is_none(), "an operation waits once");
        }
    }

    /// Ends the waits that have come to their end.
    pub(super) fn wake(&mut self, id: SocketId) {
        let all = (id, 0, Key::from_u64(0))..=(id, usize::MAX, Key::from_u64(u64::MAX));
        let waits = self.waits.range(all).map(|(place, awaited)| (*place, *awaited));
        let over = waits.filter(|(_, awaited)| self.is_ready(id, *awaited));
        let over: Vec<_> = over.map(|(place, _)| place).collect();
        for place in over {
            self.waits.remove(&place);
            let (_, worker, key) = place;
            self.soon(Event::Woken { worker, key, error: None });
        }
    }

    /// Ends a wait with ECANCELED, unless it has ended already.
    pub(super) fn cancel(&mut self, worker: usize, key: Key) {
        let place = self.waits.keys().find(|place| (place.1, place.2) == (worker, key)).copied();
        if let Some(place) = place {
            self.waits.remove(&place);
            self.soon(Event::Woken { worker, key, error: Some(libc::ECANCELED) });
        }
    }
}
