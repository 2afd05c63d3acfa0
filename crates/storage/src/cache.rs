//! Hints to the processor's caches.

/// Bytes of a cache line.
pub(crate) const LINE_BYTES: usize = 64;

/// Asks the processor for the cache line at `address`, without waiting for it.
#[inline]
pub(crate) fn prefetch_line(address: *const u8) {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: a prefetch is a hint and reads nothing architecturally, whatever the address.
    unsafe {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        _mm_prefetch::<_MM_HINT_T0>(address.cast());
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = address;
}
