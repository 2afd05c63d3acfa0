//! How operations reach the disk: one object per worker, so that nothing outside is generic.

pub(crate) mod blocking;
pub(crate) mod commands;
pub(crate) mod context;
pub(crate) mod kind;
mod messages;
pub(crate) mod owner;
mod poller;
pub(crate) mod pool;
pub(crate) mod provided;
pub(crate) mod queues;
mod registered;
pub(crate) mod setup;
mod sqe;
pub(crate) mod uring;
pub(crate) mod wait;

use std::io;
use std::rc::Rc;

use stdx::Key;

use crate::inbox::Message;
use crate::net::interest::Interest;
use crate::net::node::Node;
use crate::op::{Op, Outcome, Told};
use crate::ring::kind::RingKind;
use crate::ring::wait::Wait;
use crate::sim::flights::Port;
use crate::sim::network::Network;
use crate::stats::{Counters, bump};
use owner::Owner;
use poller::Poller;
use pool::{Pool, Work};
use provided::Provided;

/// The ring of one worker: io_uring or nothing, and always a pool for what blocks.
pub(crate) struct Ring {
    driver: Driver,
    /// For files whose device is polled, where the configuration asks for it.
    polled: Option<Box<uring::Uring>>,
    pool: Pool,
    /// For sockets, where there is no ring.
    poller: Option<Poller>,
}

pub(crate) enum Driver {
    Uring(Box<uring::Uring>),
    Threads,
    Sim(Port),
}

impl Ring {
    pub(crate) fn new(driver: Driver, pool: Pool) -> Ring {
        Ring { driver, polled: None, pool, poller: None }
    }

    /// With a second ring for files whose device is polled.
    pub(crate) fn with_polled(self, polled: Option<uring::Uring>) -> Ring {
        Ring { polled: polled.map(Box::new), ..self }
    }

    /// Puts an operation under way; its completion comes through `turn`, the inbox, or the
    /// simulation. The operation stays in the worker's table until then.
    pub(crate) fn start(&mut self, key: Key, op: &mut Op, owner: Owner<'_>) {
        match &mut self.driver {
            Driver::Sim(port) => port.start(key, op),
            Driver::Uring(ring) if let Some(result) = commands::ended(op, ring.is_sqpoll()) => {
                owner.inbox.send(Message::Done(key, Outcome::Count(result)));
            }
            Driver::Uring(ring) if on_ring(op) && !(op.is_linked() && ring.is_sqpoll()) => {
                match &mut self.polled {
                    Some(polled) if is_polled(op) => polled.push(key, op, owner),
                    _ => ring.push(key, op, owner),
                }
            }
            Driver::Threads if let Op::Ready(node, interest, _) = op => {
                watch(&mut self.poller, key, node, *interest, owner);
            }
            Driver::Threads if let Op::Recv(incoming) = op => {
                watch(&mut self.poller, key, &incoming.node, Interest::Read, owner);
            }
            Driver::Threads if let Op::Stream(inflow) = op => {
                watch(&mut self.poller, key, &inflow.node, Interest::Read, owner);
            }
            Driver::Threads if let Op::Lend(lending) = op => match lending.push() {
                true => drop(owner.inbox.send(Message::Done(key, Outcome::Count(Ok(0))))),
                false => watch(&mut self.poller, key, &lending.node, Interest::Write, owner),
            },
            Driver::Threads if let Op::Connect(attempt) = op => match attempt.begin() {
                Ok(()) => watch(&mut self.poller, key, &attempt.node, Interest::Write, owner),
                Err(error) => {
                    owner.inbox.send(Message::Done(key, Outcome::Count(Err(error))));
                }
            },
            Driver::Threads if let Op::Send(outgoing) = op => {
                let sent = outgoing.node.send(outgoing.rest());
                owner.inbox.send(Message::Done(key, Outcome::Count(sent)));
            }
            Driver::Uring(_) | Driver::Threads => {
                self.pool.send(key, Work::of(op), owner.inbox);
            }
        }
    }

    /// Ends an operation early that waits for a socket; its completion comes all the same.
    pub(crate) fn cancel(&mut self, key: Key, op: &Op, owner: Owner<'_>) {
        match &mut self.driver {
            Driver::Uring(ring) => ring.cancel(key, op, owner.counters),
            Driver::Threads => self.poller.iter().for_each(|poller| poller.forget(key)),
            Driver::Sim(port) => port.cancel(key),
        }
    }

    /// Has nobody read the memory of a send any more; its completion comes then.
    pub(crate) fn break_off(&mut self, key: Key, op: &Op) {
        match (&mut self.driver, op) {
            (Driver::Uring(_), Op::Lend(lending)) => lending.node.disconnect(),
            (Driver::Sim(port), Op::Lend(_)) => port.cancel(key),
            _ => {}
        }
    }

    /// True if memory can be lent for sends.
    pub(crate) fn can_lend(&self) -> bool {
        match &self.driver {
            Driver::Uring(ring) => ring.abilities().zero_copy,
            Driver::Sim(_) => true,
            Driver::Threads => false,
        }
    }

    pub(crate) fn is_uring(&self) -> bool {
        matches!(self.driver, Driver::Uring(_))
    }

