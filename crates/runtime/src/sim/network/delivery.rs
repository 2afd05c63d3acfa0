//! How bytes, ends and resets travel, and what becomes of them where they arrive.

use std::collections::BTreeSet;

use super::end::{End, Phase, SocketId};
use super::events::Event;
use super::{Due, State};
use crate::net::address::Address;
use crate::net::descriptor::BACKLOG;

/// Connection attempts that nobody answers, until the one who tries gives up (as in Linux).
const KNOCK_COUNT_MAX: u32 = 7;

impl State {
    /// Lets an event happen; what the machine has to do, if it is the machine's.
    pub(super) fn apply(&mut self, event: Event) -> Option<Due> {
        self.note(event.words());
        match event {
            Event::Woken { worker, key, error } => return Some(Due::Woken(worker, key, error)),
            Event::Lent { worker, key } => return Some(Due::Lent(worker, key)),
            Event::Knocked { from, to, tries } => self.knocked(from, to, tries),
            Event::Answered { to, error } => self.answered(to, error),
            Event::Departed { from, bytes } => self.departed(from, bytes),
            Event::Arrived { to, bytes } => self.arrived(to, &bytes),
            Event::Ended { to } => self.ended(to),
            Event::Taken { to, count } => self.taken(to, count),
            Event::Broken { to, error } => self.broken(to, error),
            Event::Struck { connector, is_told } => self.struck(connector, is_told),
        }
        None
    }

    /// A connection attempt is accepted, refused, or lost.
    fn knocked(&mut self, from: SocketId, to: Address, tries: u32) {
        let Some(end) = self.ends.get(&from) else { return };
        if end.phase != Phase::Connecting {
            return;
        }
        let (latency_ns, is_cut) = (end.link.latency_ns, end.is_cut);
        let listener = self.listeners.find(&to);
        let is_full = |id| {
            let pending = self.listeners.get(id).map_or(0, |listener| listener.pending.len());
            pending >= BACKLOG as usize
        };
        let is_lost = is_cut || self.is_down || listener.is_some_and(is_full);
        if is_lost || self.prng.chance(self.faults.lost) {
            return self.knock_again(from, to, tries + 1);
        }
        match listener.filter(|_| !self.prng.chance(self.faults.refused)) {
            Some(listener) => self.let_in(from, listener),
            None => {
                let error = Some(libc::ECONNREFUSED);
                self.after(latency_ns, Event::Answered { to: from, error });
            }
        }
    }

    /// An attempt that was lost is repeated after a while, each time a longer one.
    fn knock_again(&mut self, from: SocketId, to: Address, tries: u32) {
        if tries == KNOCK_COUNT_MAX {
            return self.after(0, Event::Answered { to: from, error: Some(libc::ETIMEDOUT) });
        }
        let retransmit_ns = self.ends[&from].link.retransmit_ns;
        let delay_ns = retransmit_ns.saturating_mul(1 << tries);
        self.after(delay_ns, Event::Knocked { from, to, tries });
    }

    /// The other end of a connection is made, to be accepted.
    fn let_in(&mut self, from: SocketId, at: SocketId) {
        let (link, accepted) = (self.ends[&from].link, from.peer());
        let answer_ns = self.now_ns + link.latency_ns;
        self.ends.insert(accepted, End::new(link, Phase::Connected, answer_ns));
        self.listeners.arrive(at, accepted);
        self.wake(at);
        self.after(link.latency_ns, Event::Answered { to: from, error: None });
        self.plan_fault(from);
    }

    /// What befalls a new connection later, if anything.
    fn plan_fault(&mut self, connector: SocketId) {
        let is_told = self.prng.chance(self.faults.reset);
        if is_told || self.prng.chance(self.faults.vanish) {
            let delay_ns = self.prng.below(self.faults.life_ns);
            self.after(delay_ns, Event::Struck { connector, is_told });
        }
    }

    fn answered(&mut self, to: SocketId, error: Option<i32>) {
        let Some(end) = self.ends.get_mut(&to).filter(|end| end.phase == Phase::Connecting) else {
            return;
        };
        match error {
            Some(error) => end.die(error),
            None => end.phase = Phase::Connected,
        }
        let is_open = end.is_open;
        match (is_open, error) {
            (true, _) => self.wake(to),
            (false, Some(_)) => drop(self.ends.remove(&to)),
            (false, None) => self.abandon(to),
        }
    }

    /// Puts the next segment on the link, or tells the peer that nothing more comes.
    pub(super) fn pump(&mut self, from: SocketId) {
        let Some(end) = self.ends.get_mut(&from) else { return };
        if end.phase != Phase::Connected || end.sending > 0 || end.end_sent {
            return;
        }
        let count = end.unsent.len().min(end.window()).min(end.link.segment_bytes_max);
        if count > 0 {
            let bytes: Vec<u8> = end.unsent.drain(..count).collect();
            (end.sending, end.on_way) = (count, end.on_way + count);
            let ns = u128::from(count as u64) * 1_000_000_000 / u128::from(end.link.rate);
            self.after(ns as u64, Event::Departed { from, bytes });
        } else if end.unsent.is_empty() && end.write_shut {
            end.end_sent = true;
            self.carry(from, |to| Event::Ended { to });
        }
    }

