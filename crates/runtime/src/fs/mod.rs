//! Files and directories.

pub(crate) mod descriptor;
pub(crate) mod durability;
pub(crate) mod file;
pub(crate) mod identity;
mod names;
pub(crate) mod open;
pub(crate) mod options;
mod overlay;
mod polling;
mod transfers;

pub use durability::Durability;
pub use file::File;
pub use identity::Identity;
pub use names::{create_dir, exists, identity, list, read, remove, rename, sync_dir};
pub use options::{FileBackend, OpenOptions, Scratch};
pub use transfers::{ManyTransfer, OneTransfer, VECTOR_COUNT_MAX};
