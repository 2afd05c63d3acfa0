//! Operations under way on the simulated disk, by the moment of their completion.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::io;
use std::rc::Rc;

use stdx::Key;

use super::disk::{Disk, State, eio, handle_of};
use super::network::Network;
use crate::fs::durability::Durability;
use crate::op::{Meta, Op, Outcome, Transfer};
use crate::sim::image::SECTOR_BYTES;

/// Why operations on sockets do not come to the disk.
const NO_FILE: &str = "sockets are the network's";

/// What will become of an operation, decided when it starts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fate {
    Good,
    Short,
    Fail(i32),
    /// The machine dies in the middle of it.
    Die,
}

/// An operation under way.
pub(super) struct Flight {
    pub(super) worker: usize,
    pub(super) key: Key,
    number: u64,
    fate: Fate,
    /// Changes that a sync covers: those completed before it began.
    upto: u64,
}

/// All operations under way, ordered by completion time, equal times in random order.
#[derive(Default)]
pub(super) struct Flights(pub(super) BTreeMap<(u64, u64, u64), Flight>);

/// The simulated ring of one worker.
pub(crate) struct Port {
    pub(super) disk: Disk,
    pub(super) network: Network,
    pub(super) flights: Rc<RefCell<Flights>>,
    pub(super) clock: Rc<Cell<u64>>,
    pub(super) worker: usize,
}

impl Port {
    pub(crate) fn start(&mut self, key: Key, op: &mut Op) {
        if op.is_socket() {
            return self.network.start(self.worker, key, op);
        }
        let mut state = self.disk.state();
        state.op_count += 1;
        let number = state.op_count;
        let fate = state.decide(op, number);
        let due_ns = self.clock.get() + state.duration(op);
        if let Op::Write(transfer) = op
            && let Ok(handle) = handle_of(&self.disk, &transfer.file)
        {
            let write = (handle.node, transfer.offset, transfer.gather());
            if !state.frozen {
                state.trace.bytes(&write.2);
                state.under_way.insert(number, write);
            }
        }
        let upto = state.sequence;
        let place = (due_ns, state.prng.next_u64(), number);
        let words = [1, self.worker as u64, u64::from(key.slot()), kind(op), extent(op), due_ns];
        state.trace.note(&words);
        let flight = Flight { worker: self.worker, key, number, fate, upto };
        self.flights.borrow_mut().0.insert(place, flight);
    }

    /// Ends a wait for a socket early.
    pub(crate) fn cancel(&self, key: Key) {
        self.network.cancel(self.worker, key);
    }

    pub(crate) fn network(&self) -> &Network {
        &self.network
    }
}

fn kind(op: &Op) -> u64 {
    match op {
        Op::Read(_) => 1,
        Op::Write(_) => 2,
        Op::SyncData(_) => 3,
        Op::Meta(_) => 4,
        _ => unreachable!("{NO_FILE}"),
    }
}

fn extent(op: &Op) -> u64 {
    match op {
        Op::Read(t) | Op::Write(t) => t.offset.rotate_left(20) ^ t.len() as u64,
        Op::SyncData(_) | Op::Meta(_) => 0,
        _ => unreachable!("{NO_FILE}"),
    }
}

impl State {
    fn decide(&mut self, op: &Op, number: u64) -> Fate {
        if matches!(op, Op::Write(_)) {
            self.write_count += 1;
            if self.faults.crash_at_write == Some(self.write_count) {
                return Fate::Die;
            }
        }
        if self.faults.crash_at_op == Some(number) {
            return Fate::Die;
        }
        if matches!(op, Op::Write(_) | Op::Meta(Meta::Allocate(..))) {
            self.space_op_count += 1;
            if self.faults.no_space.as_ref().is_some_and(|n| n.contains(&self.space_op_count)) {
                return Fate::Fail(libc::ENOSPC);
            }
        }
        if let Some((_, error)) = self.faults.fail_op.filter(|(n, _)| *n == number) {
            return Fate::Fail(error);
        }
        let failure = match op {
            Op::Read(_) => self.faults.read_error,
            Op::Write(of) if of.is_durable() => self.faults.write_error.max(self.faults.sync_error),
            Op::Write(_) => self.faults.write_error,
            Op::SyncData(_) => self.faults.sync_error,
            Op::Meta(_) => self.faults.meta_error,
            _ => unreachable!("{NO_FILE}"),
        };
        if self.prng.chance(failure) {
            return Fate::Fail(libc::EIO);
        }
        let short = matches!(op, Op::Read(_) | Op::Write(_)) && self.prng.chance(self.faults.short);
        if short { Fate::Short } else { Fate::Good }
    }

