//! What a pool offers to the files that it opens.

/// What the worker of a pool has to offer to the files that it opens.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Context {
    pub(crate) uring: bool,
    /// Direct files are to be polled.
    pub(crate) iopoll: bool,
    /// The rings take commands for NVMe devices.
    pub(crate) passthrough: bool,
}
