//! The seam: what `stdx::sync` has, made of the model checker's parts, and what waits in `runtime::sync`.
//!
//! `loom` takes sequentially consistent operations for acquiring and releasing ones, but knows sequentially
//! consistent fences. Compilers for processors that know no more put such a fence before each of these operations,
//! or behind each that writes. Either also orders what stands beside the operation, so each model is run with both:
//! code that leans on more than it says fails with one of them.

#[path = "../../../crates/runtime/src/sync/semaphore.rs"]
#[allow(dead_code, reason = "a model needs a part of it")]
mod semaphore;
#[path = "../../../crates/runtime/src/sync/wait_queue.rs"]
#[allow(dead_code, reason = "a model needs a part of it")]
mod wait_queue;

use std::cell::Cell;
pub use std::sync::atomic::Ordering;

pub use loom::sync::atomic::fence;
pub use loom::sync::{Mutex, MutexGuard};
pub use semaphore::{Semaphore, SemaphorePermit};
pub use wait_queue::WaitQueue;

thread_local! {
    /// Whether fences stand behind what writes. A model's threads are coroutines of one thread.
    static BEHIND: Cell<bool> = const { Cell::new(false) };
}

/// Has fences stand before operations, or behind those that write.
pub fn put_fences(behind: bool) {
    BEHIND.set(behind);
}

fn before(order: Ordering) {
    if order == Ordering::SeqCst && !BEHIND.get() {
        fence(Ordering::SeqCst);
    }
}

fn behind(order: Ordering) {
    if order == Ordering::SeqCst && BEHIND.get() {
        fence(Ordering::SeqCst);
    }
}

macro_rules! atomic {
    ($name:ident, $of:ty) => {
        /// An atomic of the model checker.
        #[derive(Debug, Default)]
        pub struct $name(loom::sync::atomic::$name);

        #[allow(dead_code, reason = "not every operation is used of every type")]
        impl $name {
            /// With a first value.
            pub fn new(value: $of) -> $name {
                $name(loom::sync::atomic::$name::new(value))
            }

            /// Reads.
            #[track_caller]
            pub fn load(&self, ordering: Ordering) -> $of {
                before(ordering);
                self.0.load(ordering)
            }

            /// Writes.
            #[track_caller]
            pub fn store(&self, value: $of, ordering: Ordering) {
                before(ordering);
                self.0.store(value, ordering);
                behind(ordering);
            }

            /// Writes `new` in the place of `current`.
            ///
            /// # Errors
            /// What is there instead.
            #[track_caller]
            pub fn compare_exchange(
                &self,
                current: $of,
                new: $of,
                success: Ordering,
                failure: Ordering,
            ) -> Result<$of, $of> {
                before(success);
                let outcome = self.0.compare_exchange(current, new, success, failure);
                behind(if outcome.is_ok() { success } else { failure });
                outcome
            }

            /// The same.
            ///
            /// # Errors
            /// As above.
            #[track_caller]
            pub fn compare_exchange_weak(
                &self,
                current: $of,
                new: $of,
                success: Ordering,
                failure: Ordering,
            ) -> Result<$of, $of> {
                self.compare_exchange(current, new, success, failure)
            }

            /// Keeps the bits of a mask; what was there.
            #[track_caller]
            pub fn fetch_and(&self, mask: $of, ordering: Ordering) -> $of {
                before(ordering);
                let was = self.0.fetch_and(mask, ordering);
                behind(ordering);
                was
            }
        }
    };
}

macro_rules! counter {
    ($name:ident, $of:ty) => {
        #[allow(dead_code, reason = "not every operation is used of every type")]
        impl $name {
            /// Adds; what was there.
            #[track_caller]
            pub fn fetch_add(&self, amount: $of, ordering: Ordering) -> $of {
                before(ordering);
                let was = self.0.fetch_add(amount, ordering);
                behind(ordering);
                was
            }

            /// Takes away; what was there.
            #[track_caller]
            pub fn fetch_sub(&self, amount: $of, ordering: Ordering) -> $of {
                before(ordering);
                let was = self.0.fetch_sub(amount, ordering);
                behind(ordering);
                was
            }
        }
    };
}

atomic!(AtomicBool, bool);
atomic!(AtomicU32, u32);
atomic!(AtomicU64, u64);
atomic!(AtomicUsize, usize);
counter!(AtomicU32, u32);
counter!(AtomicU64, u64);
counter!(AtomicUsize, usize);
