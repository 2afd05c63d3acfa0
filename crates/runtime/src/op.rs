//! Operations: what a task asks of the disk. An operation owns its buffers and its file until its
//! final completion, whether or not somebody still waits for it.

use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use crate::buf::{Arena, IoBuf};
use crate::fs::durability::Durability;
use crate::fs::file::File;
use crate::fs::identity::Identity;
use crate::fs::options::OpenOptions;
use crate::net::attempt::Attempt;
use crate::net::inflow::Inflow;
use crate::net::interest::{Interest, Purpose};
use crate::net::lending::Lending;
use crate::net::node::Node;

/// The memory of a transfer.
pub(crate) enum Bufs {
    One(IoBuf),
    Many { bufs: Vec<IoBuf>, spans: Spans },
}

/// What the kernel's vectored calls read; points into the buffers beside it.
#[derive(Default)]
pub(crate) struct Spans(pub(crate) Vec<libc::iovec>);

// SAFETY: the pointers are used only together with the buffers that they point into, which are
// `Send` themselves.
unsafe impl Send for Spans {}

impl Bufs {
    /// The pieces of memory from byte `from` on, if they are several.
    pub(crate) fn spans(&mut self, from: usize) -> Option<&mut Vec<libc::iovec>> {
        let Bufs::Many { bufs, spans } = self else { return None };
        let mut skip = from;
        spans.0.clear();
        for buf in bufs.iter() {
            let cut = skip.min(buf.len());
            skip -= cut;
            if cut < buf.len() {
                // SAFETY: `cut` is inside of the buffer.
                let base = unsafe { buf.as_ptr().add(cut) };
                spans.0.push(libc::iovec { iov_base: base.cast(), iov_len: buf.len() - cut });
            }
        }
        Some(&mut spans.0)
    }
}

/// Bytes between a file and memory, from the buffers' byte `from` on.
pub(crate) struct Transfer {
    pub(crate) file: File,
    pub(crate) bufs: Bufs,
    pub(crate) from: usize,
    pub(crate) offset: u64,
    /// Of a write: in which way it is durable when it has ended. A sync that comes after it is another
    /// operation.
    pub(crate) durability: Durability,
}

/// Everything about files that is not a transfer.
#[derive(Clone)]
pub(crate) enum Meta {
    Open(PathBuf, OpenOptions),
    Rename(PathBuf, PathBuf),
    Remove(PathBuf),
    Exists(PathBuf),
    Identity(PathBuf),
    CreateDir(PathBuf),
    SyncDir(PathBuf),
    List(PathBuf),
    Len(File),
    SetLen(File, u64),
    Allocate(File, u64, u64),
    GiveBack(File, u64, u64),
}

/// The answer to a [`Meta`].
pub(crate) enum Answer {
    Unit,
    File(File),
    Bool(bool),
    Len(u64),
    Names(Vec<String>),
    Identity(Identity),
}

pub(crate) enum Op {
    Read(Transfer),
    Write(Transfer),
    SyncData(File),
    Meta(Meta),
    /// A wait for a socket.
    Ready(Arc<Node>, Interest, Purpose),
    /// Bytes for a socket, as many as it has room for now.
    Send(Outgoing),
    /// Bytes from a socket into memory of the operation, as many as have come once some have.
    Recv(Incoming),
    /// All bytes of a buffer for a socket.
    Lend(Lending),
    /// Bytes from a socket into buffers of a pool, as they come.
    Stream(Inflow),
    /// A connection attempt.
    Connect(Attempt),
}

/// Bytes for a socket, of which `from` have been sent.
pub(crate) struct Outgoing {
    pub(crate) node: Arc<Node>,
    pub(crate) purpose: Purpose,
    pub(crate) bytes: Vec<u8>,
    pub(crate) from: usize,
}

impl Outgoing {
    /// What is still to be sent.
    pub(crate) fn rest(&self) -> &[u8] {
        &self.bytes[self.from..]
    }
}

/// Memory for bytes of a socket, from `start` to `end`; it is filled up to `filled`.
pub(crate) struct Incoming {
    pub(crate) node: Arc<Node>,
    pub(crate) purpose: Purpose,
    pub(crate) buf: IoBuf,
    /// Where the first byte goes.
    pub(crate) start: usize,
    /// Where the next byte goes.
    pub(crate) filled: usize,
    pub(crate) end: usize,
}

