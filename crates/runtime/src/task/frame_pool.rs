//! Recycles task frames by size class: a task is spawned per page read, so the allocator stays
//! out of the way (the local memory pool of the Umbra paper, section 3).

use std::alloc::{Layout, alloc, dealloc, handle_alloc_error};
use std::cell::{Cell, RefCell};
use std::ptr::NonNull;

/// Bytes between size classes, and the alignment of frames: one cache line.
const CLASS_BYTES: usize = 64;
/// Larger frames go to the allocator: they are rare and live long.
const RECYCLED_BYTES_MAX: usize = 4096;
/// Free frames kept over all classes: 4 MiB per worker at most.
const KEPT_BYTES_MAX: usize = 4 << 20;

/// The free frames of one worker.
pub(crate) struct FramePool {
    free: RefCell<Vec<Vec<NonNull<u8>>>>,
    kept_bytes: Cell<usize>,
    live_bytes: Cell<usize>,
}

fn class_of(layout: Layout) -> Option<usize> {
    let fits = layout.size() <= RECYCLED_BYTES_MAX && layout.align() <= CLASS_BYTES;
    fits.then(|| layout.size().div_ceil(CLASS_BYTES).max(1))
}

fn class_layout(class: usize) -> Layout {
    Layout::from_size_align(class * CLASS_BYTES, CLASS_BYTES).expect("a small layout")
}

impl FramePool {
    pub(crate) fn new() -> FramePool {
        let classes = RECYCLED_BYTES_MAX / CLASS_BYTES + 1;
        let free = (0..classes).map(|_| Vec::new()).collect();
        FramePool { free: RefCell::new(free), kept_bytes: Cell::new(0), live_bytes: Cell::new(0) }
    }

    /// Bytes of frames in use, rounded up to their classes.
    pub(crate) fn live_bytes(&self) -> usize {
        self.live_bytes.get()
    }

    /// Memory for one frame.
    pub(crate) fn alloc(&self, layout: Layout) -> NonNull<u8> {
        let class = class_of(layout);
        let actual = class.map_or(layout, class_layout);
        self.live_bytes.set(self.live_bytes.get() + actual.size());
        if let Some(class) = class
            && let Some(ptr) = self.free.borrow_mut()[class].pop()
        {
            self.kept_bytes.set(self.kept_bytes.get() - actual.size());
            return ptr;
        }
        // SAFETY: frames have headers, so the size is above zero.
        let ptr = unsafe { alloc(actual) };
        NonNull::new(ptr).unwrap_or_else(|| handle_alloc_error(actual))
    }

    /// Takes memory of [`FramePool::alloc`] back.
    ///
    /// # Safety
    /// `ptr` came from `alloc` of this pool with the same layout, and is used no more.
    pub(crate) unsafe fn free(&self, ptr: NonNull<u8>, layout: Layout) {
        let class = class_of(layout);
        let actual = class.map_or(layout, class_layout);
        assert!(self.live_bytes.get() >= actual.size(), "more frames freed than allocated");
        self.live_bytes.set(self.live_bytes.get() - actual.size());
        if let Some(class) = class
            && self.kept_bytes.get() + actual.size() <= KEPT_BYTES_MAX
        {
            self.kept_bytes.set(self.kept_bytes.get() + actual.size());
            self.free.borrow_mut()[class].push(ptr);
            return;
        }
        // SAFETY: allocated with `actual` in `alloc`.
        unsafe { dealloc(ptr.as_ptr(), actual) }
    }
}

impl Drop for FramePool {
    fn drop(&mut self) {
        for (class, free) in self.free.get_mut().iter().enumerate() {
            for ptr in free {
                // SAFETY: a free frame of this class, allocated with the class's layout.
                unsafe { dealloc(ptr.as_ptr(), class_layout(class)) }
            }
        }
    }
}
