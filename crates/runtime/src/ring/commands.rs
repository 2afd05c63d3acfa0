//! Transfers and syncs of NVMe namespaces as commands.
//!
//! The completion of a command tells its status and not how many bytes it has moved: all or none.
//! So the ring keeps how many each is about, by the slot of its operation.

use std::io;

use io_uring::{opcode, squeue, types};

use super::queues::Entry;
use super::registered::Places;
use crate::nvme::command::{Command, Data, WITH_BUFFER, WITH_SPANS};
use crate::nvme::namespace::Namespace;
use crate::nvme::status;
use crate::op::{Op, Transfer};

/// The bytes of the commands under way, by the slots of their operations.
#[derive(Default)]
pub(super) struct Commands(Vec<Option<usize>>);

impl Commands {
    /// Notes what the operation of a slot is: a command that moves so many bytes, or none.
    #[inline]
    pub(super) fn note(&mut self, slot: u32, bytes: Option<usize>) {
        if bytes.is_some() && self.0.len() <= slot as usize {
            self.0.resize(slot as usize + 1, None);
        }
        if let Some(place) = self.0.get_mut(slot as usize) {
            *place = bytes;
        }
    }

    /// The result of the operation of a slot, from that of its completion.
    #[inline]
    pub(super) fn result(&self, slot: u32, result: io::Result<usize>) -> io::Result<usize> {
        match (self.0.get(slot as usize).copied().flatten(), result) {
            (Some(bytes), Ok(0)) => Ok(bytes),
            (Some(_), Ok(status)) => Err(status::error(status as u16)),
            (_, result) => result,
        }
    }
}

/// How a transfer of a namespace has ended before it was begun: one of no bytes, one at the end of
/// the device, and what cannot be asked of it.
pub(super) fn ended(op: &Op, is_sqpoll: bool) -> Option<io::Result<usize>> {
    let (transfer, is_write) = match op {
        Op::Read(transfer) => (transfer, false),
        Op::Write(transfer) => (transfer, true),
        _ => return None,
    };
    let namespace = transfer.file.namespace()?;
    if is_sqpoll && op.is_linked() {
        let message = "with SQPOLL a write by passthrough cannot be linked to its flush";
        return Some(Err(io::Error::new(io::ErrorKind::Unsupported, message)));
    }
    match namespace.part(transfer.offset, transfer.len(), is_write) {
        Ok(0) => Some(Ok(0)),
        Ok(_) if !transfer.is_aligned(namespace.block_bytes.into()) => {
            Some(Err(namespace.misplaced()))
        }
        Ok(_) => None,
        Err(error) => Some(Err(error)),
    }
}

/// The entry of an operation on a namespace, and how many bytes it moves; `None` for any other. A
/// buffer has a place only where the kernel takes it for commands.
#[inline]
pub(super) fn entry(op: &mut Op, places: Places) -> Option<(Entry, usize)> {
    let is_write = matches!(op, Op::Write(_));
    match op {
        Op::Read(transfer) | Op::Write(transfer) if transfer.file.namespace().is_some() => {
            moving(transfer, is_write, places)
        }
        Op::SyncData(file) => {
            let command = Command::flush(file.namespace()?);
            Some((built(types::Fd(file.raw_fd()), WITH_BUFFER, &command, None), 0))
        }
        _ => None,
    }
}

/// The flush behind a linked write.
pub(super) fn flush_behind(op: &Op) -> Option<Entry> {
    let Op::Write(transfer) = op else { return None };
    let command = Command::flush(transfer.file.namespace()?);
    Some(built(types::Fd(transfer.file.raw_fd()), WITH_BUFFER, &command, None))
}

fn moving(transfer: &mut Transfer, is_write: bool, places: Places) -> Option<(Entry, usize)> {
    let (offset, len, single) = (transfer.offset, transfer.len(), transfer.single());
    let is_durable = transfer.flags() & libc::RWF_DSYNC != 0;
    let Transfer { file, bufs, from, .. } = transfer;
    let namespace = file.namespace()?;
    let part = namespace.part(offset, len, is_write).expect("else it has ended before");
    let (call, data, bytes) = match (single, bufs.spans(*from)) {
        (_, Some(spans)) => {
            let bytes = namespace.cut(spans, part);
            (WITH_SPANS, Data::at(spans.as_ptr(), spans.len()), bytes)
        }
        (Some((start, _)), None) => (WITH_BUFFER, Data::at(start, part), part),
        (None, None) => unreachable!("a transfer has one buffer or several"),
    };
    let command = match is_write {
        true => Command::write(namespace, offset, bytes, data, is_durable),
        false => Command::read(namespace, offset, bytes, data),
    };
    let fd = places.file.map_or_else(|| file.raw_fd(), |place| place as i32);
    let entry = built(types::Fd(fd), call, &command, places.buffer);
    let entry = if places.file.is_some() { entry.flags(squeue::Flags::FIXED_FILE) } else { entry };
    Some((entry, bytes))
}

fn built(fd: types::Fd, call: u32, command: &Command, buffer: Option<u16>) -> Entry {
    let entry = opcode::UringCmd80::new(fd, call).buf_index(buffer).cmd(command.encode());
    Entry::Large(entry.build())
}

/// A read of the first block of a namespace, as a trial of the way. `memory` has its size.
pub(crate) fn trial(fd: i32, namespace: &Namespace, memory: *mut u8) -> Entry {
    let bytes = namespace.block_bytes;
    let data = Data::at(memory, bytes as usize);
    let command = Command::read(namespace, 0, bytes as usize, data);
    built(types::Fd(fd), WITH_BUFFER, &command, None)
}

#[cfg(test)]
mod tests;
