//! What the file system under a path can do.

use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::path::{Path, PathBuf};

use crate::fs::descriptor::open_fd;
use crate::fs::open::open_file;
use crate::fs::options::{FileBackend, OpenOptions};
use crate::ring::context::Context;
use crate::ring::setup::{self, Wish};

/// A file, its file system, and how a runtime would read it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileReport {
    /// The file that was looked at.
    pub path: PathBuf,
    /// The type of the file system: a name, or the number of `statfs`.
    pub file_system: String,
    /// Alignment in bytes that O_DIRECT demands of memory and of offsets, where the kernel tells
    /// (`statx` with `STATX_DIOALIGN`, Linux 6.1); zeros mean no O_DIRECT.
    pub direct_align_bytes: Option<(u32, u32)>,
    /// Space left for unprivileged users, bytes.
    pub free_bytes: u64,
    /// How requests would travel on this machine, opened for direct reads.
    pub backend: FileBackend,
}

/// Looks at an existing file. Blocks for some system calls.
pub fn file(path: impl AsRef<Path>) -> io::Result<FileReport> {
    let path = path.as_ref();
    let fd = open_fd(path, libc::O_RDONLY)?;
    let stat = file_system(&fd)?;
    let opens = |passthrough| setup::open(&Wish { passthrough, ..Wish::plain(1) }).is_ok();
    let context = Context { uring: opens(false), iopoll: false, passthrough: opens(true) };
    let options = OpenOptions { read: true, direct: true, ..OpenOptions::default() };
    let opened = open_file(path, &options, context)?;
    Ok(FileReport {
        path: path.to_owned(),
        file_system: name(stat.f_type as i64),
        direct_align_bytes: direct_align(&fd),
        free_bytes: stat.f_bavail * stat.f_bsize as u64,
        backend: opened.backend().clone(),
    })
}

/// What is said of an open file's file system.
fn file_system(fd: &OwnedFd) -> io::Result<libc::statfs> {
    // SAFETY: all-zero is a valid `statfs`.
    let mut stat: libc::statfs = unsafe { std::mem::zeroed() };
    // SAFETY: `stat` is a valid place for the answer.
    match unsafe { libc::fstatfs(fd.as_raw_fd(), &mut stat) } {
        0 => Ok(stat),
        _ => Err(io::Error::last_os_error()),
    }
}

/// The type of the file system that a file is on.
pub(super) fn file_system_name(path: &Path) -> io::Result<String> {
    let fd = open_fd(path, libc::O_RDONLY)?;
    Ok(name(file_system(&fd)?.f_type as i64))
}

fn name(magic: i64) -> String {
    match magic {
        0xEF53 => "ext2/ext3/ext4".to_owned(),
        0x5846_5342 => "xfs".to_owned(),
        0x9123_683E => "btrfs".to_owned(),
        0x0102_1994 => "tmpfs".to_owned(),
        0x794C_7630 => "overlayfs".to_owned(),
        0x6969 => "nfs".to_owned(),
        0x2FC1_2FC1 => "zfs".to_owned(),
        0xF2F5_2010 => "f2fs".to_owned(),
        other => format!("type {other:#x}"),
    }
}

fn direct_align(fd: &OwnedFd) -> Option<(u32, u32)> {
    // SAFETY: all-zero is a valid `statx`.
    let mut stat: libc::statx = unsafe { std::mem::zeroed() };
    // SAFETY: an empty terminated path with AT_EMPTY_PATH names the descriptor itself; `stat` is
    // a valid place for the answer.
    let rc = unsafe {
        let flags = libc::AT_EMPTY_PATH;
        libc::statx(fd.as_raw_fd(), c"".as_ptr(), flags, libc::STATX_DIOALIGN, &mut stat)
    };
    let told = rc == 0 && stat.stx_mask & libc::STATX_DIOALIGN != 0;
    told.then_some((stat.stx_dio_mem_align, stat.stx_dio_offset_align))
}
