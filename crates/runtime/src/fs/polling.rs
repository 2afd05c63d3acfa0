//! Ways past the block layer and without interrupts, tried on a file before it is used: whether its
//! device can be polled, and whether it takes commands.
//!
//! A polled read of a hole never reaches the device and succeeds anywhere, so the system's word is
//! needed beside the attempt.

use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::path::{Path, PathBuf};

use io_uring::{opcode, types};

use crate::buf::{BUFFER_ALIGN, IoBuf};
use crate::fs::descriptor::{Device, device_of};
use crate::fs::options::FileBackend;
use crate::nvme::namespace::Namespace;
use crate::nvme::status;
use crate::ring::commands;
use crate::ring::kind::RingKind;
use crate::ring::queues::Entry;
use crate::ring::setup::{self, Wish};

/// Refuses a file that cannot be polled, with the reason.
pub(super) fn check(fd: &OwnedFd, read: bool, backend: &FileBackend) -> io::Result<()> {
    if backend.kind != RingKind::Uring || !backend.direct {
        return refuse(&backend.reason);
    }
    match (device_polls(fd)?, read) {
        (Some(false), _) => refuse(NO_QUEUES),
        (None, false) => refuse("the system does not tell of its device"),
        (told, true) => match (try_read(fd), told) {
            (Ok(true), _) | (Ok(false), Some(true)) => Ok(()),
            (Ok(false), _) => refuse("the system does not tell of its device, and it is empty"),
            (Err(why), _) => refuse(&why),
        },
        (Some(true), false) => Ok(()),
    }
}

/// Refuses a namespace, whose block device the system shows in `block`, that takes no commands or
/// cannot be polled for them.
pub(super) fn check_commands(
    fd: &OwnedFd,
    namespace: &Namespace,
    block: &Path,
    is_polled: bool,
) -> io::Result<()> {
    if is_polled && tells_of_polling(&[block.join("queue/io_poll")]) != Some(true) {
        return refuse(NO_QUEUES);
    }
    let release = std::fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    if is_polled && version_of(&release) < POLLED_COMMANDS {
        let (major, minor) = POLLED_COMMANDS;
        let release = release.trim();
        return refuse(&format!("with passthrough that takes Linux {major}.{minor}: {release}"));
    }
    let wish = if is_polled { Wish::iopoll(1) } else { Wish::plain(1) };
    let buf = IoBuf::alloc(namespace.block_bytes as usize);
    let entry = commands::trial(fd.as_raw_fd(), namespace, buf.as_ptr());
    match tried(&Wish { passthrough: true, ..wish }, entry, buf) {
        Ok(0) => Ok(()),
        Ok(failed) => Err(status::error(failed as u16)),
        Err(why) => {
            let message = format!("the device does not take commands by passthrough: {why}");
            Err(io::Error::new(io::ErrorKind::Unsupported, message))
        }
    }
}

/// Versions before this one poll for the memory of a command and not for its request, at a place
/// that they also use otherwise: a process that is killed with polled commands in flight stops such
/// a kernel (seen with 6.1.192).
const POLLED_COMMANDS: (u32, u32) = (6, 5);

/// The first two numbers of the kernel's release; zeros where it has none.
fn version_of(release: &str) -> (u32, u32) {
    let mut numbers = release.split(|c: char| !c.is_ascii_digit()).map(|text| text.parse().ok());
    let mut next = || numbers.next().flatten().unwrap_or(0);
    (next(), next())
}

const NO_QUEUES: &str = "its device has no queues for polling (queue/io_poll is 0)";

fn refuse(why: &str) -> io::Result<()> {
    let message = format!("IOPOLL is on, and this file cannot be polled: {why}");
    Err(io::Error::new(io::ErrorKind::Unsupported, message))
}

/// What the system says of the device below the file; `None` if it has no word for it.
fn device_polls(fd: &OwnedFd) -> io::Result<Option<bool>> {
    let (Device::None(major, minor)
    | Device::Block(major, minor)
    | Device::Character(major, minor)) = device_of(fd)?;
    // A partition has no queue of its own.
    let places = ["queue/io_poll", "../queue/io_poll"];
    let places = places.map(|place| format!("/sys/dev/block/{major}:{minor}/{place}").into());
    Ok(tells_of_polling(&places))
}

fn tells_of_polling(places: &[PathBuf]) -> Option<bool> {
    let told = places.iter().find_map(|place| std::fs::read_to_string(place).ok());
    told.map(|text| text.trim() == "1")
}

/// Reads a block of data by polling. False: the file has no data. The error says why not.
fn try_read(fd: &OwnedFd) -> Result<bool, String> {
    let Some(data) = first_data(fd) else { return Ok(false) };
    let offset = data - data % BUFFER_ALIGN as u64;
    let buf = IoBuf::alloc(BUFFER_ALIGN);
    let entry = opcode::Read::new(types::Fd(fd.as_raw_fd()), buf.as_ptr(), buf.len() as u32);
    let entry = Entry::Small(entry.offset(offset).build());
    tried(&Wish::iopoll(1), entry, buf).map(|_| true)
}

/// Where the first data of a file are; those of a device are everywhere.
fn first_data(fd: &OwnedFd) -> Option<u64> {
    if matches!(device_of(fd), Ok(Device::Block(..))) {
        return Some(0);
    }
    // SAFETY: a plain system call; reads and writes here name their offsets.
    let data = unsafe { libc::lseek(fd.as_raw_fd(), 0, libc::SEEK_DATA) };
    u64::try_from(data).ok()
}

/// The result of an entry, which uses `buf` and nothing else, on a ring of its own.
fn tried(wish: &Wish, entry: Entry, buf: IoBuf) -> Result<i32, String> {
    let mut ring = setup::open(wish)?.ring;
    // SAFETY: `buf` lives until the completion has been seen below; if it is not, it is leaked.
    assert!(unsafe { ring.push(&[entry]) }, "an empty queue has room");
    loop {
        let submitted = ring.submit_and_wait(1);
        let mut completed = None;
        ring.drain(|done| completed = Some(done.result()));
        match (submitted, completed) {
            (_, Some(result)) if result >= 0 => return Ok(result),
            (_, Some(error)) => return Err(io::Error::from_raw_os_error(-error).to_string()),
            // A poll comes back early when others wait for the processor.
            (Ok(_), None) => {}
            (Err(error), None) if is_passing(&error) => {}
            (Err(error), None) => {
                std::mem::forget(buf);
                return Err(error.to_string());
            }
        }
    }
}

fn is_passing(error: &io::Error) -> bool {
    matches!(error.raw_os_error(), Some(libc::EINTR | libc::EAGAIN | libc::EBUSY))
}

#[cfg(test)]
mod tests;
