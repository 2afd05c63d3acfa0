//! Sockets: streams over TCP and unix sockets, whose tasks sleep until the kernel has something.
//!
//! A socket never blocks. Its calls are made at once, into the caller's memory; only when the
//! kernel has nothing yet does the task wait for *readiness*, which is an operation of the ring (or
//! of one poll thread where there is no ring). So thousands of silent connections cost neither
//! threads nor buffers. Two calls lend memory to the kernel: `send_vec`, so that the answers of many
//! connections leave with one call, and `recv_into`, by which data in bulk lands where it is to be.
//!
//! Inside of a simulation all of it is asked of the simulated network (`sim::Network`), by the same
//! types.

pub(crate) mod address;
pub(crate) mod attempt;
pub(crate) mod listener;
mod names;
pub(crate) mod node;
pub(crate) mod socket;

use std::io;
use std::sync::Arc;

pub use address::Address;
pub use listener::{Listener, Spare};
pub use names::resolve;
pub(crate) use node::Node;
pub use socket::{Shutdown, Socket};

use crate::op::{Op, begin};
use crate::time::Instant;
use crate::worker;

/// What a socket is for. It decides how the scheduler treats what is asked of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// Somebody waits for short answers: these go before the work of queries.
    Client,
    /// Data in bulk, which is the work of queries itself: it is submitted and waited for like reads
    /// of a disk.
    Transfer,
}

/// What a task waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Interest {
    /// Bytes, a connection, or the end of the stream.
    Read,
    /// Room for bytes, or the end of a connection attempt.
    Write,
    /// The end of what the peer sends.
    HangUp,
}

impl Interest {
    /// The event bits of poll(2).
    pub(crate) fn events(self) -> i16 {
        match self {
            Interest::Read => libc::POLLIN,
            Interest::Write => libc::POLLOUT,
            Interest::HangUp => libc::POLLRDHUP,
        }
    }
}

/// Takes now what this worker needs to wait for sockets, where that is no ring: two descriptors and a
/// thread. Otherwise its first wait takes them, for which there may be none left.
///
/// # Errors
/// That there are none left.
pub fn prepare() -> io::Result<()> {
    worker::with(|worker| worker.prepare_sockets())
}

/// Waits until a socket is ready. Dropping the future ends the wait.
async fn ready(node: &Arc<Node>, interest: Interest, purpose: Purpose) -> io::Result<()> {
    begin(Op::Ready(node.clone(), interest, purpose)).await.0.into_count().map(drop)
}

/// The same until `deadline` at most; `TimedOut` then.
async fn ready_until(
    node: &Arc<Node>,
    interest: Interest,
    purpose: Purpose,
    deadline: Instant,
) -> io::Result<()> {
    let waiting = begin(Op::Ready(node.clone(), interest, purpose));
    match waiting.until(deadline).await {
        (_, _, true) => Err(io::ErrorKind::TimedOut.into()),
        (outcome, ..) => outcome.into_count().map(drop),
    }
}

/// Makes a call that does not block until it has an answer, waiting for readiness in between.
async fn retry<T>(
    node: &Arc<Node>,
    interest: Interest,
    purpose: Purpose,
    mut call: impl FnMut() -> io::Result<T>,
) -> io::Result<T> {
    loop {
        match call() {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                ready(node, interest, purpose).await?
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            other => return other,
        }
    }
}

/// How bytes are sent: without waiting for room, and without a signal when the peer is gone.
pub(crate) const SEND_FLAGS: i32 = libc::MSG_DONTWAIT | libc::MSG_NOSIGNAL;

/// The result of a system call that gives -1 on failure.
fn checked(result: isize) -> io::Result<usize> {
    usize::try_from(result).map_err(|_| io::Error::last_os_error())
}
