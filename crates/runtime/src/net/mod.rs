//! Sockets: streams over TCP and unix sockets, whose tasks sleep until the kernel has something.
//!
//! A socket never blocks. Its calls are made at once, into the caller's memory; only when the
//! kernel has nothing yet does the task wait for *readiness*, which is an operation of the ring (or
//! of one poll thread where there is no ring). So thousands of silent connections cost neither
//! threads nor buffers. Two calls lend memory to the kernel: `send_vec`, so that the answers of many
//! connections leave with one call, and `recv_into`, by which data in bulk lands where it is to be.
//!
//! For exchanges of data in bulk there are `send_buf`, which may lend a buffer to the kernel until
//! the peer has its bytes, and `Receiver`, whose one request is told of bytes again and again, in
//! buffers of a pool.
//!
//! Inside of a simulation all of it is asked of the simulated network (`sim::Network`), by the same
//! types.

pub(crate) mod address;
pub(crate) mod attempt;
pub(crate) mod descriptor;
pub(crate) mod inflow;
pub(crate) mod interest;
pub(crate) mod lending;
mod lent;
pub(crate) mod listener;
mod names;
pub(crate) mod node;
pub(crate) mod pool;
mod pools;
pub(crate) mod readiness;
mod receiver;
pub(crate) mod socket;
pub(crate) mod tuning;

use std::io;

pub use address::Address;
pub use interest::{Purpose, Shutdown};
pub use lent::{Lent, SendReport};
pub use listener::{Listener, Spare};
pub use names::resolve;
pub use pool::{BufferPool, Chunk, PoolOptions};
pub use receiver::Receiver;
pub use socket::Socket;
pub use tuning::Tuning;

use crate::worker;

/// Takes now what this worker needs to wait for sockets, where that is no ring: two descriptors and a
/// thread. Otherwise its first wait takes them, for which there may be none left.
///
/// # Errors
/// That there are none left.
pub fn prepare() -> io::Result<()> {
    worker::with(|worker| worker.prepare_sockets())
}
