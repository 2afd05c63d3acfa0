//! Whether completions of a file's device can be polled for: asked of the system, then tried.
//!
//! A polled read of a hole never reaches the device and succeeds anywhere, so the system's word is
//! needed beside the attempt.

use std::io;
use std::os::fd::{AsRawFd, OwnedFd};

use io_uring::{opcode, types};

use crate::buf::{BUFFER_ALIGN, IoBuf};
use crate::fs::options::FileBackend;
use crate::ring::kind::RingKind;
use crate::ring::setup::{self, Wish};

/// Refuses a file that cannot be polled, with the reason.
pub(super) fn check(fd: &OwnedFd, read: bool, backend: &FileBackend) -> io::Result<()> {
    let refuse = |why: &str| {
        let message = format!("IOPOLL is on, and this file cannot be polled: {why}");
        Err(io::Error::new(io::ErrorKind::Unsupported, message))
    };
    if backend.kind != RingKind::Uring || !backend.direct {
        return refuse(&backend.reason);
    }
    match (device_polls(fd)?, read) {
        (Some(false), _) => refuse("its device has no queues for polling (queue/io_poll is 0)"),
        (None, false) => refuse("the system does not tell of its device"),
        (told, true) => match (try_read(fd), told) {
            (Ok(true), _) | (Ok(false), Some(true)) => Ok(()),
            (Ok(false), _) => refuse("the system does not tell of its device, and it is empty"),
            (Err(why), _) => refuse(&why),
        },
        (Some(true), false) => Ok(()),
    }
}

/// What the system says of the device below the file; `None` if it has no word for it.
fn device_polls(fd: &OwnedFd) -> io::Result<Option<bool>> {
    // SAFETY: all-zero is a valid `stat`.
    let mut stat: libc::stat = unsafe { std::mem::zeroed() };
    // SAFETY: `stat` is a valid place for the answer.
    if unsafe { libc::fstat(fd.as_raw_fd(), &mut stat) } != 0 {
        return Err(io::Error::last_os_error());
    }
    let (major, minor) = (libc::major(stat.st_dev), libc::minor(stat.st_dev));
    // A partition has no queue of its own.
    let places = ["queue/io_poll", "../queue/io_poll"];
    let told = places.iter().find_map(|place| {
        let path = format!("/sys/dev/block/{major}:{minor}/{place}");
        std::fs::read_to_string(path).ok()
    });
    Ok(told.map(|text| text.trim() == "1"))
}

/// Reads a block of data by polling. False: the file has no data. The error says why not.
fn try_read(fd: &OwnedFd) -> Result<bool, String> {
    // SAFETY: a plain system call; reads and writes here name their offsets.
    let data = unsafe { libc::lseek(fd.as_raw_fd(), 0, libc::SEEK_DATA) };
    let Ok(data) = u64::try_from(data) else { return Ok(false) };
    let offset = data - data % BUFFER_ALIGN as u64;
    let mut ring = setup::open(&Wish::iopoll(1))?.ring;
    let buf = IoBuf::alloc(BUFFER_ALIGN);
    let entry = opcode::Read::new(types::Fd(fd.as_raw_fd()), buf.as_ptr(), buf.len() as u32);
    let entry = entry.offset(offset).build();
    // SAFETY: `buf` lives until the completion has been seen below; if it is not, it is leaked.
    unsafe { ring.submission().push(&entry) }.expect("an empty queue has room");
    let submitted = ring.submit_and_wait(1);
    let completed = ring.completion().next();
    match (submitted, completed) {
        (_, Some(done)) if done.result() >= 0 => Ok(true),
        (_, Some(done)) => Err(io::Error::from_raw_os_error(-done.result()).to_string()),
        (submitted, None) => {
            std::mem::forget(buf);
            Err(submitted.map_or_else(|error| error.to_string(), |_| "no answer".to_owned()))
        }
    }
}
