//! The worker's table of operations: begun, started, completed, orphaned.
//!
//! So many transfers are in flight at once as the configuration says; more wait in the backlog.
//! What is asked of sockets is no transfer: waits may last for hours, and would keep the disk from
//! everybody if they took its places. Their bound is the number of descriptors.

use std::io;
use std::task::Waker;

use stdx::Key;

use super::Worker;
use crate::account::LocalAccount;
use crate::net::lending::Lending;
use crate::net::pool::Chunk;
use crate::op::{Op, Outcome, Part, Told, Transfer};
use crate::stats::{Counters, add, bump, subtract};
use crate::worker::entry::OpEntry;

impl Worker {
    /// Takes an operation over; it starts at once unless too many are in flight.
    pub(crate) fn begin(&self, op: Op) -> Key {
        let account = self.accounting.current();
        let traced = account.as_ref().is_some_and(|local| local.account().trace().is_some());
        let begun_ns = if traced { self.now_ns() } else { 0 };
        let (outcome, waker, is_socket) = (None, None, op.is_socket());
        let mut entry = OpEntry {
            op,
            outcome,
            waker,
            account,
            started: false,
            orphan: false,
            ending: false,
            begun_ns,
        };
        if self.is_stopping() {
            // Only destructors come here: the drain must not see new work.
            let error = io::Error::from_raw_os_error(libc::ECANCELED);
            entry.outcome = Some(Outcome::failed(&entry.op, error));
            entry.account = None;
            return self.ops.borrow_mut().insert(entry);
        }
        if let Some(local) = &entry.account {
            add(&local.shard().inflight, 1);
        }
        let key = self.ops.borrow_mut().insert(entry);
        if is_socket || self.has_room() {
            self.start(key);
        } else {
            self.backlog.borrow_mut().push_back(key);
        }
        key
    }

    /// Whether one more transfer may start.
    pub(super) fn has_room(&self) -> bool {
        self.transfers() < self.shared.depth
    }

    /// Transfers under way, submitted or not.
    #[inline]
    pub(crate) fn transfers(&self) -> u32 {
        self.inflight.get() - self.sockets.get()
    }

    fn start(&self, key: Key) {
        let mut ops = self.ops.borrow_mut();
        let entry = ops.get_mut(key).expect("an operation is started once");
        assert!(!entry.started, "an operation is started once");
        entry.started = true;
        self.inflight.set(self.inflight.get() + 1);
        self.sockets.set(self.sockets.get() + u32::from(entry.op.is_socket()));
        self.clients.set(self.clients.get() + u32::from(entry.op.is_client()));
        bump(&self.counters().ops, 1);
        self.ring.borrow_mut().start(key, &mut entry.op, self.owner());
    }

    /// Starts what waits in the backlog while there is room.
    fn refill(&self) {
        while self.has_room() {
            let Some(key) = self.backlog.borrow_mut().pop_front() else { return };
            // An orphan that never started has left its key behind.
            if self.ops.borrow().get(key).is_some() {
                self.start(key);
            }
        }
    }

    /// Takes the message of a completion of the ring.
    pub(crate) fn told(&self, key: Key, told: Told) {
        match told {
            Told::Part(part) => self.part(key, part),
            Told::End(outcome) => self.complete(key, outcome),
        }
    }

    /// A part of an operation, which goes on.
    fn part(&self, key: Key, part: Part) {
        let (waker, unwanted) = {
            let mut ops = self.ops.borrow_mut();
            let entry = ops.get_mut(key).expect("a completion of a known operation");
            assert!(entry.started && entry.outcome.is_none(), "nothing comes after the end");
            let unwanted = take_part(self.counters(), entry, part);
            (entry.waker.take(), unwanted)
        };
        drop(unwanted);
        if let Some(waker) = waker {
            waker.wake();
        }
    }

    /// What was waited for where no ring goes on by itself: a socket that is ready is received from
    /// now, and waited for again when nothing has come after all.
    pub(crate) fn arrived(&self, key: Key, outcome: Outcome) {
        let (ended, waker) = {
            let mut ops = self.ops.borrow_mut();
            let entry = ops.get_mut(key).expect("a completion of a known operation");
            let ended = land(entry, outcome);
            let mut waker = None;
            if ended.is_none() {
                self.ring.borrow_mut().start(key, &mut entry.op, self.owner());
                waker = entry.waker.take_if(|_| has_part(&entry.op));
            }
            (ended, waker)
        };
        if let Some(outcome) = ended {
            self.complete(key, outcome);
        }
        if let Some(waker) = waker {
            waker.wake();
        }
    }

