//! Files and directories.

mod durability;
mod file;
mod names;
mod open;
mod polling;

pub use durability::Durability;
pub(crate) use file::Node;
pub use file::{File, ManyTransfer, OneTransfer, VECTOR_COUNT_MAX};
pub use names::{create_dir, exists, list, read, remove, rename, sync_dir};
pub(crate) use open::open_file;
pub use open::{FileBackend, OpenOptions};
