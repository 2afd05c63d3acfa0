//! Files and directories.

pub(crate) mod durability;
pub(crate) mod file;
mod names;
pub(crate) mod open;
mod polling;

pub use durability::Durability;
pub use file::{File, ManyTransfer, OneTransfer, VECTOR_COUNT_MAX};
pub use names::{create_dir, exists, list, read, remove, rename, sync_dir};
pub use open::{FileBackend, OpenOptions};
