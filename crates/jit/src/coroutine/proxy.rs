//! Functions of ours that generated code calls to start, poll and drop a native future.
//!
//! They are made by the compiler for each [`Proxy`]. The future lies in the frame of the coroutine:
//! its size is known to the functions' types, so there is no allocation and no `dyn` in a call.
//! They catch panics, for nothing may unwind through generated code; [`Running`](super::Running)
//! lets them go on.

use std::alloc::Layout;
use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::task::{Context, Poll};

use super::frame::{ARGUMENTS_MAX, Header};

/// A proxy has failed; it has left the reason in its environment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Failed;

/// A native coroutine that generated code awaits.
pub trait Proxy<E> {
    /// The answer to some words; those beyond what the script asks are arbitrary.
    fn call(
        environment: &E,
        arguments: [i64; ARGUMENTS_MAX],
    ) -> impl Future<Output = Result<Option<i64>, Failed>>;
}

/// The future is not done.
pub(super) const PENDING: i64 = 0;
/// It is, and its answer is in the header.
pub(super) const READY: i64 = 1;
/// It has failed.
pub(super) const FAILED: i64 = 2;
/// It has panicked.
pub(super) const PANICKED: i64 = 3;

/// Begins: makes the future in its place and polls it.
pub(super) type Start = unsafe extern "C" fn(*mut Header, *mut u8, *mut Context<'_>) -> i64;
/// Goes on.
pub(super) type Resume = unsafe extern "C" fn(*mut Header, *mut u8, *mut Context<'_>) -> i64;
/// Drops the future in its place.
pub(super) type Abandon = unsafe fn(*mut u8);

/// The functions of one proxy.
#[derive(Clone, Copy, Debug)]
pub(super) struct Table {
    pub(super) start: Start,
    pub(super) resume: Resume,
    pub(super) abandon: Abandon,
    pub(super) layout: Layout,
}

impl Table {
    pub(super) fn of<E, P: Proxy<E>>() -> Table {
        // The future has no name; the type of a function that would make one says which it is.
        let (resume, abandon, layout) = functions(|| P::call(never::<&E>(), never()));
        Table { start: start::<E, P>, resume, abandon, layout }
    }
}

fn never<T>() -> T {
    unreachable!("only the type is asked for")
}

fn functions<F: Future<Output = Result<Option<i64>, Failed>>>(
    _: impl FnOnce() -> F,
) -> (Resume, Abandon, Layout) {
    (resume::<F>, abandon::<F>, Layout::new::<F>())
}

/// Makes the future at `slot` and polls it.
///
/// # Safety
/// `header` is that of a frame whose environment is an `E` and whose slot is free and has room.
unsafe extern "C" fn start<E, P: Proxy<E>>(
    header: *mut Header,
    slot: *mut u8,
    cx: *mut Context<'_>,
) -> i64 {
    // SAFETY: as the function's; the environment is lent as long as the frame lives.
    let (environment, arguments) =
        unsafe { (&*(*header).environment.cast::<E>(), (*header).arguments) };
    match catch_unwind(AssertUnwindSafe(|| P::call(environment, arguments))) {
        // SAFETY: as the function's.
        Ok(future) => unsafe { begin(future, header, slot, cx) },
        // SAFETY: as the function's.
        Err(panic) => unsafe { note(header, panic) },
    }
}

/// # Safety
/// As for `start`.
unsafe fn begin<F: Future<Output = Result<Option<i64>, Failed>>>(
    future: F,
    header: *mut Header,
    slot: *mut u8,
    cx: *mut Context<'_>,
) -> i64 {
    // SAFETY: the slot is free and has room for each future of the coroutine.
    unsafe { slot.cast::<F>().write(future) };
    // SAFETY: the slot now has the future.
    unsafe { resume::<F>(header, slot, cx) }
}

/// Polls the future at `slot`; unless it is pending, the slot is free then.
///
/// # Safety
/// `header` is that of a frame whose slot has an `F`, which does not move any more.
unsafe extern "C" fn resume<F: Future<Output = Result<Option<i64>, Failed>>>(
    header: *mut Header,
    slot: *mut u8,
    cx: *mut Context<'_>,
) -> i64 {
    let poll = || {
        // SAFETY: the future stays in the frame until it is dropped there; whoever resumes the
        // coroutine lends the context.
        unsafe { Pin::new_unchecked(&mut *slot.cast::<F>()).poll(&mut *cx) }
    };
    let polled = match catch_unwind(AssertUnwindSafe(poll)) {
        Ok(Poll::Pending) => return PENDING,
        Ok(Poll::Ready(answer)) => Ok(answer),
        Err(panic) => Err(panic),
    };
    // SAFETY: the slot has the future, and nobody asks for it after that.
    let dropped = catch_unwind(|| unsafe { abandon::<F>(slot) });
    match (polled, dropped) {
        // SAFETY: as the function's.
        (Err(panic), _) | (_, Err(panic)) => unsafe { note(header, panic) },
        (Ok(Err(Failed)), Ok(())) => FAILED,
        (Ok(Ok(answer)), Ok(())) => {
            // SAFETY: as the function's.
            let header = unsafe { &mut *header };
            (header.word, header.found) = (answer.unwrap_or(0), i64::from(answer.is_some()));
            READY
        }
    }
}

/// # Safety
/// The slot has an `F`, which is not used any more.
unsafe fn abandon<F>(slot: *mut u8) {
    // SAFETY: as the function's.
    unsafe { slot.cast::<F>().drop_in_place() };
}

/// Keeps a panic for whoever polls the coroutine.
///
/// # Safety
/// `header` is that of a frame.
unsafe fn note(header: *mut Header, panic: Box<dyn Any + Send>) -> i64 {
    // SAFETY: as the function's.
    unsafe { (*header).panic = Some(panic) };
    PANICKED
}