    /// The final completion of an operation.
    pub(crate) fn complete(&self, key: Key, outcome: Outcome) {
        assert!(self.inflight.get() > 0, "a completion without an operation in flight");
        self.inflight.set(self.inflight.get() - 1);
        let (waker, ended) = {
            let mut ops = self.ops.borrow_mut();
            let entry = ops.get_mut(key).expect("a completion of a known operation");
            assert!(entry.started && entry.outcome.is_none(), "an operation completes once");
            self.sockets.set(self.sockets.get() - u32::from(entry.op.is_socket()));
            self.clients.set(self.clients.get() - u32::from(entry.op.is_client()));
            count_writes(self.counters(), &entry.op, &outcome);
            if let Some(local) = &entry.account {
                count(local, &entry.op, &outcome, entry.begun_ns);
            }
            entry.outcome = Some(outcome);
            let waker = entry.waker.take();
            (waker, if entry.orphan { ops.remove(key) } else { None })
        };
        // Destructors and wakers are foreign code: they run with nothing borrowed.
        drop(ended);
        if let Some(waker) = waker {
            waker.wake();
        }
        self.refill();
    }

    /// Takes an operation that has ended, or notes who waits for it.
    pub(crate) fn poll_op(&self, key: Key, waker: &Waker) -> Option<(Outcome, Op)> {
        let mut ops = self.ops.borrow_mut();
        let entry = ops.get_mut(key).expect("an operation lives until it is taken");
        if entry.outcome.is_none() {
            let old = replace_waker(&mut entry.waker, waker);
            drop(ops);
            // A foreign waker's destructor may come back here: nothing is borrowed any more.
            drop(old);
            return None;
        }
        let entry = ops.remove(key)?;
        Some((entry.outcome?, entry.op))
    }

    /// Takes a part of an operation that is under way, or its end, or notes who waits for either.
    pub(crate) fn poll_part<T>(
        &self,
        key: Key,
        waker: &Waker,
        take: impl FnOnce(&mut Op) -> Option<T>,
    ) -> Option<Result<T, (Outcome, Op)>> {
        let taken = {
            let mut ops = self.ops.borrow_mut();
            take(&mut ops.get_mut(key).expect("an operation lives until it is taken").op)
        };
        match taken {
            Some(part) => Some(Ok(part)),
            None => self.poll_op(key, waker).map(Err),
        }
    }

    /// Nobody waits for the operation any more. Its memory is freed at once if the kernel has
    /// not seen it or is done with it, else at the completion.
    pub(crate) fn orphan(&self, key: Key) {
        let (waker, waits, ended) = {
            let mut ops = self.ops.borrow_mut();
            let Some(entry) = ops.get_mut(key) else { return };
            entry.orphan = true;
            let waker = entry.waker.take();
            let under_way = entry.started && entry.outcome.is_none();
            let waits = under_way && entry.op.is_endless();
            if let (Some(local), false) = (&entry.account, entry.started) {
                subtract(&local.shard().inflight, 1);
            }
            (waker, waits, if under_way { None } else { ops.remove(key) })
        };
        if waits {
            self.end_early(key);
        }
        drop((waker, ended));
    }

    /// Takes now what waiting for sockets needs.
    pub(crate) fn prepare_sockets(&self) -> io::Result<()> {
        self.ring.borrow_mut().prepare(self.owner())
    }

    /// Has nobody read the memory of operations any more: the connections that it was sent over
    /// end. Only who stops does so.
    pub(super) fn call_back_memory(&self) {
        let mut ops = self.ops.borrow_mut();
        let keys: Vec<Key> = ops.keys().collect();
        for key in keys {
            let Some(entry) = ops.get_mut(key) else { continue };
            if entry.started && entry.outcome.is_none() && entry.op.is_read_on() && !entry.ending {
                entry.ending = true;
                self.ring.borrow_mut().break_off(key, &entry.op);
            }
        }
    }

    /// Has an operation that may wait for ever end now; its completion comes all the same.
    pub(crate) fn end_early(&self, key: Key) {
        let mut ops = self.ops.borrow_mut();
        let Some(entry) = ops.get_mut(key) else { return };
        assert!(entry.op.is_endless(), "a transfer with the disk ends by itself");
        if entry.started && entry.outcome.is_none() && !entry.ending {
            entry.ending = true;
            self.ring.borrow_mut().cancel(key, &entry.op, self.owner());
        }
    }
}

/// What becomes of an operation whose socket is ready; `None` when it has to wait for more.
fn land(entry: &mut OpEntry, outcome: Outcome) -> Option<Outcome> {
    match (&mut entry.op, outcome) {
        (Op::Recv(incoming), Outcome::Count(Ok(_))) if !entry.orphan => match incoming.take() {
            None if entry.ending => Some(cancelled()),
            taken => taken.map(Outcome::Count),
        },
        (Op::Stream(inflow), Outcome::Count(Ok(_))) if !entry.orphan => match inflow.take() {
            None if entry.ending => Some(cancelled()),
            taken => taken.map(Outcome::Count),
        },
        (Op::Lend(lending), Outcome::Count(Ok(_))) if !entry.orphan => {
            push_on(lending, entry.ending)
        }
        (Op::Connect(attempt), Outcome::Count(Ok(_))) => {
            Some(Outcome::Count(attempt.node.take_error().map(|()| 0)))
        }
        (_, outcome) => Some(outcome),
    }
}

