//! Memory that is reserved at once and backed by the kernel only where it is touched.

use std::marker::PhantomData;
use std::ops::Deref;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU32, Ordering};

use crate::cache::prefetch_line;
use crate::error::{Result, StorageError};
use crate::page::PageId;

/// Greatest number of pages of a file: 2^30, which is 4 TiB of 4 KiB pages. The translation array
/// reserves 4 bytes of address space for each.
pub(crate) const PAGE_COUNT_MAX: u32 = 1 << 30;

/// From here on the kernel is asked for huge pages: below it there is nothing to gain.
const HUGE_FROM_BYTES: usize = 2 << 20;

/// Most bytes of the translation array that are backed before they are used: those of a file of 64 GiB.
const EXPECTED_BYTES_MAX: usize = 64 << 20;

/// An anonymous mapping, zeroed, freed on drop.
pub(crate) struct Region {
    base: NonNull<u8>,
    len: usize,
}

// SAFETY: a region is plain memory; who may touch which part of it is settled by the frame states
// above it.
unsafe impl Send for Region {}
// SAFETY: as above; the region itself offers only its address.
unsafe impl Sync for Region {}

impl Region {
    /// Reserves `len` bytes.
    pub fn reserve(len: usize) -> Result<Region> {
        assert!(len > 0, "a region of no bytes");
        // SAFETY: an anonymous private mapping at an address of the kernel's choice touches no
        // memory of ours.
        let address = unsafe {
            libc::mmap(
                std::ptr::null_mut(),
                len,
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE,
                -1,
                0,
            )
        };
        if address == libc::MAP_FAILED {
            let error = std::io::Error::last_os_error();
            return Err(StorageError::io("reserve memory for the buffer pool", &error));
        }
        let base = NonNull::new(address.cast()).expect("the kernel maps nothing at address 0");
        Ok(Region { base, len })
    }

    /// Asks for huge pages. Only advice: without it everything works, with more misses in the TLB.
    pub fn advise_huge(&self) {
        if self.len >= HUGE_FROM_BYTES {
            // SAFETY: the range is exactly this mapping; the advice changes no contents.
            unsafe { libc::madvise(self.base.as_ptr().cast(), self.len, libc::MADV_HUGEPAGE) };
        }
    }

    /// Has the kernel back the first `len` bytes now. Where it cannot, they are backed when they are touched.
    fn back(&self, len: usize) {
        let len = len.min(self.len);
        // SAFETY: the range lies in this mapping; its contents stay.
        unsafe { libc::madvise(self.base.as_ptr().cast(), len, libc::MADV_POPULATE_WRITE) };
    }

    /// Address of the byte at `offset`.
    #[inline]
    pub fn at(&self, offset: usize) -> NonNull<u8> {
        assert!(offset < self.len, "offset {offset} of a region of {} bytes", self.len);
        // SAFETY: the offset lies within the mapping, as asserted.
        unsafe { self.base.add(offset) }
    }
}

impl Drop for Region {
    fn drop(&mut self) {
        // SAFETY: the mapping was made by `reserve` and nothing borrows from it any more: all users
        // hold it by `Arc`.
        unsafe { libc::munmap(self.base.as_ptr().cast(), self.len) };
    }
}

/// Types for which zero bytes are a value, and which need no destructor.
///
/// # Safety
/// Both must hold.
pub(super) unsafe trait Zeroable {}

// SAFETY: an atomic integer of value 0.
unsafe impl Zeroable for AtomicU32 {}

/// An array of zeroed elements in huge pages: random access to ordinary ones would miss the TLB
/// once more for each page that is looked up.
pub(super) struct ZeroedArray<T> {
    region: Region,
    len: usize,
    of: PhantomData<T>,
}

impl<T: Zeroable> ZeroedArray<T> {
    pub fn new(len: usize) -> Result<ZeroedArray<T>> {
        let region = Region::reserve(len * size_of::<T>())?;
        region.advise_huge();
        Ok(ZeroedArray { region, len, of: PhantomData })
    }
}

impl<T: Zeroable> Deref for ZeroedArray<T> {
    type Target = [T];

    #[inline]
    fn deref(&self) -> &[T] {
        // SAFETY: the region has room for `len` elements, is aligned to pages, and zero bytes are
        // a value of each; what changes later changes through shared references, as `T` allows.
        unsafe { std::slice::from_raw_parts(self.region.base.as_ptr().cast(), self.len) }
    }
}

/// Where a page is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Place {
    /// On disk only.
    Absent,
    /// A load is under way; its waiters are found under the page's shard.
    Loading,
    /// In this frame.
    Frame(u32),
}

const LOADING: u32 = u32::MAX;

/// Page number to frame: one word for each possible page, untouched parts cost no memory.
pub(super) struct Translation {
    entries: ZeroedArray<AtomicU32>,
}

impl Translation {
    pub fn new() -> Result<Translation> {
        Ok(Translation { entries: ZeroedArray::new(PAGE_COUNT_MAX as usize)? })
    }

    /// Backs the words of a file of so many pages, if they are not too much to be there at once. They are looked up
    /// at random, and each huge page of them that a query is first to touch takes it milliseconds to zero.
    pub fn expect(&self, page_count: u32) {
        let bytes = page_count as usize * size_of::<AtomicU32>();
        if bytes <= EXPECTED_BYTES_MAX {
            self.entries.region.back(bytes);
        }
    }

    #[inline]
    fn entry(&self, pid: PageId) -> &AtomicU32 {
        &self.entries[pid as usize]
    }

    #[inline]
    pub fn get(&self, pid: PageId) -> Place {
        match self.entry(pid).load(Ordering::Acquire) {
            0 => Place::Absent,
            LOADING => Place::Loading,
            frame => Place::Frame(frame - 1),
        }
    }

    /// Changes an entry; the caller holds the page's shard.
    pub fn set(&self, pid: PageId, place: Place) {
        let word = match place {
            Place::Absent => 0,
            Place::Loading => LOADING,
            Place::Frame(frame) => frame + 1,
        };
        self.entry(pid).store(word, Ordering::Release);
    }

    /// Brings the entry's cache line closer.
    #[inline]
    pub fn prefetch(&self, pid: PageId) {
        prefetch_line(std::ptr::from_ref(self.entry(pid)).cast());
    }
}