    /// Has something arrive at the peer, behind all that was sent before; perhaps late, since it is
    /// lost and sent again.
    fn carry(&mut self, from: SocketId, event: impl FnOnce(SocketId) -> Event) {
        let is_lost = self.prng.chance(self.faults.lost);
        let end = self.ends.get_mut(&from).expect("who sends is there");
        if end.is_cut {
            return;
        }
        let jitter_ns = self.prng.below(end.link.latency_ns / 4 + 1);
        let late_ns = if is_lost { end.link.retransmit_ns } else { 0 };
        let due_ns = self.now_ns + end.link.latency_ns + jitter_ns + late_ns;
        end.arrival_ns = due_ns.max(end.arrival_ns + 1);
        let delay_ns = end.arrival_ns - self.now_ns;
        self.after(delay_ns, event(from.peer()));
    }

    fn departed(&mut self, from: SocketId, bytes: Vec<u8>) {
        let Some(end) = self.ends.get_mut(&from) else { return };
        assert_eq!(end.sending, bytes.len(), "one segment at a time is put on the link");
        end.sending = 0;
        if end.phase == Phase::Connected {
            self.carry(from, |to| Event::Arrived { to, bytes });
        }
        self.wake(from);
        self.pump(from);
    }

    fn arrived(&mut self, to: SocketId, bytes: &[u8]) {
        let Some(end) = self.ends.get_mut(&to) else { return self.bounce(to) };
        if end.is_cut || end.phase == Phase::Dead {
            return;
        }
        if !end.is_open {
            return self.abandon(to);
        }
        assert!(!end.is_ended, "nothing comes after the end of a stream");
        end.received.extend(bytes);
        let (count, most) = (end.received.len(), end.link.receive_bytes_max);
        assert!(count <= most, "a receive buffer holds what it may");
        self.wake(to);
    }

    fn ended(&mut self, to: SocketId) {
        if let Some(end) = self.ends.get_mut(&to)
            && !end.is_cut
        {
            end.is_ended = true;
            self.wake(to);
        }
        let from = to.peer();
        let Some(peer) = self.ends.get_mut(&from) else { return };
        peer.end_arrived = true;
        // Whoever has closed and sent all has nothing left to do.
        if !peer.is_open {
            self.ends.remove(&from);
        }
    }

    fn taken(&mut self, to: SocketId, count: usize) {
        let Some(end) = self.ends.get_mut(&to).filter(|end| !end.is_cut) else { return };
        assert!(end.on_way >= count, "what is received was sent");
        end.on_way -= count;
        self.pump(to);
        self.wake(to);
    }

    fn broken(&mut self, to: SocketId, error: i32) {
        let Some(end) = self.ends.get_mut(&to) else { return };
        if end.phase == Phase::Dead {
            return;
        }
        end.die(error);
        match end.is_open {
            true => self.wake(to),
            false => drop(self.ends.remove(&to)),
        }
    }

    /// Something has come for an end that is no more: the peer is told.
    fn bounce(&mut self, to: SocketId) {
        if let Some(peer) = self.ends.get(&to.peer()).filter(|peer| !peer.is_cut) {
            let latency_ns = peer.link.latency_ns;
            let reset = Event::Broken { to: to.peer(), error: libc::ECONNRESET };
            self.after(latency_ns, reset);
        }
    }

    /// A closed end goes without having taken all: the peer is told.
    pub(super) fn abandon(&mut self, id: SocketId) {
        self.ends.remove(&id);
        self.bounce(id);
    }

    /// Nothing passes a connection any more.
    fn struck(&mut self, connector: SocketId, is_told: bool) {
        for id in [connector, connector.peer()] {
            let breakable = |end: &&mut End| !end.is_cut && !end.is_over();
            let Some(end) = self.ends.get_mut(&id).filter(breakable) else { continue };
            end.is_cut = true;
            let link = end.link;
            let (delay_ns, error) = match (is_told, end.is_unconfirmed()) {
                (true, _) => (self.prng.below(link.latency_ns + 1), libc::ECONNRESET),
                (false, true) => (link.give_up_ns, libc::ETIMEDOUT),
                (false, false) => (link.keepalive_ns, libc::ETIMEDOUT),
            };
            match end.is_open || end.phase == Phase::Connecting {
                true => self.after(delay_ns, Event::Broken { to: id, error }),
                // Nobody asks for it any more.
                false => drop(self.ends.remove(&id)),
            }
        }
    }

    pub(super) fn strike_all(&mut self, is_told: bool) {
        let connectors: BTreeSet<SocketId> = self.ends.keys().map(|id| id.connector()).collect();
        connectors.into_iter().for_each(|connector| self.struck(connector, is_told));
    }
}
