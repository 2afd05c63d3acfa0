//! Opening: the flags, the lock, and the choice of ring or threads for this very file.

use std::io;
use std::os::fd::OwnedFd;
use std::path::Path;

use super::file::File;
use super::polling;
use crate::fs::descriptor::{Device, device_of, file_system, lock, open_fd, patiently};
use crate::fs::identity::{Identity, identity_at};
use crate::fs::options::{FileBackend, OpenOptions};
use crate::nvme::generic;
use crate::ring::context::Context;
use crate::ring::kind::RingKind;

/// Opens a file of the operating system.
pub(crate) fn open_file(path: &Path, options: &OpenOptions, context: Context) -> io::Result<File> {
    let (fd, direct) = open_maybe_direct(path, options)?;
    if options.lock {
        lock(&fd)?;
    }
    if let Some(block) = generic::block_folder(&fd)? {
        return open_namespace(fd, path, &block, options, context);
    }
    let mut backend = choose(&fd, options.direct, direct, context)?;
    if context.iopoll && options.direct {
        polling::check(&fd, options.read, &backend)?;
        backend.polled = true;
        backend.reason.push_str(", its device polled");
    }
    Ok(File::of_system(fd, path, backend, options.lock))
}

/// Opens a namespace of an NVMe device, whose block device the system shows in `block`.
fn open_namespace(
    fd: OwnedFd,
    path: &Path,
    block: &Path,
    options: &OpenOptions,
    context: Context,
) -> io::Result<File> {
    if !context.passthrough || !context.uring {
        let message =
            "this is a generic NVMe device: it is opened by io_uring with passthrough only";
        return Err(io::Error::new(io::ErrorKind::Unsupported, message));
    }
    let (namespace, words) = generic::namespace(&fd, block, options.write)?;
    // By the rings that direct files use.
    let polled = context.iopoll && options.direct;
    polling::check_commands(&fd, &namespace, block, polled)?;
    let (of, most) = (namespace.block_bytes, namespace.command_bytes_max());
    let polling = if polled { ", polled" } else { "" };
    let reason = format!(
        "NVMe commands by passthrough{polling}: blocks of {of} bytes, {most} bytes a command{words}"
    );
    let backend =
        FileBackend { kind: RingKind::Uring, direct: true, polled, passthrough: true, reason };
    Ok(File::of_namespace(fd, namespace, path, backend, options.lock))
}

/// The flags of `open`. A device that is locked is nobody else's: no file system on it is mounted,
/// and neither it nor a part of it is open so elsewhere.
fn flags(path: &Path, options: &OpenOptions) -> io::Result<i32> {
    let access = match (options.read, options.write) {
        (true, true) => libc::O_RDWR,
        (true, false) => libc::O_RDONLY,
        (false, true) => libc::O_WRONLY,
        (false, false) => {
            let message = "a file is opened for reading or writing";
            return Err(io::Error::new(io::ErrorKind::InvalidInput, message));
        }
    };
    let create = if options.create_new {
        libc::O_CREAT | libc::O_EXCL
    } else if options.create {
        libc::O_CREAT
    } else {
        0
    };
    let is_device = || matches!(identity_at(path), Ok(Identity::Device(_)));
    let alone = if options.lock && create == 0 && is_device() { libc::O_EXCL } else { 0 };
    Ok(access | create | alone)
}

/// Opens with O_DIRECT if wanted and possible. Says whether it was.
fn open_maybe_direct(path: &Path, options: &OpenOptions) -> io::Result<(OwnedFd, bool)> {
    let flags = flags(path, options)?;
    if !options.direct {
        return Ok((patiently(|| open_fd(path, flags))?, false));
    }
    match patiently(|| open_fd(path, flags | libc::O_DIRECT)) {
        Ok(fd) => Ok((fd, true)),
        // The refused call may have created the file already: `create_new` must not stumble.
        Err(error) if error.raw_os_error() == Some(libc::EINVAL) => {
            let again = if options.create_new { flags & !libc::O_EXCL } else { flags };
            Ok((open_fd(path, again)?, false))
        }
        Err(error) => Err(error),
    }
}

fn choose(fd: &OwnedFd, wanted: bool, direct: bool, context: Context) -> io::Result<FileBackend> {
    let threads = |reason: &str| FileBackend {
        kind: RingKind::Threads,
        direct,
        polled: false,
        passthrough: false,
        reason: reason.to_owned(),
    };
    // The name of a device is in a file system in memory, its data are not.
    let is_device = matches!(device_of(fd)?, Device::Block(..));
    let memory = !is_device && [libc::TMPFS_MAGIC, RAMFS_MAGIC].contains(&file_system(fd)?);
    Ok(match (context.uring, memory, wanted, direct) {
        (false, ..) => threads("the worker has no io_uring"),
        (_, true, ..) => {
            threads("on tmpfs io_uring has no non-blocking path and would feed kernel threads")
        }
        (_, _, true, false) => threads("the file system refuses O_DIRECT; served buffered"),
        (_, _, true, true) if is_device => uring(true, "O_DIRECT on a block device"),
        (_, _, true, true) => uring(true, "O_DIRECT on a file system with a non-blocking path"),
        (_, _, false, _) => uring(false, "buffered, as asked for"),
    })
}

fn uring(direct: bool, reason: &str) -> FileBackend {
    FileBackend {
        kind: RingKind::Uring,
        direct,
        polled: false,
        passthrough: false,
        reason: reason.to_owned(),
    }
}

const RAMFS_MAGIC: i64 = 0x8584_58f6;
