//! A namespace: its blocks, and how much of a transfer one command moves.

use std::io;
use std::os::fd::OwnedFd;

/// Bytes of a page of memory, of which the kernel counts the pieces of a command.
const PAGE_BYTES: u64 = 4096;
/// Blocks of a command at most: its field has 16 bits.
const BLOCK_COUNT_MAX: u64 = 1 << 16;

/// A namespace that is open as a file.
#[derive(Debug)]
pub(crate) struct Namespace {
    /// As the controller numbers it.
    pub(crate) id: u32,
    pub(crate) block_bytes: u32,
    pub(crate) block_count: u64,
    pub(crate) limits: Limits,
    /// The block device of the same namespace, held so that nobody mounts or formats it meanwhile.
    pub(crate) claim: Option<OwnedFd>,
}

/// The most that one command moves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Limits {
    pub(crate) bytes: u64,
    /// Pieces of memory. A piece ends with its page, where the next one is elsewhere.
    pub(crate) segments: u64,
}

impl Namespace {
    /// The size in bytes.
    pub(crate) fn bytes(&self) -> u64 {
        self.block_count.saturating_mul(u64::from(self.block_bytes))
    }

    /// Bytes that one command moves of a transfer: whole blocks, at least one. Memory that does not
    /// begin with a page takes a piece more than it has pages.
    pub(crate) fn command_bytes_max(&self) -> usize {
        let block = u64::from(self.block_bytes);
        let by_segments = self.limits.segments.saturating_sub(1).saturating_mul(PAGE_BYTES);
        let most = self.limits.bytes.min(by_segments).min(BLOCK_COUNT_MAX * block);
        (most - most % block).max(block) as usize
    }

    /// Bytes that a command moves of `len` bytes at `offset`: none at the end of the namespace.
    ///
    /// # Errors
    /// For what does not consist of whole blocks, and for a write behind the end.
    pub(crate) fn part(&self, offset: u64, len: usize, is_write: bool) -> io::Result<usize> {
        let block = u64::from(self.block_bytes);
        if !offset.is_multiple_of(block) || !(len as u64).is_multiple_of(block) {
            return Err(self.misaligned(offset, len));
        }
        let left = self.bytes().saturating_sub(offset);
        if is_write && left == 0 && len > 0 {
            let message = format!("the device ends at byte {}", self.bytes());
            return Err(io::Error::new(io::ErrorKind::StorageFull, message));
        }
        Ok(len.min(self.command_bytes_max()).min(usize::try_from(left).unwrap_or(usize::MAX)))
    }

    fn misaligned(&self, offset: u64, len: usize) -> io::Error {
        let block = self.block_bytes;
        let message =
            format!("{len} bytes at {offset}: passthrough moves whole blocks of {block} bytes");
        io::Error::new(io::ErrorKind::InvalidInput, message)
    }

    /// For memory that is no whole number of blocks in each of its pieces, or begins at an odd
    /// place.
    pub(crate) fn misplaced(&self) -> io::Error {
        let block = self.block_bytes;
        let message =
            format!("passthrough takes memory in pieces of whole blocks of {block} bytes");
        io::Error::new(io::ErrorKind::InvalidInput, message)
    }

    /// Cuts pieces of memory down to what one command takes of their first `bytes` bytes; the bytes
    /// that are left.
    pub(crate) fn cut(&self, spans: &mut Vec<libc::iovec>, bytes: usize) -> usize {
        let (mut moved, mut pages, mut count) = (0, 0, 0);
        for span in spans.iter_mut() {
            span.iov_len = span.iov_len.min(bytes - moved);
            // It may begin and end within pages.
            pages += span.iov_len as u64 / PAGE_BYTES + 1;
            if span.iov_len == 0 || (count > 0 && pages > self.limits.segments) {
                break;
            }
            moved += span.iov_len;
            count += 1;
        }
        spans.truncate(count);
        moved
    }
}
