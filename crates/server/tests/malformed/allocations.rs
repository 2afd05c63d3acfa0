//! Counts memory: what a thread has at most while it does something, and what all have.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::sync::atomic::{AtomicIsize, Ordering::Relaxed};

struct Counting;

#[global_allocator]
static ALLOCATOR: Counting = Counting;

thread_local! {
    static NOW: Cell<isize> = const { Cell::new(0) };
    static PEAK: Cell<isize> = const { Cell::new(0) };
}
static NOW_ALL: AtomicIsize = AtomicIsize::new(0);
static PEAK_ALL: AtomicIsize = AtomicIsize::new(0);

fn count(bytes: isize) {
    let all = NOW_ALL.fetch_add(bytes, Relaxed) + bytes;
    PEAK_ALL.fetch_max(all, Relaxed);
    // While a thread ends its counters may be gone.
    let _ = NOW.try_with(|now| {
        now.set(now.get() + bytes);
        let _ = PEAK.try_with(|peak| peak.set(peak.get().max(now.get())));
    });
}

// SAFETY: everything is the system's allocator's; counting allocates nothing.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count(layout.size() as isize);
        // SAFETY: the caller keeps the contract.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        count(layout.size() as isize);
        // SAFETY: the caller keeps the contract.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn dealloc(&self, place: *mut u8, layout: Layout) {
        count(-(layout.size() as isize));
        // SAFETY: the caller keeps the contract.
        unsafe { System.dealloc(place, layout) }
    }

    unsafe fn realloc(&self, place: *mut u8, layout: Layout, new_size: usize) -> *mut u8 {
        count(new_size as isize - layout.size() as isize);
        // SAFETY: the caller keeps the contract.
        unsafe { System.realloc(place, layout, new_size) }
    }
}

/// Bytes that this thread had at most while it ran `work`, beyond those that it had before.
pub fn peak_of(work: impl FnOnce()) -> usize {
    let before = NOW.get();
    PEAK.set(before);
    work();
    (PEAK.get() - before).max(0) as usize
}

/// Bytes that all threads have now.
pub fn bytes_now() -> isize {
    NOW_ALL.load(Relaxed)
}

/// From now on [`peak`] begins anew.
pub fn restart_peak() {
    PEAK_ALL.store(bytes_now(), Relaxed);
}

/// Bytes that all threads had at most.
pub fn peak() -> isize {
    PEAK_ALL.load(Relaxed)
}
