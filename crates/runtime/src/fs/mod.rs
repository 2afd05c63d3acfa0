//! Files and directories.

mod file;
mod names;
mod open;

pub use file::File;
pub(crate) use file::Node;
pub use names::{create_dir, exists, list, read, remove, rename, sync_dir};
pub(crate) use open::open_file;
pub use open::{FileBackend, OpenOptions};
