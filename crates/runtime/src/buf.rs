//! Memory that an operation may own while the kernel reads or writes it.

use std::alloc::{Layout, alloc_zeroed, dealloc, handle_alloc_error};
use std::any::Any;
use std::fmt;
use std::ptr::NonNull;
use std::sync::Arc;

/// Alignment of allocated buffers in bytes: enough for O_DIRECT on any device in use.
pub const BUFFER_ALIGN: usize = 4096;

enum Owner {
    Alloc {
        capacity: usize,
    },
    Arena(
        #[expect(dead_code, reason = "held only to keep the arena alive")]
        Arc<dyn Any + Send + Sync>,
    ),
}

/// An owned piece of memory: its own allocation aligned to 4096 bytes, or a slice of a
/// longer-lived arena. An operation takes it by value and gives it back on completion; if the
/// future is dropped meanwhile, the operation frees it at its final completion.
pub struct IoBuf {
    ptr: NonNull<u8>,
    len: usize,
    owner: Owner,
}

// SAFETY: an `IoBuf` has exclusive access to its bytes (allocated here, or promised by the caller
// of `from_arena`), so it can move between threads and be read through shared references.
unsafe impl Send for IoBuf {}
// SAFETY: as above; shared references allow only reads.
unsafe impl Sync for IoBuf {}

impl IoBuf {
    /// Zeroed memory of `len` bytes, aligned to [`BUFFER_ALIGN`].
    pub fn alloc(len: usize) -> IoBuf {
        let capacity = len.max(1);
        let layout = Self::layout(capacity);
        // SAFETY: the layout has a size above zero.
        let ptr = unsafe { alloc_zeroed(layout) };
        let Some(ptr) = NonNull::new(ptr) else { handle_alloc_error(layout) };
        IoBuf { ptr, len, owner: Owner::Alloc { capacity } }
    }

    /// A buffer with a copy of `bytes`.
    pub fn copy_of(bytes: &[u8]) -> IoBuf {
        let mut buf = IoBuf::alloc(bytes.len());
        buf.as_mut_slice().copy_from_slice(bytes);
        buf
    }

    /// A slice of an arena that `owner` keeps alive.
    ///
    /// # Safety
    /// `ptr..ptr + len` must be initialised memory that stays valid while `owner` lives, and
    /// nobody else may touch it until the buffer is dropped.
    pub unsafe fn from_arena(
        owner: Arc<dyn Any + Send + Sync>,
        ptr: NonNull<u8>,
        len: usize,
    ) -> IoBuf {
        IoBuf { ptr, len, owner: Owner::Arena(owner) }
    }

    fn layout(capacity: usize) -> Layout {
        Layout::from_size_align(capacity, BUFFER_ALIGN).expect("a buffer below isize::MAX bytes")
    }

    /// The length in bytes.
    pub fn len(&self) -> usize {
        self.len
    }

    /// True when it has no bytes.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Shortens the buffer to `len` bytes; longer is left as it is.
    pub fn truncate(&mut self, len: usize) {
        self.len = self.len.min(len);
    }

    /// The bytes.
    pub fn as_slice(&self) -> &[u8] {
        // SAFETY: the memory is initialised, valid for `len`, and ours alone.
        unsafe { std::slice::from_raw_parts(self.ptr.as_ptr(), self.len) }
    }

    /// The bytes, to change.
    pub fn as_mut_slice(&mut self) -> &mut [u8] {
        // SAFETY: as in `as_slice`, and `self` is borrowed exclusively.
        unsafe { std::slice::from_raw_parts_mut(self.ptr.as_ptr(), self.len) }
    }

    pub(crate) fn as_ptr(&self) -> *mut u8 {
        self.ptr.as_ptr()
    }
}

impl Drop for IoBuf {
    fn drop(&mut self) {
        if let Owner::Alloc { capacity } = self.owner {
            // SAFETY: allocated in `alloc` with this layout, freed once.
            unsafe { dealloc(self.ptr.as_ptr(), Self::layout(capacity)) }
        }
    }
}

impl fmt::Debug for IoBuf {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "IoBuf({} bytes)", self.len)
    }
}
