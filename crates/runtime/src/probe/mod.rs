//! What this machine offers, for `dovetail doctor` and for the measurements.

mod device;
mod durable;
mod file;
mod queue;
mod refusal;
mod system;

pub use device::{DeviceReport, device, reads};
pub use durable::{DurableReport, durable};
pub use file::{FileReport, file};
pub use queue::{QueueReport, queue};
pub(crate) use refusal::explain_refusal;
pub use system::{SystemReport, raise_open_file_limit, system};
