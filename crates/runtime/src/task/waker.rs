//! Wakers that are plain numbers: worker, slot and generation packed into the data pointer.
//!
//! Cloning and dropping cost nothing, a wake on the task's own worker takes no lock, and a waker
//! that outlives its task (or its whole runtime) wakes nothing or, at worst, some task for nothing.

use std::task::{RawWaker, RawWakerVTable, Waker};

use stdx::Key;

use crate::inbox;
use crate::worker::{self, Worker};

/// Live tasks per worker: slots take 22 bits of a waker.
pub(crate) const TASK_COUNT_MAX: u32 = 1 << 22;

const _: () = assert!(usize::BITS == 64, "wakers need 64-bit pointers");

static VTABLE: RawWakerVTable = RawWakerVTable::new(clone, wake, wake, drop_nothing);

fn pack(worker: u32, task: Key) -> usize {
    debug_assert!(task.slot() < TASK_COUNT_MAX && worker < 1 << 10);
    (worker as usize) << 54 | (task.generation() as usize) << 22 | task.slot() as usize
}

fn unpack(bits: usize) -> (u32, Key) {
    let slot = bits as u32 & (TASK_COUNT_MAX - 1);
    ((bits >> 54) as u32, Key::new(slot, (bits >> 22) as u32))
}

/// The waker of a task.
pub(crate) fn waker(worker: u32, task: Key) -> Waker {
    let data = std::ptr::without_provenance(pack(worker, task));
    // SAFETY: the functions of VTABLE never dereference the data, are thread-safe, and own
    // nothing that cloning or dropping would have to count.
    unsafe { Waker::from_raw(RawWaker::new(data, &VTABLE)) }
}

unsafe fn clone(data: *const ()) -> RawWaker {
    RawWaker::new(data, &VTABLE)
}

unsafe fn wake(data: *const ()) {
    let (id, task) = unpack(data.addr());
    let wake_here = |w: &Worker| {
        let here = w.id == id;
        if here {
            w.wake(task);
        }
        here
    };
    let local = worker::try_with(wake_here).unwrap_or(false);
    if !local {
        inbox::wake_remote(id, task);
    }
}

unsafe fn drop_nothing(_data: *const ()) {}

/// True when `waker` is the waker of that task itself.
#[inline]
pub(crate) fn is_task(waker: &Waker, worker: u32, task: Key) -> bool {
    std::ptr::eq(waker.vtable(), &VTABLE) && waker.data().addr() == pack(worker, task)
}
