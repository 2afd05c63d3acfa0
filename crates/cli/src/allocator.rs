//! The allocator of the process, and how much freed memory it keeps.

use std::alloc::{GlobalAlloc, Layout};
use std::ffi::{c_int, c_long};

use libmimalloc_sys as mimalloc;

/// Below this limit, memory is worth more than the time that it takes to give it back.
const PLENTY: usize = 1 << 30;

/// `mi_option_purge_delay` of mimalloc 2 and 3: for how many milliseconds freed pages are kept.
const PURGE_DELAY: c_int = 15;

unsafe extern "C" {
    fn mi_option_set(option: c_int, value: c_long);
}

/// mimalloc. It is asked for an alignment only where that is more than all of its blocks have:
/// looking for an aligned block took half of the instructions of an allocation.
pub struct Allocator;

/// The alignment of all blocks, the smallest ones too.
const ALIGNMENT: usize = size_of::<usize>();

// SAFETY: mimalloc gives a block of at least the size, aligned as is asked for and to a word at
// least, or null; each block goes back to it by the call that fits all of its blocks.
unsafe impl GlobalAlloc for Allocator {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let (size, alignment) = (layout.size(), layout.align());
        // SAFETY: the alignment of a layout is a power of two.
        let block = unsafe {
            match alignment <= ALIGNMENT {
                true => mimalloc::mi_malloc(size),
                false => mimalloc::mi_malloc_aligned(size, alignment),
            }
        };
        block.cast()
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        let (size, alignment) = (layout.size(), layout.align());
        // SAFETY: the alignment of a layout is a power of two.
        let block = unsafe {
            match alignment <= ALIGNMENT {
                true => mimalloc::mi_zalloc(size),
                false => mimalloc::mi_zalloc_aligned(size, alignment),
            }
        };
        block.cast()
    }

    unsafe fn dealloc(&self, block: *mut u8, _: Layout) {
        // SAFETY: the caller has the block from here, and gives it back once.
        unsafe { mimalloc::mi_free(block.cast()) }
    }

    unsafe fn realloc(&self, block: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        let alignment = layout.align();
        // SAFETY: the caller has the block from here, with this alignment, a power of two.
        let block = unsafe {
            match alignment <= ALIGNMENT {
                true => mimalloc::mi_realloc(block.cast(), size),
                false => mimalloc::mi_realloc_aligned(block.cast(), size, alignment),
            }
        };
        block.cast()
    }
}

/// Gives freed pages back to the system at once where the database's memory is little: the process peaks
/// 7 to 15 % lower (`docs/results.md`).
pub fn fit_into(memory_bytes: usize) {
    if memory_bytes < PLENTY {
        // SAFETY: the option is a number that the allocator reads whenever pages become free; it is set
        // before any worker runs.
        unsafe { mi_option_set(PURGE_DELAY, 0) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    unsafe extern "C" {
        fn mi_option_get(option: c_int) -> c_long;
    }

    #[test]
    fn little_memory_is_given_back_at_once() {
        // SAFETY: reads a number.
        let delay = || unsafe { mi_option_get(PURGE_DELAY) };
        fit_into(PLENTY);
        assert!(delay() > 0, "the delay that the allocator comes with");
        fit_into(256 << 20);
        assert_eq!(delay(), 0);
    }
}
