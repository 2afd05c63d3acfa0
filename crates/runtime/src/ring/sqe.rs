//! Operations as submission entries.

use io_uring::{opcode, squeue, types};

use super::registered::Places;
use crate::net::descriptor::SEND_FLAGS;
use crate::net::inflow::Inflow;
use crate::net::lending::Lending;
use crate::op::{Incoming, Op, Transfer};

/// Most bytes of one kernel transfer; longer ones come back short and are continued.
pub(crate) const TRANSFER_BYTES_MAX: usize = 1 << 30;

/// As the kernel numbers it: to wait before the first look, since what is asked for is hardly ever
/// there already.
const POLL_FIRST: u16 = 1;

/// The submission entry of an operation. It points into `op`'s buffers. Only transfers have places
/// in the ring's tables.
pub(super) fn entry(op: &mut Op, places: Places, poll_first: bool) -> squeue::Entry {
    let entry = match op {
        Op::Read(transfer) => read(transfer, places),
        Op::Write(transfer) => write(transfer, places),
        Op::SyncData(file) => {
            opcode::Fsync::new(types::Fd(file.raw_fd())).flags(types::FsyncFlags::DATASYNC).build()
        }
        Op::Ready(node, interest, _) => {
            let events = interest.events() as u32;
            opcode::PollAdd::new(types::Fd(node.raw_fd()), events).build()
        }
        Op::Send(outgoing) => {
            let (fd, rest) = (types::Fd(outgoing.node.raw_fd()), outgoing.rest());
            let len = rest.len().min(TRANSFER_BYTES_MAX) as u32;
            opcode::Send::new(fd, rest.as_ptr(), len).flags(SEND_FLAGS).build()
        }
        Op::Recv(incoming) => recv(incoming, poll_first),
        Op::Lend(lending) => lend(lending, places),
        Op::Stream(inflow) => stream(inflow, poll_first),
        Op::Connect(attempt) => {
            let (fd, address) = (types::Fd(attempt.node.raw_fd()), &attempt.address);
            opcode::Connect::new(fd, address.pointer(), address.len).build()
        }
        Op::Meta(_) => unreachable!("file operations go to the pool"),
    };
    match places.file {
        Some(_) => entry.flags(squeue::Flags::FIXED_FILE),
        None => entry,
    }
}

/// The entry of the sync behind a linked write, which begins when that has moved all its bytes.
pub(super) fn sync_behind(op: &Op, places: Places) -> Option<squeue::Entry> {
    let Op::Write(transfer) = op else { return None };
    let sync = opcode::Fsync::new(fd(transfer, places)).flags(types::FsyncFlags::DATASYNC).build();
    let sync = if places.file.is_some() { sync.flags(squeue::Flags::FIXED_FILE) } else { sync };
    op.is_linked().then_some(sync)
}

/// Bytes that the entry of a transfer moves at most.
pub(super) fn len_of(op: &Op) -> usize {
    match op {
        Op::Read(transfer) | Op::Write(transfer) => transfer.len().min(TRANSFER_BYTES_MAX),
        _ => 0,
    }
}

fn recv(incoming: &mut Incoming, poll_first: bool) -> squeue::Entry {
    let (fd, (place, len)) = (types::Fd(incoming.node.raw_fd()), incoming.wanted());
    let len = len.min(TRANSFER_BYTES_MAX) as u32;
    let order = if poll_first { POLL_FIRST } else { 0 };
    opcode::Recv::new(fd, place, len).ioprio(order).build()
}

/// All bytes or an error: the kernel goes on when there is room.
const ALL_FLAGS: i32 = libc::MSG_WAITALL | libc::MSG_NOSIGNAL;

/// As the kernel numbers it: the notification says whether it has copied.
const REPORT_USAGE: u16 = 8;

fn lend(lending: &Lending, places: Places) -> squeue::Entry {
    let (fd, bytes) = (types::Fd(lending.node.raw_fd()), lending.bytes());
    let len = bytes.len().min(TRANSFER_BYTES_MAX) as u32;
    match lending.is_lent {
        true => opcode::SendZc::new(fd, bytes.as_ptr(), len)
            .flags(ALL_FLAGS)
            .zc_flags(REPORT_USAGE)
            .buf_index(places.buffer)
            .build(),
        false => opcode::Send::new(fd, bytes.as_ptr(), len).flags(ALL_FLAGS).build(),
    }
}

fn stream(inflow: &Inflow, poll_first: bool) -> squeue::Entry {
    let fd = types::Fd(inflow.node.raw_fd());
    match (&inflow.named, inflow.pool.group()) {
        (Some(chunk), _) => {
            let (place, len) = chunk.memory();
            let len = len.min(TRANSFER_BYTES_MAX) as u32;
            let order = if poll_first { POLL_FIRST } else { 0 };
            opcode::Recv::new(fd, place, len).ioprio(order).build()
        }
        (None, Some((group, true))) => opcode::RecvMultiBundle::new(fd, group).build(),
        (None, Some((group, false))) => opcode::RecvMulti::new(fd, group).build(),
        (None, None) => {
            unreachable!("a receive of a ring names its buffer or the ring provides it")
        }
    }
}

/// The descriptor, or the place that stands for it.
fn fd(transfer: &Transfer, places: Places) -> types::Fd {
    types::Fd(places.file.map_or_else(|| transfer.file.raw_fd(), |place| place as i32))
}

fn read(transfer: &mut Transfer, places: Places) -> squeue::Entry {
    let (fd, offset) = (fd(transfer, places), transfer.offset);
    if let Some((ptr, len)) = transfer.single() {
        let len = len.min(TRANSFER_BYTES_MAX) as u32;
        return match places.buffer {
            Some(at) => opcode::ReadFixed::new(fd, ptr, len, at).offset(offset).build(),
            None => opcode::Read::new(fd, ptr, len).offset(offset).build(),
        };
    }
    let spans = transfer.spans();
    opcode::Readv::new(fd, spans.as_ptr(), spans.len() as u32).offset(offset).build()
}

fn write(transfer: &mut Transfer, places: Places) -> squeue::Entry {
    let (fd, offset, flags) = (fd(transfer, places), transfer.offset, transfer.flags());
    if let Some((ptr, len)) = transfer.single() {
        let len = len.min(TRANSFER_BYTES_MAX) as u32;
        return match places.buffer {
            Some(at) => {
                opcode::WriteFixed::new(fd, ptr, len, at).offset(offset).rw_flags(flags).build()
            }
            None => opcode::Write::new(fd, ptr, len).offset(offset).rw_flags(flags).build(),
        };
    }
    let spans = transfer.spans();
    let write = opcode::Writev::new(fd, spans.as_ptr(), spans.len() as u32);
    write.offset(offset).rw_flags(flags).build()
}
