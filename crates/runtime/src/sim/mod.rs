//! Deterministic simulation: all workers in one thread, virtual time, a disk of memory that
//! loses, tears, delays and refuses. One seed, one run: the same seed gives the same trace hash.
//!
//! The workers, their tasks and the scheduling are the real ones. Simulated are the clock, the
//! order in which workers take turns and operations complete, the disk, and the network.

mod crash;
pub(crate) mod disk;
mod faults;
pub(crate) mod flights;
mod image;
mod names;
pub(crate) mod network;
pub(crate) mod run;
mod trace;

pub use disk::Disk;
pub use faults::{FaultPlan, Latency};
pub use image::SECTOR_BYTES;
pub use network::Network;
pub use network::plan::{Link, NetworkFaults};