    /// Lets the kernel hand out these buffers: their group, and whether it fills several at once.
    /// `None` where no kernel does.
    pub(crate) fn provide(&mut self, buffers: &Rc<Provided>) -> io::Result<Option<(u16, bool)>> {
        match &mut self.driver {
            Driver::Uring(ring) => ring.provide(buffers),
            Driver::Threads | Driver::Sim(_) => Ok(None),
        }
    }

    /// Takes a group of buffers back.
    pub(crate) fn withdraw(&mut self, group: u16) {
        if let Driver::Uring(ring) = &mut self.driver {
            ring.withdraw(group);
        }
    }

    /// Takes now what waiting for sockets needs.
    pub(crate) fn prepare(&mut self, owner: Owner<'_>) -> io::Result<()> {
        match self.driver {
            Driver::Threads => started(&mut self.poller, owner).map(drop),
            Driver::Uring(_) | Driver::Sim(_) => Ok(()),
        }
    }

    /// The network of the simulation, if this is one.
    pub(crate) fn network(&self) -> Option<&Network> {
        match &self.driver {
            Driver::Sim(port) => Some(port.network()),
            Driver::Uring(_) | Driver::Threads => None,
        }
    }

    /// A file or an arena is no more.
    pub(crate) fn forget(&mut self, number: u64) {
        if let Driver::Uring(ring) = &mut self.driver {
            ring.forget(number);
        }
        if let Some(polled) = &mut self.polled {
            polled.forget(number);
        }
    }

    /// True when pending submissions should not wait for the end of the ready work; so many
    /// transfers are under way, submitted or not.
    #[inline]
    pub(crate) fn wants_submit(&self, transfers: u32) -> bool {
        let Driver::Uring(ring) = &self.driver else { return false };
        ring.wants_submit(transfers)
            || self.polled.as_ref().is_some_and(|polled| polled.wants_submit(transfers))
    }

    /// True when something is asked of clients' sockets that the kernel does not know of yet.
    #[inline]
    pub(crate) fn has_answers(&self) -> bool {
        match &self.driver {
            Driver::Uring(ring) => ring.has_answers(),
            Driver::Threads | Driver::Sim(_) => false,
        }
    }

    /// True when the kernel holds completions back until it is entered, or has delivered some.
    #[inline]
    pub(crate) fn has_completions(&mut self) -> bool {
        match &mut self.driver {
            Driver::Uring(ring) => ring.has_completions(),
            Driver::Threads | Driver::Sim(_) => false,
        }
    }

    /// Submits, perhaps sleeps, and returns what has ended.
    pub(crate) fn turn(
        &mut self,
        wait: Wait,
        transfers: u32,
        counters: &Counters,
    ) -> Vec<(Key, Told)> {
        match &mut self.driver {
            Driver::Uring(ring) => match &mut self.polled {
                Some(polled) if polled.unfinished() > 0 => {
                    let mut ended = polled.poll(wait, counters);
                    ended.extend(ring.turn(Wait::No, transfers, counters));
                    ended
                }
                _ => ring.turn(wait, transfers, counters),
            },
            Driver::Threads => {
                park(wait, counters);
                Vec::new()
            }
            Driver::Sim(_) => Vec::new(),
        }
    }

    /// Threads of the pool now.
    pub(crate) fn pool_threads(&self) -> usize {
        self.pool.threads()
    }
}

/// Transfers go to io_uring unless their file is better off with threads.
fn on_ring(op: &Op) -> bool {
    let file = match op {
        Op::Read(transfer) | Op::Write(transfer) => &transfer.file,
        Op::SyncData(file) => file,
        Op::Meta(_) => return false,
        Op::Ready(..)
        | Op::Send(_)
        | Op::Recv(_)
        | Op::Lend(_)
        | Op::Stream(_)
        | Op::Connect(_) => return true,
    };
    file.backend().kind == RingKind::Uring
}

/// Longer transfers are not polled for: an interrupt is nothing to them, and what a device does not
/// take at once Linux 6.1 tries again for ever, if it is polled for. NVMe devices take as much, and
/// 16 pieces of memory.
const POLLED_BYTES_MAX: usize = 64 << 10;

/// Reads and writes of files whose device is polled. A ring that polls knows no syncs.
fn is_polled(op: &Op) -> bool {
    let (Op::Read(transfer) | Op::Write(transfer)) = op else { return false };
    transfer.file.backend().polled && !op.is_linked() && transfer.len() <= POLLED_BYTES_MAX
}

/// Has the poll thread wait, which starts with the first socket.
fn watch(poller: &mut Option<Poller>, key: Key, node: &Node, interest: Interest, owner: Owner<'_>) {
    match started(poller, owner) {
        Ok(poller) => poller.watch(key, node, interest),
        Err(error) => {
            owner.inbox.send(Message::Done(key, Outcome::Count(Err(error))));
        }
    }
}

fn started<'a>(poller: &'a mut Option<Poller>, owner: Owner<'_>) -> io::Result<&'a Poller> {
    let started = match poller.take() {
        Some(started) => started,
        None => Poller::start(owner.inbox)?,
    };
    Ok(poller.insert(started))
}

fn park(wait: Wait, counters: &Counters) {
    match wait {
        Wait::No => return,
        Wait::Ns(ns) => std::thread::park_timeout(std::time::Duration::from_nanos(ns)),
        Wait::Forever => std::thread::park(),
    }
    bump(&counters.enters, 1);
}

#[cfg(test)]
mod tests;
