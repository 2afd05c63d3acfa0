//! What programs ask of the network. No call waits: EAGAIN says that there is nothing yet.

use std::io;

use super::end::{End, Phase, SocketId};
use super::endpoint::Endpoint;
use super::events::Event;
use super::plan::Link;
use super::{Network, State};
use crate::net::address::Address;
use crate::net::interest::Shutdown;

fn failed<T>(code: i32) -> io::Result<T> {
    Err(io::Error::from_raw_os_error(code))
}

impl Network {
    /// A socket that listens, and its address.
    pub(crate) fn listen(&self, address: &Address) -> io::Result<(Endpoint, Address)> {
        let (id, address) = self.state().listen(address)?;
        Ok((Endpoint { network: self.clone(), id }, address))
    }

    /// A socket whose connection attempt is under way.
    pub(crate) fn connect(&self, address: &Address) -> io::Result<Endpoint> {
        let id = self.state().connect(address);
        Ok(Endpoint { network: self.clone(), id })
    }
}

impl State {
    fn new_id(&mut self) -> SocketId {
        self.last_id += 2;
        SocketId(self.last_id)
    }

    fn listen(&mut self, address: &Address) -> io::Result<(SocketId, Address)> {
        let id = self.new_id();
        let address = self.listeners.add(id, address)?;
        self.note([10, id.0, 0]);
        Ok((id, address))
    }

    fn connect(&mut self, address: &Address) -> SocketId {
        let id = self.new_id();
        let link = self.draw_link();
        self.note([11, id.0, link.latency_ns]);
        self.ends.insert(id, End::new(link, Phase::Connecting, self.now_ns));
        self.after(link.latency_ns, Event::Knocked { from: id, to: address.clone(), tries: 0 });
        id
    }

    /// The figures of a new connection.
    fn draw_link(&mut self) -> Link {
        let (base, prng) = (self.link, &mut self.prng);
        let mut around = |n: u64| (n / 2 + prng.below(n + n / 2 + 1)).max(1);
        let (latency_ns, rate) = (around(base.latency_ns), around(base.rate));
        let mut below = |n: usize| (n - prng.below(n as u64 / 2 + 1) as usize).max(1);
        Link {
            latency_ns,
            rate,
            send_bytes_max: below(base.send_bytes_max),
            receive_bytes_max: below(base.receive_bytes_max),
            ..base
        }
    }

    /// How much of `count` bytes a call moves.
    fn share(&mut self, count: usize) -> usize {
        match count > 0 && self.prng.chance(self.faults.short) {
            true => 1 + self.prng.below(count as u64) as usize,
            false => count,
        }
    }

    pub(super) fn send(&mut self, id: SocketId, bytes: &[u8]) -> io::Result<usize> {
        let Some(end) = self.ends.get_mut(&id) else { return failed(libc::ENOTCONN) };
        if let Some(error) = end.error.take() {
            return failed(error);
        }
        let room = match end.phase {
            Phase::Connecting => 0,
            Phase::Dead => return failed(libc::EPIPE),
            Phase::Connected if end.write_shut => return failed(libc::EPIPE),
            Phase::Connected => end.room(),
        };
        if room == 0 && !bytes.is_empty() {
            return failed(libc::EAGAIN);
        }
        let (is_cut, give_up_ns) = (end.is_cut, end.link.give_up_ns);
        let bytes = &bytes[..self.share(bytes.len().min(room))];
        self.note([12, id.0, bytes.len() as u64]);
        if !self.is_sealed {
            self.trace.bytes(bytes);
        }
        let end = self.ends.get_mut(&id).expect("it was there");
        end.unsent.extend(bytes);
        end.entered += bytes.len() as u64;
        if is_cut {
            self.after(give_up_ns, Event::Broken { to: id, error: libc::ETIMEDOUT });
        }
        self.pump(id);
        Ok(bytes.len())
    }

