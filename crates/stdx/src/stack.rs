//! How much of its stack a thread has left: what recurses as deep as its input says asks before it
//! does.

use std::cell::Cell;
use std::ptr::from_ref;

thread_local! {
    /// The address at which the stack of this thread ends, if whoever started it has said how long
    /// it is.
    static END: Cell<Option<usize>> = const { Cell::new(None) };
}

/// Stack that a thread has used before its work begins, at most.
const USED_BYTES: usize = 64 << 10;

/// Does the work of a thread that has just been started with a stack of so many bytes.
pub fn on_stack<T>(bytes: usize, work: impl FnOnce() -> T) -> T {
    END.set(Some(here().saturating_sub(bytes.saturating_sub(USED_BYTES))));
    work()
}

/// The bytes of stack that this thread has left; `None` where nobody has said how long it is.
pub fn stack_left() -> Option<usize> {
    END.get().map(|end| here().saturating_sub(end))
}

/// An address in the frame of who asks: stacks grow towards smaller ones.
#[inline(never)]
fn here() -> usize {
    let local = 0_u8;
    from_ref(std::hint::black_box(&local)).addr()
}