impl Incoming {
    /// Memory and length of what is wanted.
    pub(crate) fn wanted(&self) -> (*mut u8, usize) {
        assert!(self.start <= self.end && self.end <= self.buf.len(), "bytes go into the buffer");
        // SAFETY: in bounds by the assertion.
        (unsafe { self.buf.as_ptr().add(self.start) }, self.end - self.start)
    }

    /// Takes what has come, where no ring does so; `None` when nothing has.
    pub(crate) fn take(&mut self) -> Option<io::Result<usize>> {
        while self.filled < self.end {
            let into = &mut self.buf.as_mut_slice()[self.filled..self.end];
            match self.node.recv(into) {
                Ok(0) => return Some(Ok(self.count())),
                Ok(count) => self.filled += count,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    return (self.count() > 0).then(|| Ok(self.count()));
                }
                Err(_) if self.count() > 0 => return Some(Ok(self.count())),
                Err(error) => return Some(Err(error)),
            }
        }
        Some(Ok(self.count()))
    }

    fn count(&self) -> usize {
        self.filled - self.start
    }
}

impl Op {
    /// Whether it is a write and a sync that the kernel gets together.
    pub(crate) fn is_linked(&self) -> bool {
        matches!(self, Op::Write(transfer) if transfer.durability == Durability::Linked)
    }

    /// Whether many may wait for it, as all who commit together wait for one sync: it does not wait for others to
    /// be submitted with.
    pub(crate) fn is_hurried(&self) -> bool {
        match self {
            Op::Write(transfer) => transfer.durability != Durability::None,
            Op::SyncData(_) => true,
            _ => false,
        }
    }

    /// Whether it is about a socket and so takes no place of the disk's.
    pub(crate) fn is_socket(&self) -> bool {
        matches!(
            self,
            Op::Ready(..)
                | Op::Send(_)
                | Op::Recv(_)
                | Op::Lend(_)
                | Op::Stream(_)
                | Op::Connect(_)
        )
    }

    /// Whether somebody waits for it who wants a short answer. What moves data in bulk over sockets
    /// is work like reads of a disk.
    pub(crate) fn is_client(&self) -> bool {
        let purpose = match self {
            Op::Ready(_, _, purpose) => *purpose,
            Op::Send(outgoing) => outgoing.purpose,
            Op::Recv(incoming) => incoming.purpose,
            Op::Lend(lending) => lending.purpose,
            Op::Stream(inflow) => inflow.purpose,
            Op::Connect(attempt) => attempt.purpose,
            Op::Read(_) | Op::Write(_) | Op::SyncData(_) | Op::Meta(_) => return false,
        };
        purpose == Purpose::Client
    }

    /// Whether it may wait for ever, so that who does not want it any more has to end it.
    pub(crate) fn is_endless(&self) -> bool {
        match self {
            Op::Ready(..) | Op::Recv(_) | Op::Stream(_) | Op::Connect(_) => true,
            // Bytes that were taken are read until the peer has them.
            Op::Lend(lending) => lending.taken.is_none(),
            _ => false,
        }
    }

    /// True if all that is left of it is that others read its memory.
    pub(crate) fn is_read_on(&self) -> bool {
        matches!(self, Op::Lend(lending) if lending.taken.is_some())
    }
}

/// The message of a completion about an operation.
pub(crate) enum Told {
    /// There are more to come.
    Part(Part),
    /// It was the final one.
    End(Outcome),
}

/// A part of an operation before its end.
pub(crate) enum Part {
    /// So many bytes have come, in the buffer `first` of its pool and those behind it.
    Arrived { first: u16, bytes: usize },
    /// The bytes of lent memory have been taken.
    Taken(io::Result<usize>),
    /// Nobody reads lent memory any more, which was copied or not.
    Returned { is_copied: bool },
}

/// How an operation ended.
pub(crate) enum Outcome {
    Count(io::Result<usize>),
    Answer(io::Result<Answer>),
}

