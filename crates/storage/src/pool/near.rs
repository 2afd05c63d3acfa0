//! Resident pages: looks at them without waiting, and hints that bring them closer to the processor.

use std::sync::atomic::Ordering;

use super::Pool;
use super::memory::Place;
use crate::cache::{LINE_BYTES, prefetch_line};
use crate::page::PageId;

impl Pool {
    /// Brings the state word of a resident page closer, and the lines that any search in it touches
    /// first.
    #[inline]
    pub(crate) fn hint_page(&self, pid: PageId) {
        if let Some(frame) = self.frame_of(pid) {
            self.hint_frame(frame);
        }
    }

    /// The same for the page in this frame.
    #[inline]
    pub(crate) fn hint_frame(&self, frame: u32) {
        prefetch_line(std::ptr::from_ref(&self.frames[frame as usize].state).cast());
        self.hint_lines(frame);
    }

    /// Brings header, hints, and the fences at the very end closer.
    #[inline]
    pub(super) fn hint_lines(&self, frame: u32) {
        let begin = frame as usize * self.page_size;
        for at in [begin, begin + LINE_BYTES, begin + self.page_size - LINE_BYTES] {
            prefetch_line(self.arena.at(at).as_ptr());
        }
    }

    /// The frame of a resident page.
    #[inline]
    pub(crate) fn frame_of(&self, pid: PageId) -> Option<u32> {
        match self.translation.get(pid) {
            Place::Frame(frame) => Some(frame),
            Place::Absent | Place::Loading => None,
        }
    }

    /// As [`Pool::peek`], for a page that is in this frame.
    #[inline]
    pub(crate) fn peek_in<R>(
        &self,
        frame: u32,
        pid: PageId,
        look: impl FnOnce(&[u8]) -> R,
    ) -> Option<R> {
        self.try_shared_in(frame, pid).map(|guard| look(guard.page()))
    }

    /// Runs `look` on a page that is resident and not latched exclusively; `None` otherwise.
    #[inline]
    pub(crate) fn peek<R>(&self, pid: PageId, look: impl FnOnce(&[u8]) -> R) -> Option<R> {
        self.try_shared(pid).map(|guard| look(guard.page()))
    }

    /// Whether searches of many keys overlap what they wait for.
    #[inline]
    pub(crate) fn is_interleaved(&self) -> bool {
        self.interleaved.load(Ordering::Relaxed)
    }

    pub(crate) fn set_interleaved(&self, on: bool) {
        self.interleaved.store(on, Ordering::Relaxed);
    }
}
