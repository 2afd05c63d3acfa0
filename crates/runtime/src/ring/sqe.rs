//! Operations as submission entries.

use std::os::fd::AsRawFd;

use io_uring::{opcode, squeue, types};

use crate::net::SEND_FLAGS;
use crate::op::{Op, Transfer};

/// Most bytes of one kernel transfer; longer ones come back short and are continued.
pub(crate) const TRANSFER_BYTES_MAX: usize = 1 << 30;

/// The submission entry of a transfer or a sync. It points into `op`'s buffers.
pub(super) fn entry(op: &mut Op) -> squeue::Entry {
    match op {
        Op::Read(transfer) => read(transfer),
        Op::Write(transfer) => write(transfer),
        Op::SyncData(file) => {
            opcode::Fsync::new(types::Fd(file.raw_fd())).flags(types::FsyncFlags::DATASYNC).build()
        }
        Op::Ready(fd, interest) => {
            let events = interest.events() as u32;
            opcode::PollAdd::new(types::Fd(fd.as_raw_fd()), events).build()
        }
        Op::Send(outgoing) => {
            let (fd, rest) = (types::Fd(outgoing.fd.as_raw_fd()), outgoing.rest());
            let len = rest.len().min(TRANSFER_BYTES_MAX) as u32;
            opcode::Send::new(fd, rest.as_ptr(), len).flags(SEND_FLAGS).build()
        }
        Op::Meta(_) => unreachable!("file operations go to the pool"),
    }
}

fn read(transfer: &mut Transfer) -> squeue::Entry {
    let (fd, offset) = (types::Fd(transfer.file.raw_fd()), transfer.offset);
    if let Some((ptr, len)) = transfer.single() {
        let len = len.min(TRANSFER_BYTES_MAX) as u32;
        return opcode::Read::new(fd, ptr, len).offset(offset).build();
    }
    let spans = transfer.spans();
    opcode::Readv::new(fd, spans.as_ptr(), spans.len() as u32).offset(offset).build()
}

fn write(transfer: &mut Transfer) -> squeue::Entry {
    let (fd, offset) = (types::Fd(transfer.file.raw_fd()), transfer.offset);
    if let Some((ptr, len)) = transfer.single() {
        let len = len.min(TRANSFER_BYTES_MAX) as u32;
        return opcode::Write::new(fd, ptr, len).offset(offset).build();
    }
    let spans = transfer.spans();
    opcode::Writev::new(fd, spans.as_ptr(), spans.len() as u32).offset(offset).build()
}
