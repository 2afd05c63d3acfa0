//! What this machine offers, for `dovetail doctor` and for the measurements.

mod device;
mod file;
mod refusal;
mod system;

pub use device::{DeviceReport, device};
pub use file::{FileReport, file};
pub(crate) use refusal::explain_refusal;
pub use system::{SystemReport, raise_open_file_limit, system};
