//! How files are opened, and how their requests travel.

use crate::ring::kind::RingKind;

/// How a file is opened.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OpenOptions {
    /// For reading.
    pub read: bool,
    /// For writing.
    pub write: bool,
    /// Create it when it is missing.
    pub create: bool,
    /// Create it, and fail when it exists.
    pub create_new: bool,
    /// Past the page cache (O_DIRECT): buffers, offsets and lengths aligned to the device's
    /// blocks. A file system that cannot do it serves the file buffered; `File::backend` says so.
    pub direct: bool,
    /// Exclusive lock, tried several times: after a killed process its last operations still
    /// hold the lock for a moment.
    pub lock: bool,
    /// Never written: what is written goes to a scratch file, from which it is read again, and is
    /// gone with the process. Transfers are of the exact forms only.
    pub overlay: Option<Scratch>,
}

/// Where the scratch file of an overlay lies, without a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scratch {
    /// In the system's folder for temporary files.
    Temporary,
    /// In the folder of the file, which has room for as much.
    Beside,
}

/// How requests for a file travel, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileBackend {
    /// The ring, threads, or the simulation.
    pub kind: RingKind,
    /// Whether the page cache is bypassed.
    pub direct: bool,
    /// Whether the device is polled for completions (`Config::iopoll`).
    pub polled: bool,
    /// True for a namespace of an NVMe device that takes commands past the block layer
    /// (`Config::passthrough`).
    pub passthrough: bool,
    /// Why so.
    pub reason: String,
}