impl Outcome {
    pub(crate) fn failed(op: &Op, error: io::Error) -> Outcome {
        match op {
            Op::Meta(_) => Outcome::Answer(Err(error)),
            _ => Outcome::Count(Err(error)),
        }
    }

    pub(crate) fn into_count(self) -> io::Result<usize> {
        match self {
            Outcome::Count(count) => count,
            Outcome::Answer(_) => unreachable!("a transfer ends with a count"),
        }
    }

    pub(crate) fn into_answer(self) -> io::Result<Answer> {
        match self {
            Outcome::Answer(answer) => answer,
            Outcome::Count(_) => unreachable!("a file operation ends with an answer"),
        }
    }
}

impl Transfer {
    /// Whether what it writes is durable when it has ended.
    pub(crate) fn is_durable(&self) -> bool {
        matches!(self.durability, Durability::Flag | Durability::Linked)
    }

    /// The flags of the kernel's vectored calls.
    pub(crate) fn flags(&self) -> i32 {
        if self.durability == Durability::Flag { libc::RWF_DSYNC } else { 0 }
    }

    /// Bytes from `from` to the end of the buffers.
    pub(crate) fn len(&self) -> usize {
        let total: usize = match &self.bufs {
            Bufs::One(buf) => buf.len(),
            Bufs::Many { bufs, .. } => bufs.iter().map(IoBuf::len).sum(),
        };
        total - self.from
    }

    /// Memory and length of the whole transfer, when it is in one piece.
    pub(crate) fn single(&self) -> Option<(*mut u8, usize)> {
        let Bufs::One(buf) = &self.bufs else { return None };
        assert!(self.from <= buf.len(), "a transfer starts inside of its buffer");
        // SAFETY: in bounds by the assertion.
        Some((unsafe { buf.as_ptr().add(self.from) }, buf.len() - self.from))
    }

    /// The buffer of a transfer in one piece, if it is a slice of an announced arena.
    pub(crate) fn arena_buf(&self) -> Option<(&Arena, &IoBuf)> {
        let Bufs::One(buf) = &self.bufs else { return None };
        Some((buf.arena()?, buf))
    }

    /// The pieces of memory, for the kernel's vectored calls; valid while the transfer lives.
    pub(crate) fn spans(&mut self) -> &[libc::iovec] {
        self.bufs.spans(self.from).map_or(&[], |spans| spans)
    }

    /// True when memory and length of each piece are multiples of `unit`.
    pub(crate) fn is_aligned(&self, unit: u64) -> bool {
        let unit = unit as usize;
        let bufs = match &self.bufs {
            Bufs::One(buf) => std::slice::from_ref(buf),
            Bufs::Many { bufs, .. } => bufs.as_slice(),
        };
        self.from.is_multiple_of(unit)
            && bufs.iter().all(|buf| {
                buf.len().is_multiple_of(unit) && buf.as_ptr().addr().is_multiple_of(unit)
            })
    }

    /// Copies `bytes` into the buffers (the simulation's read). Returns how many fitted.
    pub(crate) fn fill(&mut self, bytes: &[u8]) -> usize {
        let mut skip = self.from;
        let mut rest = bytes;
        let bufs = match &mut self.bufs {
            Bufs::One(buf) => std::slice::from_mut(buf),
            Bufs::Many { bufs, .. } => bufs.as_mut_slice(),
        };
        for buf in bufs {
            let cut = skip.min(buf.len());
            skip -= cut;
            let target = &mut buf.as_mut_slice()[cut..];
            let n = target.len().min(rest.len());
            target[..n].copy_from_slice(&rest[..n]);
            rest = &rest[n..];
        }
        bytes.len() - rest.len()
    }

    /// A copy of the buffers' bytes (the simulation's write).
    pub(crate) fn gather(&self) -> Vec<u8> {
        let bufs = match &self.bufs {
            Bufs::One(buf) => std::slice::from_ref(buf),
            Bufs::Many { bufs, .. } => bufs.as_slice(),
        };
        let mut bytes: Vec<u8> = bufs.iter().flat_map(|buf| buf.as_slice()).copied().collect();
        bytes.drain(..self.from);
        bytes
    }
}