    pub(super) fn recv(&mut self, id: SocketId, into: &mut [u8]) -> io::Result<usize> {
        let Some(end) = self.ends.get_mut(&id) else { return failed(libc::ENOTCONN) };
        if end.received.is_empty() {
            return match (end.error.take(), end.phase) {
                (Some(error), _) => failed(error),
                (None, Phase::Dead) => Ok(0),
                _ if end.is_ended || end.read_shut || into.is_empty() => Ok(0),
                _ => failed(libc::EAGAIN),
            };
        }
        let most = end.received.len().min(into.len());
        let count = self.share(most);
        self.note([13, id.0, count as u64]);
        let end = self.ends.get_mut(&id).expect("it was there");
        let received = end.received.drain(..count);
        into.iter_mut().zip(received).for_each(|(place, byte)| *place = byte);
        let latency_ns = end.link.latency_ns;
        self.after(latency_ns, Event::Taken { to: id.peer(), count });
        Ok(count)
    }

    pub(super) fn accept(&mut self, id: SocketId) -> io::Result<(SocketId, Address)> {
        self.descriptor()?;
        let Some(listener) = self.listeners.get_mut(id) else { return failed(libc::EINVAL) };
        let Some((accepted, peer)) = listener.pending.pop_front() else {
            return failed(libc::EAGAIN);
        };
        self.note([14, accepted.0, 0]);
        Ok((accepted, peer))
    }

    pub(super) fn spare(&mut self) -> io::Result<()> {
        self.descriptor()?;
        self.spare_count += 1;
        Ok(())
    }

    /// Refuses one more descriptor to those who listen when there are too many.
    fn descriptor(&self) -> io::Result<()> {
        let Some(count_max) = self.faults.descriptor_count_max else { return Ok(()) };
        let is_theirs = |(id, end): &(&SocketId, &End)| id.is_accepted() && end.is_open;
        let accepted = self.ends.iter().filter(is_theirs).count() - self.listeners.pending_count();
        match accepted + self.listeners.count() + self.spare_count < count_max {
            true => Ok(()),
            false => failed(libc::EMFILE),
        }
    }

    /// True if a request for many receives ends at this one.
    pub(super) fn ends_shot(&mut self) -> bool {
        self.prng.chance(self.faults.shot_end)
    }

    /// True if memory that was lent is copied all the same.
    pub(super) fn copies(&mut self) -> bool {
        self.prng.chance(self.faults.copied)
    }

    pub(super) fn take_error(&mut self, id: SocketId) -> io::Result<()> {
        match self.ends.get_mut(&id).map(|end| end.error.take()) {
            Some(None) => Ok(()),
            Some(Some(error)) => failed(error),
            None => failed(libc::ENOTCONN),
        }
    }

    pub(super) fn shutdown(&mut self, id: SocketId, how: Shutdown) -> io::Result<()> {
        let end = self.ends.get_mut(&id).filter(|end| end.phase == Phase::Connected);
        let Some(end) = end else { return failed(libc::ENOTCONN) };
        end.read_shut |= how != Shutdown::Write;
        end.write_shut |= how != Shutdown::Read;
        self.note([15, id.0, how as u64]);
        self.pump(id);
        self.wake(id);
        Ok(())
    }

    /// The last handle of a socket is gone.
    pub(super) fn close(&mut self, id: SocketId) {
        if let Some(listener) = self.listeners.remove(id) {
            self.note([16, id.0, listener.pending.len() as u64]);
            listener.pending.into_iter().for_each(|(accepted, _)| self.abandon(accepted));
            return;
        }
        let Some(end) = self.ends.get_mut(&id) else { return };
        assert!(end.is_open, "a socket is closed once");
        end.is_open = false;
        let (phase, is_unread) = (end.phase, !end.received.is_empty());
        let is_silent = end.is_cut || end.end_arrived;
        end.write_shut = true;
        self.note([17, id.0, u64::from(is_unread)]);
        match phase {
            // The answer to the attempt finds that nobody is there.
            Phase::Connecting => {}
            Phase::Dead => drop(self.ends.remove(&id)),
            // As in the kernel: who closes without having received all says so.
            Phase::Connected if is_unread => self.abandon(id),
            Phase::Connected if is_silent => drop(self.ends.remove(&id)),
            Phase::Connected => self.pump(id),
        }
    }
}
