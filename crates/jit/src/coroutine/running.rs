//! A coroutine in machine code as a future.

use std::marker::PhantomData;
use std::pin::Pin;
use std::sync::atomic::AtomicBool;
use std::task::{Context, Poll};

use super::compiled::Coroutine;
use super::frame::{DONE, Frame, Header};
use super::{emit, proxy};

/// Why a coroutine has no answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// A proxy has failed; the reason is in its environment.
    Failed,
    /// A word does not fit 64 bits.
    Overflow,
    /// A word is divided by zero.
    DivisionByZero,
    /// A slice has no such position.
    OutOfBounds,
    /// It was told to stop.
    Interrupted,
}

/// One run of a coroutine. Dropping it drops the future that it waits for.
pub struct Running<'a, E> {
    coroutine: &'a Coroutine<E>,
    frame: Frame,
    lent: PhantomData<(&'a E, &'a [i64])>,
}

/// The frame and the context; whether it is done.
type Entry = unsafe extern "C" fn(*mut Header, *mut Context<'_>) -> i64;

impl<E> Coroutine<E> {
    /// A run over some words and slices. It looks at `stop` in each turn of a loop.
    ///
    /// # Panics
    /// If there are not as many as the script takes.
    pub fn run<'a>(
        &'a self,
        environment: &'a E,
        words: &[i64],
        slices: &[&'a [i64]],
        stop: &'a AtomicBool,
    ) -> Running<'a, E> {
        assert_eq!(words.len(), self.parameters, "words of the script");
        assert_eq!(slices.len(), self.slices, "slices of the script");
        let mut frame = Frame::new(self.shape);
        frame.header().environment = std::ptr::from_ref(environment).cast();
        frame.header().stop = stop.as_ptr().cast();
        words.iter().enumerate().for_each(|(at, word)| frame.set_local(at, *word));
        slices.iter().enumerate().for_each(|(at, words)| frame.set_slice(at, words));
        Running { coroutine: self, frame, lent: PhantomData }
    }
}

impl<E> Future for Running<'_, E> {
    type Output = Result<Vec<i64>, Fault>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let begin = self.coroutine.code.at(self.coroutine.begin);
        let header = self.frame.header_at();
        assert_ne!(self.frame.header().state, DONE, "a coroutine is polled until it is done");
        // SAFETY: a function of this signature begins there (`emit::build`), and its pages stay.
        let entry = unsafe { std::mem::transmute::<*const u8, Entry>(begin) };
        // SAFETY: the frame has the coroutine's shape, and what it was lent is alive (`'a`).
        let status = unsafe { entry(header, cx) };
        if status == proxy::PENDING {
            return Poll::Pending;
        }
        self.frame.header().state = DONE;
        Poll::Ready(match status {
            proxy::READY => {
                let results = self.coroutine.results.iter();
                Ok(results.map(|local| self.frame.local(local.0)).collect())
            }
            proxy::FAILED => Err(Fault::Failed),
            emit::OVERFLOW => Err(Fault::Overflow),
            emit::DIVISION_BY_ZERO => Err(Fault::DivisionByZero),
            emit::OUT_OF_BOUNDS => Err(Fault::OutOfBounds),
            emit::INTERRUPTED => Err(Fault::Interrupted),
            _ => match self.frame.header().panic.take() {
                Some(panic) => std::panic::resume_unwind(panic),
                None => unreachable!("a coroutine has no status {status}"),
            },
        })
    }
}

impl<E> Drop for Running<'_, E> {
    fn drop(&mut self) {
        let state = usize::try_from(self.frame.header().state).unwrap_or(0);
        let waiting = state.checked_sub(1).and_then(|at| self.coroutine.states.get(at));
        if let Some(proxy) = waiting {
            // SAFETY: in this state the slot has a future of this proxy, which is not polled any
            // more.
            unsafe { (proxy.abandon)(self.frame.slot()) };
        }
    }
}
