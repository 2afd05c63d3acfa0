//! A file that is open.

use std::fmt;
use std::os::fd::{AsRawFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, OnceLock};

use crate::fs::descriptor::{heeds_dsync, unlock};
use crate::fs::options::FileBackend;
use crate::fs::overlay::Written;
use crate::known::Known;
use crate::nvme::namespace::Namespace;
use crate::sim::disk::Handle;
use crate::sync::semaphore::Semaphore;

/// Where a file lives.
pub(crate) enum Node {
    System(OwnedFd),
    Sim(Handle),
}

/// Where what is written to a file goes that stays as it is.
pub(super) struct Overlay {
    /// Has no name, and holes where nothing was written.
    pub(super) scratch: File,
    pub(super) written: Mutex<Written>,
    /// The turn of one who writes to it: those behind wait in their order.
    pub(super) turn: Semaphore,
    /// Nothing is read of the file below it any more.
    pub(super) is_sealed: AtomicBool,
}

struct Inner {
    node: Node,
    path: PathBuf,
    backend: FileBackend,
    known: Known,
    /// Its blocks and limits, if it takes the commands of an NVMe device.
    namespace: Option<Namespace>,
    /// Holds the lock of the file.
    locked: bool,
    /// Where what is written goes, if the file is to stay as it is.
    overlay: OnceLock<Overlay>,
}

impl Inner {
    fn new(node: Node, path: &Path, backend: FileBackend) -> Inner {
        Inner {
            node,
            path: path.to_owned(),
            backend,
            known: Known::new(),
            namespace: None,
            locked: false,
            overlay: OnceLock::new(),
        }
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        // A ring that has registered the file, or has done something with it a moment ago, keeps it
        // open, and with it the lock.
        if let Node::System(fd) = &self.node
            && self.locked
        {
            unlock(fd);
        }
    }
}

/// An open file, usable on every worker of its runtime. It is closed when its last clone is gone
/// and no operation holds it any more.
///
/// Reads and writes are under way as soon as they are called (not first when awaited). They may
/// be short; the `_exact` and `_all` forms continue them.
#[derive(Clone)]
pub struct File(Arc<Inner>);

impl File {
    /// `locked`: the descriptor has the lock of the file.
    pub(crate) fn of_system(fd: OwnedFd, path: &Path, backend: FileBackend, locked: bool) -> File {
        let mut inner = Inner::new(Node::System(fd), path, backend);
        inner.locked = locked;
        File(Arc::new(inner))
    }

    /// A namespace of an NVMe device by its generic device.
    pub(crate) fn of_namespace(
        fd: OwnedFd,
        namespace: Namespace,
        path: &Path,
        backend: FileBackend,
        locked: bool,
    ) -> File {
        let mut inner = Inner::new(Node::System(fd), path, backend);
        (inner.locked, inner.namespace) = (locked, Some(namespace));
        File(Arc::new(inner))
    }

    pub(crate) fn of_sim(handle: Handle, path: &Path, backend: FileBackend) -> File {
        File(Arc::new(Inner::new(Node::Sim(handle), path, backend)))
    }

    /// Leaves the file as it is from now on.
    pub(super) fn lay_over(&self, overlay: Overlay) {
        assert!(self.0.overlay.set(overlay).is_ok(), "a file has one overlay");
    }

    pub(super) fn overlay(&self) -> Option<&Overlay> {
        self.0.overlay.get()
    }

    /// Its blocks and limits, if it takes the commands of an NVMe device.
    #[inline]
    pub(crate) fn namespace(&self) -> Option<&Namespace> {
        self.0.namespace.as_ref()
    }

    pub(crate) fn known(&self) -> &Known {
        &self.0.known
    }

    pub(crate) fn node(&self) -> &Node {
        &self.0.node
    }

    /// The descriptor. A file of a simulation has none: -1, which every call refuses.
    pub(crate) fn raw_fd(&self) -> i32 {
        match &self.0.node {
            Node::System(fd) => fd.as_raw_fd(),
            Node::Sim(_) => -1,
        }
    }

    /// The path that it was opened by.
    pub fn path(&self) -> &Path {
        &self.0.path
    }

    /// How its requests travel, and why.
    pub fn backend(&self) -> &FileBackend {
        &self.0.backend
    }

    /// Whether it is direct and on a file system of which it is known that a write with `RWF_DSYNC`
    /// ([`Durability::Flag`]) is durable when it ends: ext4, XFS, Btrfs, F2FS. So is one of an NVMe
    /// device, which is told.
    pub fn heeds_dsync(&self) -> bool {
        let Node::System(fd) = &self.0.node else { return false };
        if self.namespace().is_some() {
            return true;
        }
        self.0.backend.direct && heeds_dsync(fd)
    }
}

impl fmt::Debug for File {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "File({}, {})", self.0.path.display(), self.0.backend.kind)
    }
}
