//! Tasks: their frames, wakers and handles.

pub(crate) mod frame;
mod frame_pool;
mod join;
mod remote;
pub(crate) mod scoped;
pub(crate) mod unwind;
pub(crate) mod waker;

pub use frame::frame_bytes;
pub(crate) use frame_pool::FramePool;
pub use join::{Aborted, JoinHandle, spawn};
pub use remote::{RemoteHandle, spawn_anywhere, spawn_anywhere_detached, spawn_on};
pub(crate) use remote::{Urgency, promise, send_task};
pub(crate) use unwind::panic_text;
