//! Namespaces of NVMe devices, and the commands by which they are read and written without the
//! block layer ("io_uring for High-Performance DBMSs", section 3.4.1).

pub(crate) mod command;
pub(crate) mod generic;
mod identify;
pub(crate) mod namespace;
pub(crate) mod status;

#[cfg(test)]
mod tests;
