//! Which file a name means.

use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::Path;
use std::{fs, io};

/// The thing behind a name. Two names with equal identities are one file: links, hard and symbolic
/// ones, have that of what they lead to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Identity {
    /// A regular file: the number of its file system, and its own there.
    File(u64, u64),
    /// A block device with this number.
    Device(u64),
    /// A directory, a pipe and the like.
    Other,
}

/// The identity of what the system has at `path`.
pub(crate) fn identity_at(path: &Path) -> io::Result<Identity> {
    let found = fs::metadata(path)?;
    let kind = found.file_type();
    Ok(match (kind.is_file(), kind.is_block_device()) {
        (true, _) => Identity::File(found.dev(), found.ino()),
        (_, true) => Identity::Device(found.rdev()),
        _ => Identity::Other,
    })
}
