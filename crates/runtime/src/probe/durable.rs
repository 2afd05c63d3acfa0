//! How long it takes until what is written is durable, by each of the ways that there are.

use std::fs::{self, File};
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::time::{Duration, Instant};

use crate::buf::IoBuf;

/// Bytes of a write: a page.
const WRITE_BYTES: usize = 4096;
/// Pages of the file, which are written over: no write has to change what the file system knows of it.
const PAGES: u64 = 256;
/// Writes of each kind, by turns.
const ROUNDS: u64 = 48;

/// The median time of a write of 4 KiB, alone in flight.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DurableReport {
    /// Past the page cache, not durable where the device's cache is volatile.
    pub plain: Duration,
    /// The same, then `fdatasync`.
    pub synced: Duration,
    /// As one write with `RWF_DSYNC`; `None` where the kernel refuses it.
    pub dsync: Option<Duration>,
    /// Whether the page cache was bypassed.
    pub direct: bool,
}

/// Writes to a new file in a folder and takes it away again. Blocks.
///
/// # Errors
/// Those of the file system.
pub fn durable(folder: impl AsRef<Path>) -> io::Result<DurableReport> {
    let path = folder.as_ref().join(format!(".dovetail-durable-{}", std::process::id()));
    let measured = measure(&path);
    fs::remove_file(&path)?;
    measured
}

fn measure(path: &Path) -> io::Result<DurableReport> {
    fs::write(path, vec![1; WRITE_BYTES * PAGES as usize])?;
    let open = |flags| File::options().write(true).custom_flags(flags).open(path);
    let (file, direct) = match open(libc::O_DIRECT) {
        Ok(file) => (file, true),
        Err(_) => (open(0)?, false),
    };
    file.sync_all()?;
    let mut page = IoBuf::alloc(WRITE_BYTES);
    let [mut plain, mut synced, mut dsync] = [const { Vec::new() }; 3];
    for round in 0..ROUNDS {
        page.as_mut_slice().fill(round as u8);
        let offset = (round * 37 % PAGES * WRITE_BYTES as u64) as i64;
        plain.push(timed(|| write(&file, page.as_slice(), offset, 0))?);
        synced.push(timed(|| {
            write(&file, page.as_slice(), offset, 0)?;
            file.sync_data()
        })?);
        match timed(|| write(&file, page.as_slice(), offset, libc::RWF_DSYNC)) {
            Err(error) if error.raw_os_error() == Some(libc::EOPNOTSUPP) => {}
            took => dsync.push(took?),
        }
    }
    let dsync = (!dsync.is_empty()).then(|| median(dsync));
    Ok(DurableReport { plain: median(plain), synced: median(synced), dsync, direct })
}

fn timed(work: impl FnOnce() -> io::Result<()>) -> io::Result<Duration> {
    let begin = Instant::now();
    work()?;
    Ok(begin.elapsed())
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort_unstable();
    times[times.len() / 2]
}

fn write(file: &File, bytes: &[u8], offset: i64, flags: i32) -> io::Result<()> {
    let part = libc::iovec { iov_base: bytes.as_ptr().cast_mut().cast(), iov_len: bytes.len() };
    // SAFETY: `part` names `bytes`, which the call only reads, and both live until it has returned.
    let written = unsafe { libc::pwritev2(file.as_raw_fd(), &part, 1, offset, flags) };
    match written {
        all if all == bytes.len() as isize => Ok(()),
        -1 => Err(io::Error::last_os_error()),
        _ => Err(io::ErrorKind::WriteZero.into()),
    }
}
