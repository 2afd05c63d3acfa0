//! Memory that an operation may own while the kernel reads or writes it.

use std::alloc::{Layout, alloc, alloc_zeroed, dealloc, handle_alloc_error};
use std::any::Any;
use std::fmt;
use std::ptr::NonNull;
use std::sync::Arc;

use crate::known::Known;

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
    Registered(Arc<Arena>),
}

/// Long-lived memory that many buffers are slices of, announced once: with
/// `Config::registered_buffers` each ring pins it piece by piece at its first use.
pub struct Arena {
    base: NonNull<u8>,
    len: usize,
    known: Known,
    /// Dropped last: the workers have been told by then.
    _owner: Arc<dyn Any + Send + Sync>,
}

// SAFETY: an arena is an address that its owner keeps valid; it gives no access to the bytes.
unsafe impl Send for Arena {}
// SAFETY: as above.
unsafe impl Sync for Arena {}

impl Arena {
    /// Announces memory that `owner` keeps alive.
    ///
    /// # Safety
    /// `base..base + len` must stay mapped while `owner` lives, to the same pages once they have
    /// been touched: not remapped, and not given back to the system (`MADV_DONTNEED`), since the
    /// kernel transfers to and from the pages that it has pinned.
    pub unsafe fn new(
        owner: Arc<dyn Any + Send + Sync>,
        base: NonNull<u8>,
        len: usize,
    ) -> Arc<Arena> {
        Arc::new(Arena { base, len, known: Known::new(), _owner: owner })
    }

    /// Its bytes.
    pub fn len(&self) -> usize {
        self.len
    }

    /// True when it has none.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    pub(crate) fn known(&self) -> &Known {
        &self.known
    }

    /// Where a buffer of this arena begins.
    pub(crate) fn offset_of(&self, buf: &IoBuf) -> usize {
        buf.ptr.as_ptr().addr() - self.base.as_ptr().addr()
    }

    /// At most `len` bytes from `offset` on, as the kernel wants to have them named.
    pub(crate) fn span(&self, offset: usize, len: usize) -> libc::iovec {
        assert!(offset < self.len, "a span begins inside of its arena");
        // SAFETY: the offset lies within the arena, as asserted.
        let base = unsafe { self.base.add(offset) };
        libc::iovec { iov_base: base.as_ptr().cast(), iov_len: len.min(self.len - offset) }
    }
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
        let (len, capacity) = (bytes.len(), bytes.len().max(1));
        let layout = Self::layout(capacity);
        // SAFETY: the layout has a size above zero.
        let ptr = unsafe { alloc(layout) };
        let Some(ptr) = NonNull::new(ptr) else { handle_alloc_error(layout) };
        // SAFETY: the new memory has room for the bytes, which lie elsewhere; with them all of it that
        // the buffer gives access to is initialised.
        unsafe { ptr.copy_from_nonoverlapping(NonNull::from(bytes).cast(), len) };
        IoBuf { ptr, len, owner: Owner::Alloc { capacity } }
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

    /// A slice of an announced arena.
    ///
    /// # Safety
    /// The bytes must be initialised, and nobody else may touch them until the buffer is dropped.
    ///
    /// # Panics
    /// If the slice does not lie within the arena.
    pub unsafe fn of_arena(arena: &Arc<Arena>, offset: usize, len: usize) -> IoBuf {
        let end = offset.checked_add(len);
        assert!(end.is_some_and(|end| end <= arena.len), "a buffer lies within its arena");
        // SAFETY: the offset lies within the arena, as asserted.
        let ptr = unsafe { arena.base.add(offset) };
        IoBuf { ptr, len, owner: Owner::Registered(arena.clone()) }
    }

    /// `count` buffers of `len` bytes each, zeroed, in one arena of their own that is freed with
    /// the last of them. Those of whole pages are aligned to [`BUFFER_ALIGN`].
    pub fn alloc_many(count: usize, len: usize) -> Vec<IoBuf> {
        let total = count.checked_mul(len).expect("buffers below isize::MAX bytes");
        let memory = IoBuf::alloc(total);
        let base = memory.ptr;
        // SAFETY: the allocation stays where it is until `memory` is dropped.
        let arena = unsafe { Arena::new(Arc::new(memory), base, total) };
        // SAFETY: the memory is zeroed, and each slice of it is handed out once.
        (0..count).map(|i| unsafe { IoBuf::of_arena(&arena, i * len, len) }).collect()
    }

    /// The announced arena that it is a slice of.
    pub(crate) fn arena(&self) -> Option<&Arena> {
        match &self.owner {
            Owner::Registered(arena) => Some(arena),
            Owner::Alloc { .. } | Owner::Arena(_) => None,
        }
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
