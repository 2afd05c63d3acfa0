//! Generic character devices of namespaces (`/dev/ngXnY`): found, identified, claimed.

use std::fs;
use std::io;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

use super::identify;
use super::namespace::Namespace;
use crate::fs::descriptor::{Device, device_of, open_fd};

/// The system's folder of the block device beside an open generic one; `None` for any other file.
pub(crate) fn block_folder(fd: &OwnedFd) -> io::Result<Option<PathBuf>> {
    let Device::Character(major, minor) = device_of(fd)? else { return Ok(None) };
    let Ok(folder) = fs::canonicalize(format!("/sys/dev/char/{major}:{minor}")) else {
        return Ok(None);
    };
    let class = fs::canonicalize(folder.join("subsystem")).unwrap_or_default();
    if !class.ends_with("nvme-generic") {
        return Ok(None);
    }
    let name = folder.file_name().unwrap_or_default().to_string_lossy();
    Ok(Some(folder.with_file_name(block_name(&name))))
}

/// `nvme0n1` of `ng0n1`.
pub(super) fn block_name(generic: &str) -> String {
    format!("nvme{}", generic.strip_prefix("ng").unwrap_or(generic))
}

/// The generic device of the namespace that the system shows as a block device in this folder.
pub(crate) fn generic_of(block: &Path) -> Option<PathBuf> {
    let name = block.file_name()?.to_str()?.strip_prefix("nvme")?;
    let name = format!("ng{name}");
    block.with_file_name(&name).exists().then(|| Path::new("/dev").join(name))
}

/// The namespace of an open generic device. If it is to be written, its block device is held; where
/// that has no name, the words say so.
///
/// # Errors
/// When it is in use, or no plain read or write suits it.
pub(crate) fn namespace(
    fd: &OwnedFd,
    block: &Path,
    is_written: bool,
) -> io::Result<(Namespace, String)> {
    let mut namespace = identify::namespace(fd, block)?;
    if !is_written {
        return Ok((namespace, String::new()));
    }
    let path = Path::new("/dev").join(block.file_name().unwrap_or_default());
    match open_fd(&path, libc::O_RDONLY | libc::O_EXCL) {
        Ok(claim) => {
            namespace.claim = Some(claim);
            Ok((namespace, String::new()))
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            let words = format!("; {} is not there: other users go unseen", path.display());
            Ok((namespace, words))
        }
        Err(error) => {
            let message = format!("{} is in use or cannot be held: {error}", path.display());
            Err(io::Error::new(error.kind(), message))
        }
    }
}
