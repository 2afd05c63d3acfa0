//! Operations as submission entries.

use io_uring::{opcode, squeue, types};

use super::registered::Places;
use crate::net::SEND_FLAGS;
use crate::op::{Op, Transfer};

/// Most bytes of one kernel transfer; longer ones come back short and are continued.
pub(crate) const TRANSFER_BYTES_MAX: usize = 1 << 30;

/// The submission entry of an operation. It points into `op`'s buffers. Only transfers have places
/// in the ring's tables.
pub(super) fn entry(op: &mut Op, places: Places) -> squeue::Entry {
    let entry = match op {
        Op::Read(transfer) => read(transfer, places),
        Op::Write(transfer) => write(transfer, places),
        Op::SyncData(file) => {
            opcode::Fsync::new(types::Fd(file.raw_fd())).flags(types::FsyncFlags::DATASYNC).build()
        }
        Op::Ready(node, interest) => {
            let events = interest.events() as u32;
            opcode::PollAdd::new(types::Fd(node.raw_fd()), events).build()
        }
        Op::Send(outgoing) => {
            let (fd, rest) = (types::Fd(outgoing.node.raw_fd()), outgoing.rest());
            let len = rest.len().min(TRANSFER_BYTES_MAX) as u32;
            opcode::Send::new(fd, rest.as_ptr(), len).flags(SEND_FLAGS).build()
        }
        Op::Meta(_) => unreachable!("file operations go to the pool"),
    };
    match places.file {
        Some(_) => entry.flags(squeue::Flags::FIXED_FILE),
        None => entry,
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
    let (fd, offset) = (fd(transfer, places), transfer.offset);
    if let Some((ptr, len)) = transfer.single() {
        let len = len.min(TRANSFER_BYTES_MAX) as u32;
        return match places.buffer {
            Some(at) => opcode::WriteFixed::new(fd, ptr, len, at).offset(offset).build(),
            None => opcode::Write::new(fd, ptr, len).offset(offset).build(),
        };
    }
    let spans = transfer.spans();
    opcode::Writev::new(fd, spans.as_ptr(), spans.len() as u32).offset(offset).build()
}
