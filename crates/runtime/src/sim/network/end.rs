//! One end of a connection: what it has received, what it still has to send, and how it stands.

use std::collections::VecDeque;

use super::plan::Link;
use crate::net::interest::Interest;

/// A socket of the network. The two ends of a connection differ in the lowest bit: 0 for the one that
/// connects, 1 for the one that is accepted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct SocketId(pub(super) u64);

impl SocketId {
    /// The other end.
    pub(super) fn peer(self) -> SocketId {
        SocketId(self.0 ^ 1)
    }

    /// The end that has connected.
    pub(super) fn connector(self) -> SocketId {
        SocketId(self.0 & !1)
    }

    /// Whether it came from a listener.
    pub(super) fn is_accepted(self) -> bool {
        self.0 & 1 == 1
    }
}

/// How far a connection has come, as one of its ends knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Phase {
    Connecting,
    Connected,
    /// Refused, reset, or given up.
    Dead,
}

#[derive(Debug)]
pub(super) struct End {
    pub(super) link: Link,
    pub(super) phase: Phase,
    /// A descriptor names it, or a listener keeps it.
    pub(super) is_open: bool,
    /// Nothing passes the network any more, in either direction.
    pub(super) is_cut: bool,
    /// What the next call is to be told.
    pub(super) error: Option<i32>,
    pub(super) received: VecDeque<u8>,
    /// The peer has said that it sends nothing more.
    pub(super) is_ended: bool,
    pub(super) read_shut: bool,
    pub(super) write_shut: bool,
    /// Bytes that calls have sent, from the first on.
    pub(super) entered: u64,
    /// Bytes that wait for the link.
    pub(super) unsent: VecDeque<u8>,
    /// Bytes that are being put on the link now.
    pub(super) sending: usize,
    /// Bytes sent of which this end does not know that they were received.
    pub(super) on_way: usize,
    /// The peer was told that nothing more comes.
    pub(super) end_sent: bool,
    /// And knows it.
    pub(super) end_arrived: bool,
    /// When what was sent last arrives: nothing overtakes it.
    pub(super) arrival_ns: u64,
}

impl End {
    pub(super) fn new(link: Link, phase: Phase, arrival_ns: u64) -> End {
        End {
            link,
            phase,
            is_open: true,
            is_cut: false,
            error: None,
            received: VecDeque::new(),
            is_ended: false,
            read_shut: false,
            write_shut: false,
            entered: 0,
            unsent: VecDeque::new(),
            sending: 0,
            on_way: 0,
            end_sent: false,
            end_arrived: false,
            arrival_ns,
        }
    }

    /// Bytes that a call may send now.
    pub(super) fn room(&self) -> usize {
        let waiting = self.unsent.len() + self.sending;
        assert!(waiting <= self.link.send_bytes_max, "a send buffer holds what it may");
        self.link.send_bytes_max - waiting
    }

    /// Bytes that may be put on the link now.
    pub(super) fn window(&self) -> usize {
        assert!(self.on_way <= self.link.receive_bytes_max, "a window is kept");
        self.link.receive_bytes_max - self.on_way
    }

    /// Whether a call would have an answer.
    pub(super) fn is_ready(&self, interest: Interest) -> bool {
        let is_over = self.error.is_some() || self.phase == Phase::Dead;
        is_over
            || match interest {
                Interest::Read => !self.received.is_empty() || self.is_ended || self.read_shut,
                // As in the kernel a third of the buffer is free, so that senders do not wake for a few bytes.
                Interest::Write => {
                    self.phase == Phase::Connected
                        && (self.write_shut || self.room() * 3 >= self.link.send_bytes_max)
                }
                Interest::HangUp => self.is_ended || self.read_shut,
            }
    }

    /// True if the peer has received so many bytes, or never will.
    pub(super) fn is_received(&self, count: u64) -> bool {
        let under_way = (self.unsent.len() + self.on_way) as u64;
        self.phase == Phase::Dead || self.entered - under_way >= count
    }

    /// The connection is over: the next call is told why.
    pub(super) fn die(&mut self, error: i32) {
        self.phase = Phase::Dead;
        self.error = Some(error);
        self.unsent.clear();
    }

    /// Whether it has unfinished business with a peer that cannot be reached.
    pub(super) fn is_unconfirmed(&self) -> bool {
        self.on_way > 0 || !self.unsent.is_empty() || self.end_sent && !self.end_arrived
    }

    /// Whether both have said all that they had to say, so that nothing can go wrong any more.
    pub(super) fn is_over(&self) -> bool {
        self.is_ended && self.end_arrived
    }
}