fn cancelled() -> Outcome {
    Outcome::Count(Err(io::Error::from_raw_os_error(libc::ECANCELED)))
}

/// Goes on with a send whose socket has room, or whose memory nobody reads any more.
fn push_on(lending: &mut Lending, is_ending: bool) -> Option<Outcome> {
    if lending.taken.is_some() {
        lending.is_copied = Some(lending.node.copies());
        return Some(Outcome::Count(Ok(0)));
    }
    match lending.push() {
        // The simulated network reads lent memory on, as the kernel does.
        true if lending.is_lent && matches!(lending.taken, Some(Ok(_))) => None,
        true => Some(Outcome::Count(Ok(0))),
        false if is_ending => Some(cancelled()),
        false => None,
    }
}

/// Notes a part of an operation; what nobody wants of it is given back.
fn take_part(counters: &Counters, entry: &mut OpEntry, part: Part) -> Vec<Chunk> {
    match (&mut entry.op, part) {
        (Op::Stream(inflow), Part::Arrived { first, bytes }) => {
            let chunks = inflow.pool.land(first, bytes);
            bump(&counters.multishot_parts, 1);
            if let Some(local) = &entry.account {
                add(&local.shard().received_bytes, bytes as u64);
            }
            if entry.orphan || bytes == 0 {
                return chunks;
            }
            inflow.arrived.extend(chunks);
        }
        (Op::Lend(lending), Part::Taken(result)) => lending.taken = Some(result),
        (Op::Lend(lending), Part::Returned { is_copied }) => {
            assert!(lending.taken.is_some(), "memory comes back after it was taken");
            bump(&counters.lent_sends, 1);
            bump(&counters.copied_sends, u64::from(is_copied));
            lending.is_copied = Some(is_copied);
        }
        _ => unreachable!("only sends and receives have parts"),
    }
    vec![]
}

/// True if who waits for a part would get one.
fn has_part(op: &Op) -> bool {
    match op {
        Op::Stream(inflow) => !inflow.arrived.is_empty(),
        Op::Lend(lending) => lending.taken.is_some(),
        _ => false,
    }
}

/// Stores a waker unless the old one does; returns what is no longer needed.
fn replace_waker(place: &mut Option<Waker>, waker: &Waker) -> Option<Waker> {
    if place.as_ref().is_some_and(|old| old.will_wake(waker)) {
        return None;
    }
    place.replace(waker.clone())
}

/// Counts what has been written and made durable.
fn count_writes(counters: &Counters, op: &Op, outcome: &Outcome) {
    let Outcome::Count(Ok(bytes)) = outcome else { return };
    match op {
        Op::Write(transfer) => {
            bump(&counters.writes, 1);
            bump(&counters.write_bytes, *bytes as u64);
            bump(&counters.syncs, u64::from(transfer.is_durable()));
        }
        Op::SyncData(_) => bump(&counters.syncs, 1),
        _ => {}
    }
}

fn count(local: &LocalAccount, op: &Op, outcome: &Outcome, begun_ns: u64) {
    let shard = local.shard();
    subtract(&shard.inflight, 1);
    let Outcome::Count(Ok(bytes)) = outcome else { return };
    let note = |transfer: &Transfer, write| {
        if let Some(trace) = local.account().trace() {
            trace.record(begun_ns, transfer.offset, *bytes, write);
        }
    };
    match op {
        Op::Read(transfer) => {
            add(&shard.reads, 1);
            add(&shard.read_bytes, *bytes as u64);
            note(transfer, false);
        }
        Op::Write(transfer) => {
            add(&shard.writes, 1);
            add(&shard.write_bytes, *bytes as u64);
            note(transfer, true);
        }
        Op::Recv(_) => add(&shard.received_bytes, *bytes as u64),
        Op::Send(_) => add(&shard.sent_bytes, *bytes as u64),
        Op::Lend(lending) => match &lending.taken {
            Some(taken) => add(&shard.sent_bytes, *taken.as_ref().unwrap_or(&0) as u64),
            None => add(&shard.sent_bytes, *bytes as u64),
        },
        // Bytes that come in parts are counted then.
        Op::Stream(inflow) if inflow.named.is_some() => {
            add(&shard.received_bytes, *bytes as u64);
        }
        Op::SyncData(_) | Op::Meta(_) | Op::Ready(..) | Op::Connect(_) | Op::Stream(_) => {}
    }
}

#[cfg(test)]
mod tests;
