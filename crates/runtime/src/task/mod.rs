//! Tasks: their frames, wakers and handles.

pub(crate) mod aborted;
pub(crate) mod begun;
pub(crate) mod frame;
pub(crate) mod frame_pool;
pub(crate) mod join;
pub(crate) mod remote;
pub(crate) mod scoped;
pub(crate) mod unwind;
pub(crate) mod waker;
