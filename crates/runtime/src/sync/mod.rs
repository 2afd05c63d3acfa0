//! Waiting for each other. Everything here is `Send + Sync`: wakers may be woken from any worker
//! or thread.

mod cancel;
pub(crate) mod event;
mod gate;
mod permits;
pub(crate) mod semaphore;
mod wait_queue;

pub use cancel::Cancel;
pub use event::Event;
pub use gate::{Gate, Pass};
pub use permits::{Permit, Permits};
pub use semaphore::{Semaphore, SemaphorePermit};
pub use wait_queue::{Wait, WaitQueue};
