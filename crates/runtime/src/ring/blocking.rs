//! The operations as blocking system calls.

use std::io;
use std::path::Path;

use super::pool::Memory;
use super::sqe::TRANSFER_BYTES_MAX;
use crate::fs::descriptor::retry;
use crate::fs::durability::Durability;
use crate::fs::file::File;
use crate::fs::identity::identity_at;
use crate::fs::open::open_file;
use crate::op::{Answer, Meta};
pub(crate) use crate::ring::context::Context;

pub(crate) fn read(fd: i32, memory: &Memory, offset: u64) -> io::Result<usize> {
    let at = position(offset)?;
    match *memory {
        Memory::Single(ptr, len) => {
            let len = len.min(TRANSFER_BYTES_MAX);
            // SAFETY: the memory belongs to an operation that waits in its worker's table; `Work` says why
            // it stays valid and untouched.
            retry(|| unsafe { libc::pread(fd, ptr.cast(), len, at) })
        }
        Memory::Spans(spans, count) => {
            // SAFETY: as above.
            retry(|| unsafe { libc::preadv(fd, spans, count as i32, at) })
        }
    }
}

/// Writes; a linked sync follows when all has been written.
pub(crate) fn write(
    fd: i32,
    memory: &Memory,
    offset: u64,
    durability: Durability,
) -> io::Result<usize> {
    let at = position(offset)?;
    let flags = if durability == Durability::Flag { libc::RWF_DSYNC } else { 0 };
    let one = |ptr: *mut u8, len: usize| libc::iovec { iov_base: ptr.cast(), iov_len: len };
    let (wanted, written) = match *memory {
        Memory::Single(ptr, len) => {
            let len = len.min(TRANSFER_BYTES_MAX);
            let span = one(ptr, len);
            // SAFETY: the memory belongs to an operation that waits in its worker's table; `Work` says why
            // it stays valid and untouched.
            (len, retry(|| unsafe { libc::pwritev2(fd, &span, 1, at, flags) })?)
        }
        Memory::Spans(spans, count) => {
            // SAFETY: as above.
            let len = unsafe { std::slice::from_raw_parts(spans, count) };
            let len = len.iter().map(|span| span.iov_len).sum();
            // SAFETY: as above.
            (len, retry(|| unsafe { libc::pwritev2(fd, spans, count as i32, at, flags) })?)
        }
    };
    match durability == Durability::Linked && written == wanted {
        true => sync_data(fd).map(|_| written),
        false => Ok(written),
    }
}

fn position(offset: u64) -> io::Result<i64> {
    i64::try_from(offset).map_err(|_| io::Error::from_raw_os_error(libc::EINVAL))
}

pub(crate) fn sync_data(fd: i32) -> io::Result<usize> {
    // SAFETY: plain system call; the operation keeps the file open.
    retry(|| unsafe { libc::fdatasync(fd) } as isize)
}

/// Carries out a file operation.
pub(crate) fn answer(meta: &Meta, context: Context) -> io::Result<Answer> {
    Ok(match meta {
        Meta::Open(path, options) => Answer::File(open_file(path, options, context)?),
        Meta::Rename(from, to) => std::fs::rename(from, to).map(|()| Answer::Unit)?,
        Meta::Remove(path) => std::fs::remove_file(path).map(|()| Answer::Unit)?,
        Meta::Exists(path) => Answer::Bool(path.try_exists()?),
        Meta::Identity(path) => Answer::Identity(identity_at(path)?),
        Meta::CreateDir(path) => std::fs::create_dir_all(path).map(|()| Answer::Unit)?,
        Meta::SyncDir(path) => std::fs::File::open(path)?.sync_all().map(|()| Answer::Unit)?,
        Meta::List(path) => Answer::Names(names(path)?),
        Meta::Len(file) => Answer::Len(len(file)?),
        Meta::SetLen(file, len) => set_len(file, *len)?,
        Meta::Allocate(file, offset, len) => allocate(file, *offset, *len)?,
        Meta::GiveBack(file, offset, len) => give_back(file, *offset, *len)?,
    })
}

fn names(path: &Path) -> io::Result<Vec<String>> {
    let entries = std::fs::read_dir(path)?;
    let mut names: Vec<String> = entries
        .map(|entry| Ok(entry?.file_name().to_string_lossy().into_owned()))
        .collect::<io::Result<_>>()?;
    names.sort();
    Ok(names)
}

/// The size of a device does not change.
fn fixed(what: &str) -> io::Error {
    let message = format!("{what}: the size of a device is fixed");
    io::Error::new(io::ErrorKind::Unsupported, message)
}

fn len(file: &File) -> io::Result<u64> {
    if let Some(namespace) = file.namespace() {
        return Ok(namespace.bytes());
    }
    // SAFETY: all-zero is a valid `stat`.
    let mut stat: libc::stat = unsafe { std::mem::zeroed() };
    // SAFETY: `stat` is a valid place for the answer.
    retry(|| unsafe { libc::fstat(file.raw_fd(), &mut stat) } as isize)?;
    if stat.st_mode & libc::S_IFMT == libc::S_IFBLK {
        // SAFETY: plain system call; reads and writes here name their offsets.
        let end = retry(|| unsafe { libc::lseek(file.raw_fd(), 0, libc::SEEK_END) } as isize)?;
        return Ok(end as u64);
    }
    Ok(stat.st_size as u64)
}

fn signed(n: u64) -> io::Result<i64> {
    i64::try_from(n).map_err(|_| io::Error::from_raw_os_error(libc::EFBIG))
}

fn set_len(file: &File, len: u64) -> io::Result<Answer> {
    if file.namespace().is_some() {
        return Err(fixed("its length cannot be set"));
    }
    let len = signed(len)?;
    // SAFETY: plain system call.
    retry(|| unsafe { libc::ftruncate(file.raw_fd(), len) } as isize)?;
    Ok(Answer::Unit)
}

/// Reserves space; a file system without reservations gets a longer, sparse file.
fn allocate(file: &File, offset: u64, bytes: u64) -> io::Result<Answer> {
    if let Some(namespace) = file.namespace() {
        let is_inside = offset.saturating_add(bytes) <= namespace.bytes();
        return if is_inside { Ok(Answer::Unit) } else { Err(fixed("it has no such bytes")) };
    }
    let (from, count) = (signed(offset)?, signed(bytes)?);
    // SAFETY: plain system call.
    let reserved = retry(|| unsafe { libc::fallocate(file.raw_fd(), 0, from, count) } as isize);
    match reserved {
        Ok(_) => Ok(Answer::Unit),
        Err(error) if error.raw_os_error() == Some(libc::EOPNOTSUPP) => {
            let end = offset.saturating_add(bytes);
            if len(file)? < end { set_len(file, end) } else { Ok(Answer::Unit) }
        }
        Err(error) => Err(error),
    }
}

fn give_back(file: &File, offset: u64, bytes: u64) -> io::Result<Answer> {
    if file.namespace().is_some() {
        return Ok(Answer::Bool(false));
    }
    let (from, count) = (signed(offset)?, signed(bytes)?);
    let mode = libc::FALLOC_FL_PUNCH_HOLE | libc::FALLOC_FL_KEEP_SIZE;
    // SAFETY: plain system call.
    let punched = retry(|| unsafe { libc::fallocate(file.raw_fd(), mode, from, count) } as isize);
    match punched {
        Ok(_) => Ok(Answer::Bool(true)),
        Err(error) if error.raw_os_error() == Some(libc::EOPNOTSUPP) => Ok(Answer::Bool(false)),
        Err(error) => Err(error),
    }
}
