//! Deterministic simulation: all workers in one thread, virtual time, a disk of memory that
//! loses, tears, delays and refuses. One seed, one run: the same seed gives the same trace hash.
//!
//! The workers, their tasks and the scheduling are the real ones. Simulated are the clock, the
//! order in which workers take turns and operations complete, the disk, and the network.

mod crash;
mod disk;
mod faults;
mod flights;
mod image;
mod names;
pub(crate) mod network;
mod run;
mod trace;

pub(crate) use disk::Handle;
pub use disk::{Disk, SECTOR_BYTES};
pub use faults::{FaultPlan, Latency};
pub(crate) use flights::Port;
pub(crate) use network::{Endpoint, Spare};
pub use network::{Link, Network, NetworkFaults};
pub(crate) use run::start;
