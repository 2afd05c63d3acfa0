//! Tasks: their frames, wakers and handles.

pub(crate) mod aborted;
pub(crate) mod frame;
pub(crate) mod frame_pool;
pub(crate) mod join;
pub(crate) mod remote;
pub(crate) mod scoped;
pub(crate) mod unwind;
pub(crate) mod waker;

pub use crate::task::aborted::Aborted;
pub use frame::frame_bytes;
pub use join::{JoinHandle, spawn};
pub use remote::{RemoteHandle, spawn_anywhere, spawn_anywhere_detached, spawn_on};