    fn duration(&mut self, op: &Op) -> u64 {
        let base = match op {
            Op::Read(_) => self.latency.read_ns,
            Op::Write(of) if of.is_durable() => self.latency.write_ns + self.latency.sync_ns,
            Op::Write(_) => self.latency.write_ns,
            Op::SyncData(_) => self.latency.sync_ns,
            Op::Meta(_) => self.latency.meta_ns,
            _ => unreachable!("{NO_FILE}"),
        };
        let late = if self.prng.chance(self.faults.late) { self.faults.late_ns } else { 0 };
        base / 2 + self.prng.below(base + base / 2 + 1) + late
    }

    /// Whole sectors of a short transfer: at least one, unless it has no more anyway.
    fn shorten(&mut self, len: usize) -> usize {
        let sectors = (len as u64).div_ceil(SECTOR_BYTES);
        let kept = 1 + self.prng.below(sectors.max(1));
        len.min((kept * SECTOR_BYTES) as usize)
    }
}

/// Completes an operation: only now its effects take place.
pub(super) fn land(disk: &Disk, flight: &Flight, op: &mut Op, now_ns: u64) -> Outcome {
    let mut state = disk.state();
    state.trace.note(&[2, flight.worker as u64, flight.number, now_ns]);
    if flight.fate == Fate::Die {
        state.frozen = true;
        state.network.go_down();
    }
    if state.frozen {
        return Outcome::failed(op, io::Error::other("the simulated machine has crashed"));
    }
    match op {
        Op::Read(transfer) => {
            let node = check(disk, transfer, false);
            Outcome::Count(node.and_then(|node| land_read(&mut state, flight, transfer, node)))
        }
        Op::Write(transfer) => {
            let under_way = state.under_way.remove(&flight.number);
            let node = check(disk, transfer, true);
            Outcome::Count(node.and_then(|_| {
                let write = under_way.expect("a write is noted when it starts");
                land_write(&mut state, flight, transfer, write)
            }))
        }
        Op::SyncData(file) => {
            let handle = handle_of(disk, file);
            Outcome::Count(handle.and_then(|handle| land_sync(&mut state, flight, handle.node)))
        }
        Op::Meta(meta) => Outcome::Answer(match flight.fate {
            Fate::Fail(error) => Err(io::Error::from_raw_os_error(error)),
            _ => state.answer(disk, meta),
        }),
        _ => unreachable!("{NO_FILE}"),
    }
}

/// Refuses what the kernel would: no permission, or O_DIRECT without alignment.
fn check(disk: &Disk, transfer: &Transfer, write: bool) -> io::Result<u64> {
    let handle = handle_of(disk, &transfer.file)?;
    let allowed = if write { handle.options.write } else { handle.options.read };
    if !allowed {
        return Err(io::Error::from_raw_os_error(libc::EBADF));
    }
    let aligned = |n: u64| n.is_multiple_of(SECTOR_BYTES);
    if handle.options.direct && !(aligned(transfer.offset) && transfer.is_aligned(SECTOR_BYTES)) {
        return Err(io::Error::from_raw_os_error(libc::EINVAL));
    }
    Ok(handle.node)
}

fn land_read(
    state: &mut State,
    flight: &Flight,
    transfer: &mut Transfer,
    node: u64,
) -> io::Result<usize> {
    let len = transfer.len();
    match flight.fate {
        Fate::Fail(error) => Err(io::Error::from_raw_os_error(error)),
        Fate::Short => {
            let limit = state.shorten(len);
            Ok(state.read(node, transfer, limit))
        }
        _ => Ok(state.read(node, transfer, len)),
    }
}

fn land_write(
    state: &mut State,
    flight: &Flight,
    transfer: &Transfer,
    (node, offset, mut bytes): (u64, u64, Vec<u8>),
) -> io::Result<usize> {
    // A page that changes while it is written would reach a real disk torn.
    assert!(bytes == transfer.gather(), "a buffer changed while its write was in flight");
    match flight.fate {
        Fate::Fail(_) if transfer.durability == Durability::Linked => {
            state.write(node, offset, bytes);
            let upto = state.sequence;
            state.fail_sync(node, upto);
            return Err(eio());
        }
        Fate::Fail(error) => {
            state.tear(node, offset, &bytes);
            return Err(io::Error::from_raw_os_error(error));
        }
        Fate::Short => bytes.truncate(state.shorten(bytes.len())),
        _ => {}
    }
    let count = bytes.len();
    state.check_space(node, offset, offset + count as u64)?;
    state.write(node, offset, bytes);
    // The sync behind a short write is not begun.
    let is_linked = transfer.durability == Durability::Linked;
    if transfer.durability == Durability::Flag || is_linked && count == transfer.len() {
        state.sync_last(node, is_linked, flight.upto);
    }
    Ok(count)
}

fn land_sync(state: &mut State, flight: &Flight, node: u64) -> io::Result<usize> {
    if let Fate::Fail(_) = flight.fate {
        state.fail_sync(node, flight.upto);
        return Err(eio());
    }
    state.sync(node, flight.upto);
    Ok(0)
}
