//! Latches of pages: held while the bytes of a page are looked at or changed, never across a
//! suspension.
//!
//! Both guards are `!Send`, and named in `clippy.toml` (`await-holding-invalid-types`), so a latch
//! that is held across an `.await` does not pass the gate.

use std::marker::PhantomData;

use crate::pool::Pool;

/// A pin and a shared latch on one page: its bytes may be read.
pub struct SharedGuard<'p> {
    pub(crate) pool: &'p Pool,
    pub(crate) frame: u32,
    pub(crate) not_send: PhantomData<*const ()>,
}

impl SharedGuard<'_> {
    /// The bytes of the page.
    #[inline]
    pub fn page(&self) -> &[u8] {
        // SAFETY: the shared latch keeps exclusive guards away for as long as the borrow of this
        // guard lasts, and the pin keeps the frame from being loaded anew.
        unsafe { self.pool.frame_bytes(self.frame) }
    }
}

impl Drop for SharedGuard<'_> {
    #[inline]
    fn drop(&mut self) {
        self.pool.release_shared(self.frame);
    }
}

/// An exclusive latch on one pinned page: its bytes may be changed.
pub struct ExclusiveGuard<'p> {
    pub(crate) pool: &'p Pool,
    pub(crate) frame: u32,
    pub(crate) changed: bool,
    pub(crate) not_send: PhantomData<*const ()>,
}

impl ExclusiveGuard<'_> {
    /// The bytes of the page.
    pub fn page(&self) -> &[u8] {
        // SAFETY: this guard is the only one on the frame, and `page_mut` needs it mutably.
        unsafe { self.pool.frame_bytes(self.frame) }
    }

    /// The bytes of the page, to be changed: the page is dirty from now on.
    pub fn page_mut(&mut self) -> &mut [u8] {
        self.changed = true;
        // SAFETY: this guard is the only one on the frame, and it is borrowed mutably.
        unsafe { self.pool.frame_bytes_mut(self.frame) }
    }
}

impl Drop for ExclusiveGuard<'_> {
    fn drop(&mut self) {
        self.pool.release_exclusive(self.frame, self.changed);
    }
}
