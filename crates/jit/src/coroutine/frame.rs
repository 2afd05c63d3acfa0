//! The frame of a coroutine: a header, the locals, the slices, and the place of the future it waits
//! for.

use std::alloc::{Layout, alloc_zeroed, dealloc, handle_alloc_error};
use std::any::Any;
use std::ptr::NonNull;

use crate::refusal::NotCompiled;

/// Words that a proxy is asked at most: a key, and where to look.
pub const ARGUMENTS_MAX: usize = 4;

/// The state of a coroutine that is done.
pub(super) const DONE: i64 = -1;

/// The part of a frame that proxies and the generated code share. A new frame is zeroed.
#[repr(C)]
pub(super) struct Header {
    /// 0: not begun; `n`: waiting in the `n`th `Await`; [`DONE`].
    pub(super) state: i64,
    /// The answer of the last proxy, and whether it had one.
    pub(super) word: i64,
    pub(super) found: i64,
    /// The words that a proxy is asked.
    pub(super) arguments: [i64; ARGUMENTS_MAX],
    pub(super) environment: *const (),
    /// A byte that is not 0 when the coroutine is to stop.
    pub(super) stop: *const u8,
    /// A panic of a proxy.
    pub(super) panic: Option<Box<dyn Any + Send>>,
}

/// Where things lie in a frame.
#[derive(Clone, Copy, Debug)]
pub(super) struct Shape {
    layout: Layout,
    slices_at: usize,
    slot_at: usize,
}

impl Shape {
    /// The shape for so many locals and slices, and for one of these futures at a time.
    pub(super) fn of(
        locals: usize,
        slices: usize,
        futures: impl Iterator<Item = Layout>,
    ) -> Result<Shape, NotCompiled> {
        let too_large = |_| NotCompiled::Steps(locals);
        let header = Layout::new::<Header>();
        let locals = Layout::array::<i64>(locals).map_err(too_large)?;
        let slices = Layout::array::<[usize; 2]>(slices).map_err(too_large)?;
        let (layout, locals_at) = header.extend(locals).map_err(too_large)?;
        assert_eq!(locals_at, size_of::<Header>(), "locals follow the header");
        let (layout, slices_at) = layout.extend(slices).map_err(too_large)?;
        let (size, align) =
            futures.fold((0, 1), |(size, align), l| (l.size().max(size), l.align().max(align)));
        let slot = Layout::from_size_align(size, align).map_err(too_large)?;
        let (layout, slot_at) = layout.extend(slot).map_err(too_large)?;
        Ok(Shape { layout: layout.pad_to_align(), slices_at, slot_at })
    }

    pub(super) fn layout(&self) -> Layout {
        self.layout
    }

    pub(super) fn local_at(&self, local: usize) -> usize {
        size_of::<Header>() + local * size_of::<i64>()
    }

    pub(super) fn slice_at(&self, slice: usize) -> usize {
        self.slices_at + slice * size_of::<[usize; 2]>()
    }

    pub(super) fn slot_at(&self) -> usize {
        self.slot_at
    }
}

/// Memory of one frame; it does not move.
pub(super) struct Frame {
    at: NonNull<u8>,
    shape: Shape,
}

impl Frame {
    pub(super) fn new(shape: Shape) -> Frame {
        // SAFETY: a frame has a header, so it is not empty.
        let at = unsafe { alloc_zeroed(shape.layout) };
        let Some(at) = NonNull::new(at) else { handle_alloc_error(shape.layout) };
        let mut frame = Frame { at, shape };
        let header = frame.header_at();
        let stop = std::ptr::null();
        let made = Header {
            state: 0,
            word: 0,
            found: 0,
            arguments: [0; ARGUMENTS_MAX],
            environment: std::ptr::null(),
            stop,
            panic: None,
        };
        // SAFETY: the frame begins with its header, whose place is fresh.
        unsafe { header.write(made) };
        frame
    }

    pub(super) fn header_at(&mut self) -> *mut Header {
        self.at.as_ptr().cast()
    }

    pub(super) fn header(&mut self) -> &mut Header {
        // SAFETY: the frame begins with a header that was made in `new`; the frame is borrowed.
        unsafe { &mut *self.header_at() }
    }

    pub(super) fn slot(&mut self) -> *mut u8 {
        // SAFETY: the slot is inside of the frame.
        unsafe { self.at.as_ptr().add(self.shape.slot_at) }
    }

    pub(super) fn local(&self, local: usize) -> i64 {
        // SAFETY: locals lie inside of the frame, aligned, and began as zeroes.
        unsafe { self.at.as_ptr().add(self.shape.local_at(local)).cast::<i64>().read() }
    }

    pub(super) fn set_local(&mut self, local: usize, word: i64) {
        // SAFETY: as above.
        unsafe { self.at.as_ptr().add(self.shape.local_at(local)).cast::<i64>().write(word) };
    }

    pub(super) fn set_slice(&mut self, slice: usize, words: &[i64]) {
        let place = [words.as_ptr() as usize, words.len()];
        // SAFETY: slices lie inside of the frame, aligned.
        unsafe {
            self.at.as_ptr().add(self.shape.slice_at(slice)).cast::<[usize; 2]>().write(place)
        };
    }
}

impl Drop for Frame {
    fn drop(&mut self) {
        // SAFETY: the header was made in `new`, and is not used any more.
        unsafe { self.header_at().drop_in_place() };
        // SAFETY: the frame was allocated with this layout.
        unsafe { dealloc(self.at.as_ptr(), self.shape.layout) };
    }
}
