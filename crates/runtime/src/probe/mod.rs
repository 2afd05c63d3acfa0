//! What this machine offers, for `dovetail doctor` and for the measurements.

mod bare;
mod device;
mod durable;
mod file;
mod identity;
mod profile;
mod queue;
pub(crate) mod refusal;
mod settled;
mod system;

pub use bare::{
    BATCH_MAX, RequestCosts, TaskWork, batched_reads, batched_writes, durable_by_ring, nops,
};
pub use device::{DeviceReport, device, reads};
pub use durable::{DurableReport, durable};
pub use file::{FileReport, file};
pub use identity::device_identity;
pub use profile::{MANY_DEPTH, ProfileReport, profile};
pub use queue::{QueueReport, queue};
pub use settled::settled;
pub use system::{SystemReport, raise_open_file_limit, system};
