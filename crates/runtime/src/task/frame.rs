//! The one allocation of a task: header, future, and later its output.

use std::alloc::Layout;
use std::cell::{Cell, RefCell, UnsafeCell};
use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::ptr::NonNull;
use std::rc::Rc;
use std::task::{Context, Poll, Waker};

use super::unwind::panic_text;
use crate::account::LocalAccount;
use crate::task::aborted::Aborted;

/// What the scheduler knows of every frame, whatever its future.
pub(crate) struct Header {
    pub(crate) vtable: &'static VTable,
    pub(crate) account: Option<Rc<LocalAccount>>,
    pub(crate) join_waker: RefCell<Option<Waker>>,
    pub(crate) panicked: Cell<bool>,
    /// In the ready queue or the window.
    pub(crate) queued: Cell<bool>,
    /// A `JoinHandle` may still take the output.
    pub(crate) joined: Cell<bool>,
    /// The output is stored.
    pub(crate) done: Cell<bool>,
    /// To be cancelled instead of polled.
    pub(crate) abort: Cell<bool>,
}

/// The operations on a frame that depend on its future's type.
pub(crate) struct VTable {
    /// Polls the future; true when the output (or a panic) is stored.
    pub(crate) poll: unsafe fn(NonNull<Header>, &mut Context<'_>) -> bool,
    /// Drops the unfinished future and stores `Aborted::Cancelled`.
    pub(crate) cancel: unsafe fn(NonNull<Header>),
    /// Moves the stored output to an `Option<Result<T, Aborted>>`.
    pub(crate) take: unsafe fn(NonNull<Header>, *mut ()),
    /// Drops the header and what the frame still holds.
    pub(crate) drop: unsafe fn(NonNull<Header>),
    pub(crate) layout: Layout,
    /// The type of what the task runs.
    pub(crate) name: fn() -> &'static str,
}

enum Stage<F: Future> {
    Running(F),
    Finished(Result<F::Output, Aborted>),
    Taken,
}

#[repr(C)]
pub(crate) struct Frame<F: Future> {
    header: Header,
    stage: UnsafeCell<Stage<F>>,
}

/// The bytes of the frame of a task with a future of type `F`.
pub fn frame_bytes<F: Future>(_future: &F) -> usize {
    size_of::<Frame<F>>()
}

impl<F: Future> Frame<F> {
    pub(crate) const VTABLE: VTable = VTable {
        poll: poll::<F>,
        cancel: cancel::<F>,
        take: take::<F>,
        drop: drop_frame::<F>,
        layout: Layout::new::<Frame<F>>(),
        name: std::any::type_name::<F>,
    };

    /// Writes a new frame of a task that is about to be queued and that is known by the type `N`.
    ///
    /// # Safety
    /// `place` must be memory fit for `Layout::new::<Frame<F>>()`.
    pub(crate) unsafe fn write<N>(
        place: NonNull<u8>,
        account: Option<Rc<LocalAccount>>,
        joined: bool,
        future: F,
    ) -> NonNull<Header>
    where
        F: 'static,
    {
        let header = Header {
            vtable: const { &VTable { name: std::any::type_name::<N>, ..Self::VTABLE } },
            account,
            join_waker: RefCell::new(None),
            panicked: Cell::new(false),
            queued: Cell::new(true),
            joined: Cell::new(joined),
            done: Cell::new(false),
            abort: Cell::new(false),
        };
        let frame = Frame { header, stage: UnsafeCell::new(Stage::Running(future)) };
        let place = place.cast::<Frame<F>>();
        // SAFETY: the caller's promise.
        unsafe { place.write(frame) };
        place.cast()
    }
}

/// The stage of a frame.
///
/// # Safety
/// `header` must begin a live `Frame<F>`, and no other reference to its stage may exist.
unsafe fn stage<'a, F: Future>(header: NonNull<Header>) -> &'a mut Stage<F> {
    let frame = header.cast::<Frame<F>>();
    // SAFETY: the caller's promise; `header` comes first in `repr(C)`.
    unsafe { &mut *UnsafeCell::raw_get(&raw const (*frame.as_ptr()).stage) }
}

unsafe fn poll<F: Future>(header: NonNull<Header>, cx: &mut Context<'_>) -> bool {
    // SAFETY: the scheduler polls a frame from one place at a time.
    let stage = unsafe { stage::<F>(header) };
    let Stage::Running(future) = stage else { panic!("a finished task was polled") };
    // SAFETY: a frame never moves until its future is dropped.
    let pinned = unsafe { Pin::new_unchecked(future) };
    let output = match catch_unwind(AssertUnwindSafe(|| pinned.poll(cx))) {
        Ok(Poll::Pending) => return false,
        Ok(Poll::Ready(value)) => Ok(value),
        Err(panic) => Err(Aborted::Panicked(panic_text(&*panic))),
    };
    store(header, stage, output);
    true
}

fn store<F: Future>(
    header: NonNull<Header>,
    stage: &mut Stage<F>,
    output: Result<F::Output, Aborted>,
) {
    // The future's destructor is foreign code too: its panic ends the task, not the worker. It is
    // dropped in place (it is pinned), and `Taken` keeps a second drop away should it panic.
    let dropped = catch_unwind(AssertUnwindSafe(|| {
        let Stage::Running(future) = &mut *stage else { return };
        // SAFETY: the future is overwritten right below and never touched again.
        unsafe { std::ptr::drop_in_place(future) }
    }));
    let output = match dropped {
        Ok(()) => output,
        Err(panic) => Err(Aborted::Panicked(panic_text(&*panic))),
    };
    // SAFETY: the header is live.
    let panicked = unsafe { &(*header.as_ptr()).panicked };
    panicked.set(matches!(output, Err(Aborted::Panicked(_))));
    let place: *mut Stage<F> = stage;
    // SAFETY: the old value (a dropped future) must not be dropped again: plain overwrite.
    unsafe { place.write(Stage::Finished(output)) };
}

unsafe fn cancel<F: Future>(header: NonNull<Header>) {
    // SAFETY: the scheduler cancels a frame only while it is not being polled.
    let stage = unsafe { stage::<F>(header) };
    assert!(matches!(stage, Stage::Running(_)), "only an unfinished task is cancelled");
    store(header, stage, Err(Aborted::Cancelled));
}

unsafe fn take<F: Future>(header: NonNull<Header>, out: *mut ()) {
    // SAFETY: the task is finished, nobody polls it.
    let stage = unsafe { stage::<F>(header) };
    let taken = std::mem::replace(stage, Stage::Taken);
    let Stage::Finished(output) = taken else { panic!("an output was taken twice") };
    let out = out.cast::<Option<Result<F::Output, Aborted>>>();
    // SAFETY: the caller passes a place of this type (the `JoinHandle<T>` of this frame).
    unsafe { *out = Some(output) };
}

unsafe fn drop_frame<F: Future>(header: NonNull<Header>) {
    let frame = header.cast::<Frame<F>>();
    // SAFETY: the frame is live, finished, and forgotten by the scheduler.
    let dropped = catch_unwind(AssertUnwindSafe(|| unsafe { frame.drop_in_place() }));
    drop(dropped);
}
