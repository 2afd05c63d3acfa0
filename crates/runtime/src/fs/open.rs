//! Opening: the flags, the lock, and the choice of ring or threads for this very file.

use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::path::Path;
use std::time::Duration;

use super::file::File;
use super::polling;
use crate::config::RingKind;
use crate::ring::blocking::{Context, open_fd};

/// How a file is opened.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OpenOptions {
    /// For reading.
    pub read: bool,
    /// For writing.
    pub write: bool,
    /// Create it when it is missing.
    pub create: bool,
    /// Create it, and fail when it exists.
    pub create_new: bool,
    /// Past the page cache (O_DIRECT): buffers, offsets and lengths aligned to the device's
    /// blocks. A file system that cannot do it serves the file buffered; `File::backend` says so.
    pub direct: bool,
    /// Exclusive lock, tried several times: after a killed process its last operations still
    /// hold the lock for a moment.
    pub lock: bool,
}

/// How requests for a file travel, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileBackend {
    /// The ring, threads, or the simulation.
    pub kind: RingKind,
    /// Whether the page cache is bypassed.
    pub direct: bool,
    /// Whether the device is polled for completions (`Config::iopoll`).
    pub polled: bool,
    /// Why so.
    pub reason: String,
}

/// Attempts at a lock, and the pause between them (TigerBeetle's figures).
const LOCK_ATTEMPT_COUNT: u32 = 5;
const LOCK_PAUSE: Duration = Duration::from_millis(50);

/// Opens a file of the operating system.
pub(crate) fn open_file(path: &Path, options: &OpenOptions, context: Context) -> io::Result<File> {
    let (fd, direct) = open_maybe_direct(path, options)?;
    if options.lock {
        lock(&fd)?;
    }
    let mut backend = choose(&fd, options.direct, direct, context)?;
    if context.iopoll && options.direct {
        polling::check(&fd, options.read, &backend)?;
        backend.polled = true;
        backend.reason.push_str(", its device polled");
    }
    Ok(File::of_system(fd, path, backend, options.lock))
}

fn flags(options: &OpenOptions) -> io::Result<i32> {
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
    Ok(access | create)
}

/// Opens with O_DIRECT if wanted and possible. Says whether it was.
fn open_maybe_direct(path: &Path, options: &OpenOptions) -> io::Result<(OwnedFd, bool)> {
    let flags = flags(options)?;
    if !options.direct {
        return Ok((open_fd(path, flags)?, false));
    }
    match open_fd(path, flags | libc::O_DIRECT) {
        Ok(fd) => Ok((fd, true)),
        // The refused call may have created the file already: `create_new` must not stumble.
        Err(error) if error.raw_os_error() == Some(libc::EINVAL) => {
            Ok((open_fd(path, flags & !libc::O_EXCL)?, false))
        }
        Err(error) => Err(error),
    }
}

fn lock(fd: &OwnedFd) -> io::Result<()> {
    let mut attempt = 1;
    loop {
        // SAFETY: plain system call on an open descriptor.
        if unsafe { libc::flock(fd.as_raw_fd(), libc::LOCK_EX | libc::LOCK_NB) } == 0 {
            return Ok(());
        }
        let error = io::Error::last_os_error();
        let locked = error.kind() == io::ErrorKind::WouldBlock;
        if attempt == LOCK_ATTEMPT_COUNT || !locked {
            return Err(error);
        }
        attempt += 1;
        std::thread::sleep(LOCK_PAUSE);
    }
}

/// Gives the lock back before the descriptor is closed.
pub(super) fn unlock(fd: &OwnedFd) {
    // SAFETY: plain system call on an open descriptor. It cannot fail for a lock that is held.
    let _ = unsafe { libc::flock(fd.as_raw_fd(), libc::LOCK_UN) };
}

/// The file system type of an open file, as `statfs` numbers it.
fn file_system(fd: &OwnedFd) -> io::Result<i64> {
    // SAFETY: all-zero is a valid `statfs`.
    let mut stat: libc::statfs = unsafe { std::mem::zeroed() };
    // SAFETY: `stat` is a valid place for the answer.
    if unsafe { libc::fstatfs(fd.as_raw_fd(), &mut stat) } != 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(stat.f_type as i64)
}

/// Whether writes with `RWF_DSYNC` to an open file are known to be durable when they end, when it is direct: some
/// file systems pass the wish on, or forget it.
pub(super) fn heeds_dsync(fd: &OwnedFd) -> bool {
    let known =
        [libc::EXT4_SUPER_MAGIC, libc::XFS_SUPER_MAGIC, libc::BTRFS_SUPER_MAGIC, F2FS_MAGIC];
    file_system(fd).is_ok_and(|kind| known.contains(&kind))
}

fn choose(fd: &OwnedFd, wanted: bool, direct: bool, context: Context) -> io::Result<FileBackend> {
    let threads = |reason: &str| FileBackend {
        kind: RingKind::Threads,
        direct,
        polled: false,
        reason: reason.to_owned(),
    };
    let memory = [libc::TMPFS_MAGIC, RAMFS_MAGIC].contains(&file_system(fd)?);
    Ok(match (context.uring, memory, wanted, direct) {
        (false, ..) => threads("the worker has no io_uring"),
        (_, true, ..) => {
            threads("on tmpfs io_uring has no non-blocking path and would feed kernel threads")
        }
        (_, _, true, false) => threads("the file system refuses O_DIRECT; served buffered"),
        (_, _, true, true) => uring(true, "O_DIRECT on a file system with a non-blocking path"),
        (_, _, false, _) => uring(false, "buffered, as asked for"),
    })
}

fn uring(direct: bool, reason: &str) -> FileBackend {
    FileBackend { kind: RingKind::Uring, direct, polled: false, reason: reason.to_owned() }
}

const RAMFS_MAGIC: i64 = 0x8584_58f6;
const F2FS_MAGIC: i64 = 0xf2f5_2010;
