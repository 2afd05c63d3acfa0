//! Calls on the descriptors of files.

use std::ffi::CString;
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::time::Duration;

/// Attempts at a lock, and the pause between them: a second. The kernel ends what a process that
/// was killed had asked its rings for after the process itself is gone, and holds the lock as long.
const LOCK_ATTEMPT_COUNT: u32 = 20;
const LOCK_PAUSE: Duration = Duration::from_millis(50);

const F2FS_MAGIC: i64 = 0xf2f5_2010;

/// Opens a descriptor with the given flags.
pub(crate) fn open_fd(path: &Path, flags: i32) -> io::Result<std::os::fd::OwnedFd> {
    use std::os::fd::FromRawFd;
    let path = CString::new(path.as_os_str().as_bytes())?;
    let flags = flags | libc::O_CLOEXEC;
    // SAFETY: `path` is a terminated string.
    let fd = retry(|| unsafe { libc::open(path.as_ptr(), flags, 0o644) } as isize)?;
    // SAFETY: a fresh descriptor that nobody else owns.
    let fd = unsafe { std::os::fd::OwnedFd::from_raw_fd(fd as i32) };
    debug_assert!(fd.as_raw_fd() >= 0);
    Ok(fd)
}

/// Repeats a system call that a signal has interrupted.
pub(crate) fn retry(mut call: impl FnMut() -> isize) -> io::Result<usize> {
    loop {
        let result = call();
        if result >= 0 {
            return Ok(result as usize);
        }
        let error = io::Error::last_os_error();
        if error.kind() != io::ErrorKind::Interrupted {
            return Err(error);
        }
    }
}

pub(crate) fn lock(fd: &OwnedFd) -> io::Result<()> {
    // SAFETY: plain system call on an open descriptor.
    patiently(|| match unsafe { libc::flock(fd.as_raw_fd(), libc::LOCK_EX | libc::LOCK_NB) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    })
}

/// Repeats what fails because somebody else has the file, for a while.
pub(crate) fn patiently<T>(mut attempt: impl FnMut() -> io::Result<T>) -> io::Result<T> {
    for _ in 1..LOCK_ATTEMPT_COUNT {
        match attempt() {
            Err(error) if is_taken(&error) => std::thread::sleep(LOCK_PAUSE),
            done => return done,
        }
    }
    attempt()
}

fn is_taken(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::ResourceBusy)
}

/// Gives the lock back before the descriptor is closed.
pub(crate) fn unlock(fd: &OwnedFd) {
    // SAFETY: plain system call on an open descriptor. It cannot fail for a lock that is held.
    let _ = unsafe { libc::flock(fd.as_raw_fd(), libc::LOCK_UN) };
}

/// The kind of an open descriptor, as far as it matters here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Device {
    /// A file, on the block device with these numbers.
    None(u32, u32),
    /// The block device with these numbers itself.
    Block(u32, u32),
    /// The character device with these numbers.
    Character(u32, u32),
}

/// Tells devices from files.
pub(crate) fn device_of(fd: &OwnedFd) -> io::Result<Device> {
    // SAFETY: all-zero is a valid `stat`.
    let mut stat: libc::stat = unsafe { std::mem::zeroed() };
    // SAFETY: `stat` is a valid place for the answer.
    retry(|| unsafe { libc::fstat(fd.as_raw_fd(), &mut stat) } as isize)?;
    let numbers = |device| (libc::major(device), libc::minor(device));
    let ((on_major, on_minor), (major, minor)) = (numbers(stat.st_dev), numbers(stat.st_rdev));
    Ok(match stat.st_mode & libc::S_IFMT {
        libc::S_IFBLK => Device::Block(major, minor),
        libc::S_IFCHR => Device::Character(major, minor),
        _ => Device::None(on_major, on_minor),
    })
}

/// The file system type of an open file, as `statfs` numbers it.
pub(crate) fn file_system(fd: &OwnedFd) -> io::Result<i64> {
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
pub(crate) fn heeds_dsync(fd: &OwnedFd) -> bool {
    let known =
        [libc::EXT4_SUPER_MAGIC, libc::XFS_SUPER_MAGIC, libc::BTRFS_SUPER_MAGIC, F2FS_MAGIC];
    file_system(fd).is_ok_and(|kind| known.contains(&kind))
}
